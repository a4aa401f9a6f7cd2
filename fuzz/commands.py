"""Hostile words on the command line: an answer, or one line and status 2; never a traceback or half a file."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from confide.data.writing import writing
from fuzz.verdict import ANSWERED, DEFECT, REFUSED, Verdict, fault_of_message

if TYPE_CHECKING:
    from collections.abc import Iterator

SEED = 26
# One call of so many is a process of its own.
REAL = 40
# A process of its own may take so many seconds.
SECONDS = 100
STUDY = {"--observational": "obs.csv", "--trial": "trial.csv", "--treatment": "t", "--outcome": "y"}
# Words that programs stumble over.
ODD_WORDS = (
    *("", " ", "-", "--", "---", "-1", "0", "1", "2", "0.5", "1e400", "-1e-400", "nan", "inf", "-inf", "1_000", "0x10"),
    *(
        "NaN",
        "١٢",
        "½",
        "1,5",
        "9" * 400,
        "1e",
        "true",
        "None",
        "\n",
        "\t",
        "a\nb",
        "a\x00b",
        "\udcff",
        "é",
        "👩‍⚕️",
        "x" * 5000,
    ),
    *(".", "..", "/", "/dev/null", "/dev/full", "/proc/self/mem", "/nowhere/out.csv", "obs.csv", "./trial.csv", "*"),
    *(
        "obs.csv\x00.html",
        "table/*.parquet",
        "out.xlsx",
        "out.csv",
        "out.parquet",
        "out.arrow",
        "page.html",
        "m.confide",
    ),
    *(
        "model.confide",
        "new.csv",
        "folder",
        "folder/",
        "link.csv",
        "broken.csv",
        "empty.csv",
        "t",
        "y",
        "x",
        "town",
        "who",
    ),
    *("nothing", "x,town", ",", "x,x", "town > 3", "x > 0", "x >", "> 0", "x > 0 > 1", "__import__('os')", "{0}", "%s"),
    *(
        "$(touch hacked)",
        "; touch hacked",
        "| touch hacked",
        "=1+1",
        "--help",
        "--version",
        "naive",
        "transfer",
        "default",
    ),
    *("prognostic", "wscp-dr-exact", "ridge", "boosting", "forest", "constant", "cqr", "normalised", "both", "lower"),
    *("upper", "placebo", "drug", "drug=new", "=", "a=b=c", "utf-16", "latin-1", "rot13", "zlib", "idna", "utf-8-sig"),
    *(
        "8GB",
        "1KB",
        "-5GB",
        "GB",
        "observational",
        "0,1",
        "1,0",
        "-10,10",
        "1;2",
        "star",
        "table2",
        "sklearn.tree._tree.Tree",
    ),
)
OPTIONS: dict[str, tuple[str, ...]] = {
    "run": (
        *(
            "--predict",
            "--out",
            "--save",
            "--report",
            "--participants",
            "--method",
            "--alpha",
            "--base",
            "--seed",
            "--id",
        ),
        *("--category", "--covariates", "--sep", "--decimal", "--encoding", "--assignment", "--cluster", "--target"),
        *("--group", "--gamma", "--side", "--control", "--conformity-score", "--outcome-values", "--outcome-range"),
        *(
            "--unit",
            "--outcome-label",
            "--treatment-label",
            "--by",
            "--above",
            "--below",
            "--fdr",
            "--under",
            "--config",
        ),
        *("--train-rows", "--memory", "--json", "--lower-is-better", "--freeze", "--effect", "--no-such-option"),
    ),
    "predict": ("--out", "--alpha", "--trust", "--control", "--sep", "--decimal", "--encoding", "--json"),
    "select": ("--treatment", "--above", "--below", "--fdr", "--out", "--alpha", "--trust", "--sep", "--json"),
    "effects": (
        "--by",
        "--alpha",
        "--method",
        "--base",
        "--control",
        "--covariates",
        "--id",
        "--category",
        "--json",
        "--seed",
        "--model",
        "--lower-is-better",
        "--higher-is-better",
        "--out",
        "--decimal",
    ),
    "diagnose": (
        "--alpha",
        "--method",
        "--base",
        "--id",
        "--group",
        "--gamma",
        "--side",
        "--target",
        "--json",
        "--seed",
    ),
    "methods": ("--json",),
    "report": ("--predict", "--out", "--alpha", "--unit", "--above", "--control", "--treatment-label", "--json"),
    "demo": ("--data", "--files", "--seed", "--json"),
    "reproduce": ("--seeds", "--jobs", "--out", "--coat", "--yahoo", "--json"),
    "compare": ("--alpha", "--group", "--side", "--gamma", "--covariates"),
}
FLAGS = ("--json", "--lower-is-better", "--freeze", "--no-such-option")
# Commands that would compute for long if nothing is wrong with their words, and how a word is made wrong.
LONG = {"demo": ["--data", "stars"], "reproduce": ["--seeds", "0"], "compare": ["--outcome", "nothing"]}
WEIGHTS = {"run": 10, "predict": 6, "select": 4, "effects": 3, "diagnose": 2, "methods": 1, "report": 1, "demo": 1}
WEIGHTS |= {"reproduce": 1, "compare": 1}


@dataclass(frozen=True)
class Ran:
    """How a command ended, what it printed, and which files it left."""

    status: int
    out: str
    err: str


def attempt(case: int) -> Verdict:
    """Return what came of one case."""
    rng = np.random.default_rng([SEED, case])
    command, words = draw(rng)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        _prepare(Path())
        before = state(Path())
        ran = _real(words) if case % REAL == 0 else run_here(words)
        after = state(Path())
    family = f"{command}, a process of its own" if case % REAL == 0 else command
    faults = judge(words, ran, before, after)
    if faults:
        return Verdict(family, DEFECT, f"{words}: {'; '.join(faults)}")
    return Verdict(family, ANSWERED if ran.status == 0 else REFUSED, "" if ran.status == 0 else ran.err)


def draw(rng: np.random.Generator) -> tuple[str, list[str]]:
    """Return a command and its words: mostly right ones, and a few that are not."""
    weights = np.array(list(WEIGHTS.values()), dtype=float)
    command = str(rng.choice(list(WEIGHTS), p=weights / weights.sum()))
    words = {
        "run": ["run", *_study(rng), "--method", "naive", "--base", "ridge", "--save", "m.confide"],
        "predict": ["predict", "model.confide", "new.csv", "--out", "out.csv"],
        "select": ["select", "model.confide", "new.csv", "--treatment", "drug", "--above", "0", "--out", "out.csv"],
        "effects": ["effects", *_study(rng)],
        "diagnose": ["diagnose", *_study(rng), "--method", "naive", "--base", "ridge"],
        "methods": ["methods"],
        "report": ["report", "model.confide", "--predict", "new.csv", "--out", "page.html"],
        "demo": ["demo"],
        "reproduce": ["reproduce", "table2"],
        "compare": ["compare", *_study(rng)],
    }[command]
    for _ in range(int(rng.integers(0, 4))):
        option = str(rng.choice(OPTIONS[command]))
        words.append(option)
        if option not in FLAGS or rng.random() < 0.05:
            words.append(str(rng.choice(ODD_WORDS)))
    if rng.random() < 0.15:  # any word becomes another, or is lost
        place = int(rng.integers(1, len(words))) if len(words) > 1 else 0
        words[place : place + 1] = [] if rng.random() < 0.3 else [str(rng.choice(ODD_WORDS))]
    if rng.random() < 0.03:
        words.insert(int(rng.integers(max(len(words), 1))), str(rng.choice(ODD_WORDS)))
    return command, [*words, *LONG.get(command, [])]


def _study(rng: np.random.Generator) -> list[str]:
    return [
        word
        for option, value in STUDY.items()
        for word in (option, str(rng.choice(ODD_WORDS)) if rng.random() < 0.04 else value)
    ]


def judge(words: list[str], ran: Ran, before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Return what is wrong with how a command ended."""
    faults = []
    if "Traceback" in ran.err or "Traceback" in ran.out:
        faults.append(f"a traceback: {ran.err[-300:]}")
    if ran.status not in (0, 2):
        faults.append(f"status {ran.status}: {ran.err[-300:]}")
    lines = [line for line in ran.err.splitlines() if not line.startswith("note: ")]
    if ran.status == 2:
        if len(lines) != 1 or not lines[0].startswith("confide: "):
            faults.append(f"not one line: {ran.err[-300:]!r}")
        elif (fault := fault_of_message(lines[0])) is not None:
            faults.append(fault)
        if changed := differences(before, after):
            faults.append(f"refused, and left or changed {changed}")
    named = {os.path.basename(os.path.normpath(word.replace("\x00", ""))) or word for word in words}  # noqa: PTH119
    strange = [name for name in differences(before, after) if Path(name).parts[0] not in named | {"report.html"}]
    if strange:
        faults.append(f"left or changed files that nobody named: {strange}")
    if "hacked" in after:
        faults.append("a word was executed")
    if ran.status == 0 and "nan" in [cell for name in after for cell in _cells(name, after[name], before)]:
        faults.append("an answer is NaN")
    return faults


