"""Commands on tables like a registry's: CPU seconds, what of them is models, and one command over another.

*Models* are fits and predictions of all models, the classifiers and regressions of the diagnostics among them. *Its own
models* are those that the default learns from the large table. *Start* is that of Python and the loading of modules,
at the start or later, which takes as long for ten rows. *Outside* is all else: reading, deciding what columns hold,
encoding, stacking, calibrating and writing.

`python benchmarks/commands.py` prints the table of docs/scale.md instead, for the rows and columns that it is given.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from confide.base.threads import environment
from confide.cli.main import app
from confide.methods import prognostic
from confide.models.preprocessing import Learner
from registries import write_registry
from timing import require, tell

REGISTRY = {"rows": 20_000, "columns": 30}
LOG = {"rows": 200_000, "columns": 10, "arms": 3, "trial_rows": 1500, "suffix": "parquet"}
LARGE = {"rows": 100_000, "columns": 10}
COMMANDS = ("run", "diagnose", "compare", "run --report")
# How deep the calls are that are being timed.
inside = Counter()


def main():
    with tempfile.TemporaryDirectory() as folder:
        run, report = (told(folder, words, **REGISTRY) for words in ("run", "run --report"))
        require("  run over the training of its own models", run["total"] / run["own models"], 1.5, "")
        require("  run --report over run", report["total"] / run["total"], 3, "")
        diagnose = told(folder, "diagnose", **LOG)
        require("  diagnose", diagnose["total"], 30, "s of CPU")
        for words in COMMANDS:
            found = told(folder, words, **LARGE)
            require(f"  {words}: share outside of models", found["outside"] / found["total"], 0.1, "")


def told(folder, words, **table):
    """Return the seconds of a command, and tell them."""
    found = measured(folder, words, **table)
    tell(f"{words}, {table['rows']:,} × {table['columns']}", found["total"], "s of CPU")
    return found


def measured(folder, words, **table):
    """Return the CPU seconds of a command, of all models in it and of the default's own, and the rest."""
    place = Path(folder) / "-".join(map(str, table.values()))
    if not place.exists():
        place.mkdir()
        write_registry(place, **table)
    suffix = table.get("suffix", "csv")
    command, *report = words.split()
    options = f"--observational {place}/observational.{suffix} --trial {place}/trial.{suffix} --treatment t --outcome y"
    if command == "run":
        options += f" --predict {place}/new.{suffix} --out {place}/out.csv"
    options += f" --report {place}/report.html" if report else ""
    done = subprocess.run(  # noqa: S603  (our own command)
        [sys.executable, __file__, "--watch", command, *options.split()],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **environment(1)},
    )
    found = json.loads(done.stderr.splitlines()[-1])
    return {**found, "outside": found["total"] - found["models"] - found["start"]}


def watch(words):
    """Run a command in this process, and print its seconds as JSON."""
    spent = Counter(start=time.process_time())
    Learner.fit = timed(Learner.fit, "models", spent)
    for name in ("predict", "predict_proba"):
        vars(Learner)[name].fn = timed(vars(Learner)[name].fn, "models", spent)
    prognostic.learn_prognosis = timed(prognostic.learn_prognosis, "own models", spent)
    bootstrap = importlib._bootstrap  # noqa: SLF001  (every import goes through it, wherever it is written)
    bootstrap._find_and_load = timed(bootstrap._find_and_load, "start", spent)  # noqa: SLF001
    app(words, standalone_mode=False)
    print(json.dumps({**spent, "total": time.process_time()}), file=sys.stderr)


def timed(work, what, spent):
    """Return work that adds its CPU seconds to what was spent; calls inside of others are not counted again.

    What is loaded inside of models counts as models.
    """

    def outer(*args, **params):
        inside[what] += 1
        began = time.process_time()
        try:
            return work(*args, **params)
        finally:
            inside[what] -= 1
            if not inside[what] and not (what == "start" and inside["models"]):
                spent[what] += time.process_time() - began

    return outer


def table(sizes):
    """Print the table of docs/scale.md."""
    print("| command | rows × columns | CPU seconds | of them models | of them the default's own | outside of models |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for rows, columns in sizes:
            for words in COMMANDS:
                found = measured(folder, words, rows=rows, columns=columns)
                share = f"{found['outside'] / found['total']:.0%}"
                seconds = " | ".join(f"{found.get(what, 0):.1f}" for what in ("total", "models", "own models"))
                print(f"| `{words}` | {rows:,} × {columns} | {seconds} | {share} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--watch"]:
        watch(sys.argv[2:])
    else:
        table([tuple(map(int, size.split("x"))) for size in sys.argv[1:] or ["1000x10", "20000x30", "100000x10"]])
