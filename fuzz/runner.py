"""Many cases, in processes that may die, hang or run out of memory; what is done is kept, so that a run can go on."""

from __future__ import annotations

import hashlib
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import threading
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from confide.base.threads import one_thread_from_the_start
from confide.paper.runs import Task, run
from fuzz.verdict import DEFECT, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.base.csv_rows import Row

ROOT = Path(__file__).parents[1]
# Where finished blocks of cases are kept, by the code that they ran.
KEPT = ROOT / "build" / "fuzz"
FUZZERS = ("tables", "commands", "models")
# The modules that decide what a case is and what comes of it.
CASES = ("drawn", "notations", "columns", "roles", *FUZZERS, "runner", "verdict")
# Cases that one process runs, one after the other, and that are kept together.
BLOCK = 100
# A case that takes longer hangs. It takes far less than a second of one core; the machine may be busy.
SECONDS = 120
# Memory that a process may ask for, its libraries included.
BYTES = 4 * 2**30


def run_cases(fuzzer: str, cases: int, jobs: int, report_progress: Callable[[int], None] = lambda _: None) -> list[Row]:
    """Return one row per case: its number, family, outcome and what was said."""
    tasks = [
        Task(
            run_block,
            f"{fuzzer}-{first:05d}",
            {"fuzzer": f"fuzz.{fuzzer}", "first": first, "count": count, "code": code()},
        )
        for first in range(0, cases, BLOCK)
        for count in [min(BLOCK, cases - first)]
    ]
    found = run(tasks, KEPT, jobs, report_progress)
    return [row for task in tasks for row in found[task.digest].rows]


def run_block(fuzzer: str, first: int, count: int, code: str) -> list[Row]:  # noqa: ARG001  (a result is that of its code)
    """Return the rows of some cases; a process that dies or hangs is replaced, and its case is a defect."""
    rows: list[Row] = []
    while len(rows) < count:
        rows += _child(fuzzer, first + len(rows), count - len(rows))
    return rows


@cache
def code() -> str:
    """Return a digest of the code that a result depends on: the package and the cases."""
    digest = hashlib.sha256()
    for path in sorted([*ROOT.glob("src/confide/**/*"), *(ROOT / "fuzz" / f"{name}.py" for name in CASES)]):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(ROOT)} ".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _child(fuzzer: str, first: int, count: int) -> list[Row]:
    """Return the rows of the cases that a process has finished; one more if it died or hung in the next."""
    command = [sys.executable, "-m", "fuzz.runner", fuzzer, str(first), str(count)]
    environment = {**os.environ, "PYTHONWARNINGS": "default", "PYTHONFAULTHANDLER": "1"}
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        lines: queue.Queue[bytes] = queue.Queue()
        assert child.stdout is not None  # noqa: S101  (it is a pipe)
        reader = threading.Thread(target=_read, args=(child.stdout, lines))
        reader.start()
        rows: list[Row] = []
        why = ""
        while len(rows) < count:
            try:
                line = lines.get(timeout=SECONDS)
            except queue.Empty:
                why = f"no answer in {SECONDS} seconds"
                break
            if not line.endswith(b"\n"):
                why = f"the process ended with status {child.wait()}"
                break
            rows.append(json.loads(line))
        child.kill()
        reader.join()
    if len(rows) < count:
        rows.append(_row(first + len(rows), Verdict("hang or crash", DEFECT, why)))
    return rows


def _read(stream: IO[bytes], lines: queue.Queue[bytes]) -> None:
    """Put each line of a stream into a queue, and nothing at its end."""
    for line in stream:
        lines.put(line)
    lines.put(b"")


def _row(case: int, verdict: Verdict) -> Row:
    return {"case": case, "family": verdict.family, "outcome": verdict.outcome, "said": verdict.said[:500]}


def attempt(fuzzer: str, case: int) -> Verdict:
    """Run one case of a module of cases in this process."""
    module: Any = import_module(fuzzer)
    verdict: Verdict = module.attempt(case)
    return verdict


def main() -> None:
    """Run cases in this process, which may ask for so much memory, and write one line of JSON per case."""
    one_thread_from_the_start()
    fuzzer, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed is no result
    for case in range(first, first + count):
        try:
            verdict = attempt(fuzzer, case)
        except MemoryError as error:
            verdict = Verdict("memory", DEFECT, f"MemoryError: {error}")
        except Exception as error:  # noqa: BLE001  (an error of the fuzzer itself must be seen too)
            verdict = Verdict("the fuzzer", DEFECT, f"{type(error).__name__}: {error}")
        results.write(json.dumps(_row(case, verdict)) + "\n")
        results.flush()


if __name__ == "__main__":
    main()