def _cells(name: str, content: bytes, before: dict[str, bytes]) -> list[str]:
    """Return the last cells of each line of an answer that was written as CSV."""
    if name in before or not name.endswith(".csv"):
        return []
    return [line.rsplit(",", 1)[-1].strip() for line in content.decode("utf-8", "replace").splitlines()]


def differences(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    """Return the files that are new, changed or gone."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def state(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run_here(words: list[str]) -> Ran:
    """Run a command in this process."""
    from confide.cli import console  # noqa: PLC0415  (imports the command line)
    from confide.cli.main import main  # noqa: PLC0415

    console.LONG = 3600.0  # no lines on how long it takes
    status: Any = None
    before = sys.argv
    sys.argv = ["confide", *words]
    with _captured() as (out, err):
        try:
            main()
        except SystemExit as left:
            status = left.code
        except BaseException as error:  # noqa: BLE001  (what passes by is a traceback)
            status = f"{type(error).__name__}: {error}"
        finally:
            sys.argv = before
    if not isinstance(status, int):
        return Ran(1, out.getvalue(), f"{err.getvalue()}Traceback: {status}")
    return Ran(status, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def _captured() -> Iterator[tuple[io.StringIO, io.StringIO]]:
    """Give the process other streams; they have the bytes below them that commands write to."""
    out, err = io.StringIO(), io.StringIO()
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)]
    empty = io.TextIOWrapper(io.BufferedReader(io.BytesIO()))
    before = sys.stdout, sys.stderr, sys.stdin
    sys.stdout, sys.stderr, sys.stdin = *streams, empty
    try:
        yield out, err
    finally:
        sys.stdout, sys.stderr, sys.stdin = before
        for stream, text in zip(streams, (out, err), strict=True):
            stream.flush()
            text.write(stream.buffer.getvalue().decode("utf-8", "replace"))


def _real(words: list[str]) -> Ran:
    """Run a command in a process of its own; words with a NUL character cannot be given to one."""
    words = [word.replace("\x00", "") for word in words]
    command = [str(Path(sys.executable).with_name("confide")), *words]
    done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS, stdin=subprocess.DEVNULL)
    lines = done.stderr.decode("utf-8", "replace").splitlines(keepends=True)
    told = "".join(line for line in lines if " so far" not in line)
    return Ran(done.returncode, done.stdout.decode("utf-8", "replace"), told)


def _prepare(folder: Path) -> None:
    """Put a small study, a model and some odd files into a folder."""
    for name, content in _files().items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    (folder / "link.csv").symlink_to("new.csv")


@cache
def _files() -> dict[str, bytes]:
    """Return the files of a small study, made once."""
    rng = np.random.default_rng(0)

    def people(size: int) -> dict[str, Any]:
        x = np.round(rng.standard_normal(size), 3)
        treatment = np.array(["drug", "placebo"])[rng.permutation(np.arange(size) % 2)]
        town = rng.choice(["Nord", "Süd, upper"], size)
        y = np.round(x + (treatment == "drug") + 0.5 * rng.standard_normal(size), 3)
        return {"who": np.arange(size), "x": x, "town": town, "t": treatment, "y": y}

    tables = {"obs.csv": people(60), "trial.csv": people(40), "new.csv": people(6)}
    with tempfile.TemporaryDirectory() as folder:
        for name, columns in tables.items():
            table = pa.table(columns if name != "new.csv" else {key: columns[key] for key in ("who", "x", "town")})
            with writing(f"{folder}/{name}", table.schema) as sink:
                sink.write_table(table)
        with contextlib.chdir(folder):
            words = [
                "run",
                *(word for pair in STUDY.items() for word in pair),
                "--method",
                "transfer",
                "--base",
                "ridge",
            ]
            ran = run_here([*words, "--id", "who", "--save", "model.confide"])
            if ran.status != 0:
                raise RuntimeError(ran.err)
        found = {path.name: path.read_bytes() for path in Path(folder).iterdir()}
    return {**found, "broken.csv": b'x,town\n1,"two\n', "empty.csv": b""}
