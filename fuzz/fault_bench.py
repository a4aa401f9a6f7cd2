"""Where faults are injected: a folder with a small study, the commands that run there, and how each of them ended."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

CONFIDE = str(Path(sys.executable).with_name("confide"))
STUDY = ["--observational", "obs.csv", "--trial", "trial.csv", "--treatment", "t", "--outcome", "y", "--id", "who"]
# `confide reproduce` at sizes at which it takes seconds; everything else is as users run it.
REPRODUCE = """
import signal, warnings
from confide.cli.start import leave, main
signal.signal(signal.SIGINT, leave)
with warnings.catch_warnings(action="ignore"):  # the command itself imports this where warnings are notes
    from confide.paper import reproduce, settings
small = dict(n=160, m=44, n_test=30, n_refit=2, refits_per_part=1, dimensions=(1, 2), trial_sizes=(4, 44))
reproduce.Settings = lambda: settings.Settings(**small)
main()
"""
COMMANDS: dict[str, tuple[list[str], list[str]]] = {
    "run": (
        [
            *(CONFIDE, "run", *STUDY, "--method", "naive", "--base", "ridge", "--predict", "many.csv"),
            *("--out", "out.csv", "--save", "made.confide"),
        ],
        ["out.csv", "made.confide"],
    ),
    "predict": ([CONFIDE, "predict", "model.confide", "many.csv", "--out", "out.parquet"], ["out.parquet"]),
    "reproduce": (
        [sys.executable, "-c", REPRODUCE, "reproduce", "table2", "--seeds", "1", "--jobs", "1", "--out", "made"],
        ["made/table2.csv"],
    ),
}
# Environment of every command: one thread, so that many can be tried.
QUIET = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
SECONDS = 120
# Lines on stderr that are no error: notes on the study, and how long work takes.
ASIDE = re.compile(r"^note: | so far|: done in ")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def is_one_line(self) -> bool:
        """Whether it is refused as it should be: status 2, and one line on stderr."""
        return self.status == 2 and self.err.startswith("confide: ") and self.err.count("\n") == 1

    @property
    def shown(self) -> str:
        """The end of what it said."""
        return f"status {self.status}, {self.err[-300:]!r}"


class Bench:
    """A folder with a small study and a model, the outputs of whole runs, and how long these take."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rng = np.random.default_rng(0)
        for name, size in (("obs", 240), ("trial", 80), ("many", 20_000)):
            pa_csv.write_csv(_people(rng, size, new=name == "many"), folder / f"{name}.csv")
        saving = [CONFIDE, "run", *STUDY, "--method", "naive", "--base", "ridge", "--save", "model.confide"]
        self.run(saving, check=True)
        self.inputs = {path.name for path in folder.iterdir()}
        self.whole: dict[str, dict[str, bytes]] = {}
        self.seconds: dict[str, float] = {}

    def know(self, what: str) -> None:
        """Run a command to its end, twice: keep its outputs, and how long it takes."""
        if what in self.whole:
            return
        command, outputs = COMMANDS[what]
        for _ in range(2):
            self.clear()
            began = time.perf_counter()
            self.run(command, check=True)
            self.seconds[what] = time.perf_counter() - began
        self.whole[what] = {name: (self.folder / name).read_bytes() for name in outputs}

    def clear(self) -> None:
        """Remove all outputs."""
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.relative_to(self.folder).parts[0] not in self.inputs:
                path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

    def start(self, command: list[str], **how: Any) -> subprocess.Popen[str]:
        """Start a command in the folder."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return subprocess.Popen(command, cwd=self.folder, env=QUIET, text=True, **pipes)

    def run(self, command: list[str], *, check: bool = False, **how: Any) -> Ended:
        """Run a command to its end."""
        started = self.start(command, **how)
        out, err = end_of(started)
        if check and started.returncode:
            raise RuntimeError(err)
        return Ended(started.returncode, out, err)

    def parts(self, what: str) -> list[str]:
        """Return the outputs that are there and not whole."""
        return [
            name
            for name, content in self.whole[what].items()
            if (self.folder / name).exists() and (self.folder / name).read_bytes() != content
        ]

    def left(self) -> list[str]:
        """Return temporary files."""
        return [str(path.relative_to(self.folder)) for path in self.folder.rglob(".*.tmp")]


def end_of(started: subprocess.Popen[str]) -> tuple[str, str]:
    """Wait for the end of a command, and return what it printed but notes and times; one that hangs is killed."""
    try:
        out, err = started.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        started.kill()
        started.communicate()
        return "", f"Traceback: it hung for {SECONDS} seconds"
    lines = (err or "").splitlines(keepends=True)
    return out or "", "".join(line for line in lines if not ASIDE.search(line))


def _people(rng: np.random.Generator, size: int, *, new: bool) -> pa.Table:
    x, town = np.round(rng.standard_normal(size), 3), rng.choice(["Nord", "Süd"], size)
    columns = {"who": np.arange(size), "x": x, "town": town}
    if new:
        return pa.table(columns)
    treatment = rng.integers(0, 2, size)
    return pa.table({**columns, "t": treatment, "y": np.round(x + treatment + rng.standard_normal(size), 3)})
