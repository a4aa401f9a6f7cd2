"""Faults while a command runs: kills, Ctrl-C, a full disk, closed pipes, lost workers, two runs at once.

After each one no output is partial, no temporary file is left by a run that could still tidy up, whoever watches gets
one line and no traceback, and a rerun gives the same bytes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import resource
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuzz.fault_bench import COMMANDS, CONFIDE, STUDY, Bench, end_of

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

# A command for which there is no memory left when it encodes rows for the k-th time. A limit of the system is no test:
# OpenBLAS waits for memory without end.
SHORT_OF_MEMORY = """
import sys
from confide.cli.main import main
from confide.data.encoding import TableEncoder
left, transform = [int(sys.argv.pop(1))], TableEncoder.transform
def encode(self, X):
    left[0] -= 1
    if left[0] == 0:
        raise MemoryError("Unable to allocate 8.00 GiB for an array with shape (1073741824,)")
    return transform(self, X)
TableEncoder.transform = encode
main()
"""
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24


@dataclass
class Tried:
    """A fault, how often it was injected, how often it came in the middle, and what went wrong."""

    fault: str
    command: str
    injected: int = 0
    in_the_middle: int = 0
    defects: list[str] = field(default_factory=list)

    def check(self, fine: bool, what: str) -> None:
        """Note a defect unless all is fine."""
        if not fine:
            self.defects.append(what)

    @property
    def row(self) -> dict[str, Any]:
        """The row of the table."""
        return {
            "fault": self.fault,
            "command": self.command,
            "injected": self.injected,
            "in_the_middle": self.in_the_middle,
            "survived": self.injected - len(self.defects),
            "defects": "; ".join(dict.fromkeys(self.defects))[:500],
        }


def signalled(bench: Bench, what: str, sent: signal.Signals, times: int, seed: int) -> Tried:
    """Send a signal at random moments."""
    name = {signal.SIGKILL: "killed (SIGKILL)", signal.SIGINT: "Ctrl-C (SIGINT)", signal.SIGTERM: "ended (SIGTERM)"}[
        sent
    ]
    tried = Tried(name, what)
    bench.know(what)
    command, _ = COMMANDS[what]
    luck = random.Random(f"{what} {sent} {seed}")  # noqa: S311
    finished = False
    for _ in range(times):
        if what != "reproduce" or finished:  # which goes on where it was killed
            bench.clear()
        running = bench.start(command)
        time.sleep(luck.uniform(0, bench.seconds[what]))
        running.send_signal(sent)
        _, err = end_of(running)
        tried.injected += 1
        finished = running.returncode == 0
        tried.in_the_middle += not finished
        faults = [f"a part under the name of {part}" for part in bench.parts(what)]
        if sent != signal.SIGKILL:
            status = 128 + sent
            said = {status: "confide: interrupted.\n" if sent == signal.SIGINT else "", 0: "", -int(sent): ""}
            if err != said.get(running.returncode, "?"):
                faults.append(f"status {running.returncode}, {err[-400:]!r}")
            faults += [f"left {each}" for each in bench.left() if running.returncode >= 0]
        tried.defects += faults[:1]
    ended = bench.run(command)
    tried.check(
        ended.status == 0
        and not bench.parts(what)
        and all((bench.folder / each).exists() for each in bench.whole[what]),
        f"a rerun does not give the same bytes: {ended.shown}",
    )
    bench.clear()
    return tried


def full_disk(bench: Bench) -> list[Tried]:
    """A limit on the size of files stands for the end of the disk: some bytes fit, and not all; or none do."""
    found = []
    cases = {
        "predict": [*COMMANDS["predict"][0][:-1]],
        "run": [*COMMANDS["run"][0][:-4], "--out"],
    }
    for what, words in cases.items():
        tried = Tried("the disk fills up", what)
        for name in ("out.csv", "out.parquet", "out.arrow", "out.csv.gz"):
            for most in (0, 1, 5000, 100_000):
                bench.clear()
                ended = bench.run([*words, name], preexec_fn=lambda most=most: limit_files(most))
                tried.injected += 1
                tried.in_the_middle += ended.status != 0
                fine = ended.is_one_line and not (bench.folder / name).exists() and not bench.left()
                tried.check(fine, f"{name} of at most {most} bytes: {ended.shown}, {bench.left()}")
        bench.clear()
        found.append(tried)
    tried = Tried("the disk is full", "run, predict, select, reproduce, report")
    outputs = {
        "predict": ["predict", "model.confide", "many.csv", "--out", "out.csv"],
        "run": ["run", *STUDY, "--method", "naive", "--save", "out.confide"],
        "select": ["select", "model.confide", "many.csv", "--treatment", "1", "--above", "0", "--out", "out.csv"],
        "report": ["report", "model.confide", "--predict", "many.csv", "--out", "out.html"],
    }
    for words in outputs.values():
        bench.clear()
        (bench.folder / words[-1]).symlink_to("/dev/full")
        ended = bench.run([CONFIDE, *words])
        tried.injected += 1
        tried.in_the_middle += 1
        tried.check(ended.is_one_line and "No space left" in ended.err, ended.shown)
    bench.clear()
    ended = bench.run(COMMANDS["reproduce"][0], preexec_fn=lambda: limit_files(10))
    tried.injected += 1
    tried.in_the_middle += 1
    tried.check(ended.is_one_line and not (bench.folder / "made/table2.csv").exists(), ended.shown)
    bench.clear()
    return [*found, tried]


def limit_files(most: int) -> None:
    """Let this process write files of at most so many bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def read_only_folder(bench: Bench) -> Tried:
    """Every command that writes, in a folder in which nobody may."""
    tried = Tried("a read-only folder", "run, predict, reproduce, report, demo --files")
    commands = [COMMANDS[what][0] for what in ("run", "predict", "reproduce")]
    commands.append([CONFIDE, "report", "model.confide", "--predict", "many.csv", "--out", "page.html"])
    commands.append([CONFIDE, "demo", "--files", "people"])
    bench.folder.chmod(0o555)
    try:
        for command in commands:
            ended = bench.run(command, preexec_fn=_obey_permissions)
            tried.injected += 1
            tried.in_the_middle += 1
            tried.check(ended.is_one_line, f"{command[1]}: {ended.shown}")
    finally:
        bench.folder.chmod(0o755)
    left = [path.name for path in bench.folder.iterdir() if path.name not in bench.inputs]
    tried.check(not left, f"left {left}")
    return tried


