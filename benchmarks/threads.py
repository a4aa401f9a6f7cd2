"""CPU seconds of commands beside busy processes, over those with one thread: threads may not spin.

Two processes that never rest run meanwhile, as other people's do. Each command is measured as it is, and with one
thread by the environment; then both on one core.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from confide.base.threads import BLAS, OPENMP, PASSIVE, environment
from confide.datasets import synthetic
from timing import require, tell

BUSY = 2
MOST = 2.0
STUDY = "--observational {0}/obs.csv --trial {0}/trial.csv --treatment t --outcome y"
CONFOUNDING = """
import sys
from confide import stack
from confide.diagnostics import hidden_confounding_test
from pyarrow.csv import read_csv

hidden_confounding_test(*stack(*(read_csv(f"{sys.argv[1]}/{name}.csv") for name in ("obs", "trial"))))
"""
# What is run, the observational rows, the trial's, the covariates, and the words of the command.
COMMANDS = {
    "diagnose": (3000, 300, 3, f"confide diagnose {STUDY}"),
    "the confounding test of README": (10_000, 250, 1, "python {0}/confounding.py {0}"),
    "run": (200_000, 1000, 3, f"confide run {STUDY} --predict {{0}}/new.csv --out {{0}}/out.csv"),
    "run --report": (
        20_000,
        1000,
        3,
        f"confide run {STUDY} --predict {{0}}/new.csv --out {{0}}/out.csv --report {{0}}/report.html",
    ),
}


def main():
    with tempfile.TemporaryDirectory() as folder, busy(BUSY):
        for number, (what, (rows, trial_rows, columns, words)) in enumerate(COMMANDS.items()):
            inside = Path(folder) / str(number)
            inside.mkdir()
            write(inside, rows, trial_rows, columns)
            for where, core in (("", None), (", on one core", 0)):
                as_it_is, alone = (cpu_seconds(words.format(inside).split(), count, core) for count in (None, 1))
                tell(f"{what}, {rows:,} rows{where}", as_it_is, "s of CPU")
                tell("  with one thread", alone, "s of CPU")
                require(f"  {what}{where}: over that of one thread", as_it_is / alone, MOST, "")


def write(folder, rows, trial_rows, columns):
    """Write the tables of a study, and the script of the confounding test."""
    for seed, (name, count, randomised) in enumerate(
        [("obs", rows, False), ("trial", trial_rows, True), ("new", 1000, True)]
    ):
        data = synthetic(count, d=columns, a=1, b=1, randomized=randomised, random_state=seed)
        table = {f"x{column}": data.X[:, column] for column in range(columns)}
        outcome = {} if name == "new" else {"t": data.treatment, "y": data.y}
        pyarrow.csv.write_csv(pa.table(table | outcome), folder / f"{name}.csv")
    (folder / "confounding.py").write_text(CONFOUNDING, encoding="utf-8")


@contextmanager
def busy(count):
    """Let so many processes do nothing, as fast as they can, while the block lasts."""
    idle = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in idle:
            each.kill()
            each.wait()


def cpu_seconds(words, count, core):
    """Return the CPU seconds, of user and system, of a command with so many threads, or with its own choice."""
    environ = {name: value for name, value in os.environ.items() if name not in (OPENMP, *BLAS, *PASSIVE)}
    environ |= {} if count is None else environment(count)
    program = {"confide": Path(sys.executable).with_name("confide"), "python": sys.executable}[words[0]]
    pinned = [] if core is None else ["taskset", "-c", str(core)]
    command = [*pinned, str(program), *words[1:]]
    with subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL) as started:  # noqa: S603
        _, status, used = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        sys.exit(f"{' '.join(command)} failed")
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