def _obey_permissions() -> None:
    """Take from root the right to write everywhere; others do not have it."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def closed_pipes(bench: Bench, times: int) -> Tried:
    """Whoever reads stops reading; or there is nowhere to print to from the start."""
    tried = Tried("a closed pipe", "predict, methods, select, --help")
    commands = [
        [CONFIDE, "predict", "model.confide", "many.csv"],
        [CONFIDE, "select", "model.confide", "many.csv", "--treatment", "1", "--above", "0"],
        [CONFIDE, "methods"],
        [CONFIDE, "--help"],
    ]
    for command in commands:
        for place in range(times):
            read, write = os.pipe()
            if place % 2:  # nobody listens from the start
                os.close(read)
            running = bench.start(command, stdout=write)
            os.close(write)
            if not place % 2:
                os.read(read, 10)
                os.close(read)
            _, err = end_of(running)
            tried.injected += 1
            tried.in_the_middle += 1
            tried.check("Traceback" not in err and "Exception" not in err, f"{command[1]}: {err[-300:]!r}")
        ended = bench.run(command, preexec_fn=lambda: os.close(1))
        tried.injected += 1
        tried.in_the_middle += 1
        tried.check("Traceback" not in ended.err and "Exception" not in ended.err, f"{command[1]}: {ended.shown}")
    return tried


def out_of_memory(bench: Bench) -> list[Tried]:
    """Less memory than a command needs; and a worker that the system ends for lack of it."""
    tried = Tried("too little memory", "run, predict")
    for what in ("run", "predict"):
        bench.know(what)
        for time_of_it in range(1, 9):
            bench.clear()
            ended = bench.run([sys.executable, "-c", SHORT_OF_MEMORY, str(time_of_it), *COMMANDS[what][0][1:]])
            tried.injected += 1
            tried.in_the_middle += ended.status != 0
            fine = (ended.is_one_line or ended.status == 0) and not bench.parts(what) and not bench.left()
            tried.check(fine, f"{what}, at {time_of_it}: {ended.shown} {bench.parts(what)} {bench.left()}")
    bench.clear()
    lost = Tried("a worker ended for lack of memory", "reproduce")
    bench.know("reproduce")
    for place in range(5):
        bench.clear()
        running = bench.start([*COMMANDS["reproduce"][0], "--jobs", "2"])
        worker = _worker_of(running, wait=0.2 * place)
        if worker is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
        _, err = end_of(running)
        lost.injected += 1
        lost.in_the_middle += running.returncode != 0
        fine = (running.returncode == 2 and err.count("\n") == 1 and "memory" in err) or running.returncode == 0
        lost.check(fine and not bench.parts("reproduce"), f"status {running.returncode}, {err[-300:]!r}")
    ended = bench.run(COMMANDS["reproduce"][0])
    lost.check(
        ended.status == 0 and not bench.parts("reproduce"), f"a rerun does not give the same bytes: {ended.shown}"
    )
    bench.clear()
    return [tried, lost]


def _worker_of(running: subprocess.Popen[str], wait: float) -> int | None:
    """Return a process that a command has started for its work, or None if it ended before."""
    while running.poll() is None:
        for tasks in Path(f"/proc/{running.pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                for child in map(int, tasks.read_text().split()):
                    if b"popen_loky" in Path(f"/proc/{child}/cmdline").read_bytes():
                        time.sleep(wait)
                        return child
        time.sleep(0.02)
    return None


def two_at_once(bench: Bench, times: int) -> Tried:
    """Two runs write the same output at the same time, with different levels: one of them wins, whole."""
    tried = Tried("two runs, one output", "predict")
    commands = [[*COMMANDS["predict"][0], "--alpha", level] for level in ("0.1", "0.3")]
    whole = []
    for command in commands:
        bench.clear()
        bench.run(command, check=True)
        whole.append((bench.folder / "out.parquet").read_bytes())
    for _ in range(times):
        bench.clear()
        running = [bench.start(command) for command in commands]
        said = [end_of(each)[1] for each in running]
        tried.injected += 1
        tried.in_the_middle += 1
        fine = all(each.returncode == 0 for each in running) and (bench.folder / "out.parquet").read_bytes() in whole
        tried.check(fine and not bench.left(), f"{[each.returncode for each in running]} {said}")
    bench.clear()
    return tried


def run_faults(kills: int = 50, report_progress: Callable[[str], None] = lambda _: None) -> list[dict[str, Any]]:
    """Inject every fault, and return the rows of the table; ``kills`` is the number of kills of each command.

    Each command has its own folder, and all are tried at the same time.
    """

    def signals(what: str, bench: Bench) -> Iterator[Tried]:
        yield signalled(bench, what, signal.SIGKILL, kills, 0)
        yield signalled(bench, what, signal.SIGINT, max(1, kills // 2), 0)
        yield signalled(bench, what, signal.SIGTERM, max(1, kills // 5), 0)

    def others(bench: Bench) -> Iterator[Tried]:
        yield from full_disk(bench)
        yield read_only_folder(bench)
        yield closed_pipes(bench, max(2, kills // 10))
        yield from out_of_memory(bench)
        yield two_at_once(bench, max(1, kills // 5))

    def inject(faults: Callable[[Bench], Iterator[Tried]]) -> list[dict[str, Any]]:
        rows = []
        with tempfile.TemporaryDirectory() as name:
            for tried in faults(Bench(Path(name))):
                rows.append(tried.row)
                report_progress(f"{tried.fault}, {tried.command}: {tried.row['survived']} of {tried.injected} survived")
        return rows

    groups = [*(partial(signals, what) for what in COMMANDS), others]
    with ThreadPoolExecutor(len(groups)) as hands:
        return [row for rows in hands.map(inject, groups) for row in rows]
