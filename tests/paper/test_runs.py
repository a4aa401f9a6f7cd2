"""Repetitions: written whole, not done twice, and taken for no others."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from confide.paper import runs
from confide.paper.runs import Task, make, read, run

pytestmark = pytest.mark.paper

CALLS = []


def squares(upto, seed):
    """Some work."""
    CALLS.append((upto, seed))
    return [{"seed": seed, "square": number**2, "open": float("inf")} for number in range(upto)]


def found_in(where, seed):
    return [{"seed": seed, "text": (Path(where) / "file.txt").read_text()}]


def task(upto=3, seed=0):
    return Task(squares, f"upto{upto}-seed{seed}", {"upto": upto, "seed": seed})


@pytest.fixture(autouse=True)
def _forget():
    CALLS.clear()


def test_trackers_of_lost_workers_say_nothing():
    warns = [sys.executable, "-c", "import warnings; warnings.warn('resource_tracker: /loky-1: FileNotFoundError(2)')"]
    assert b"resource_tracker" in subprocess.run(warns, capture_output=True, check=True).stderr
    with runs._quiet_tracker():
        assert subprocess.run(warns, capture_output=True, check=True).stderr == b""
    assert b"resource_tracker" in subprocess.run(warns, capture_output=True, check=True).stderr


def test_what_is_there_is_not_done_again(tmp_path):
    told = []
    tasks = [task(seed=seed) for seed in range(3)]
    first = run(tasks, tmp_path, 1, told.append)
    assert len(CALLS) == 3
    assert sum(told) == 3
    told.clear()
    again = run([*tasks, task(seed=3), task(seed=3)], tmp_path, 1, told.append)
    assert CALLS[3:] == [(3, 3)]
    assert sum(told) == 4
    assert [again[each.digest] for each in tasks] == [first[each.digest] for each in tasks]
    assert again[task(seed=3).digest].rows[2] == {"seed": 3, "square": 4, "open": float("inf")}


def test_a_part_says_what_it_is(tmp_path):
    part = make(task(), tmp_path)
    path = task().path(tmp_path)
    assert path.parent == tmp_path / "parts" / "squares"
    assert path.name.startswith("upto3-seed0-")
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["arguments"] == {"upto": 3, "seed": 0}
    assert content["digest"] == task().digest
    assert content["rows"][0]["open"] == "inf"
    assert part.seconds >= 0
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("change", ["version", "library", "edition", "argument"])
def test_parts_of_another_digest_are_not_taken(tmp_path, monkeypatch, change):
    run([task()], tmp_path, 1, lambda _: None)
    other = task()
    if change == "version":
        monkeypatch.setattr(runs, "__version__", "9.9")
    elif change == "library":
        monkeypatch.setattr(runs, "version", lambda _: "9.9")
    elif change == "edition":
        monkeypatch.setitem(runs.EDITIONS, other.kind, 99)
    else:
        other = Task(squares, "upto3-seed0", {"upto": 4, "seed": 0})
    assert read(other, tmp_path) is None
    run([other], tmp_path, 1, lambda _: None)
    assert len(CALLS) == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"digest": "of another"}', b'{"digest": 1, "rows": 2}'])
def test_a_part_that_is_none_is_made_anew(tmp_path, content):
    make(task(), tmp_path)
    task().path(tmp_path).write_bytes(content)
    assert read(task(), tmp_path) is None
    assert len(run([task()], tmp_path, 1, lambda _: None)[task().digest].rows) == 3


def test_a_folder_may_move(tmp_path):
    """What depends on files depends on their content, which the arguments name, and not on where they are."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file.txt").write_text("same")
    here, there = (Task(found_in, "files", {"seed": 0}, str(tmp_path / name)) for name in ("here", "there"))
    assert here.digest == there.digest
    assert make(here, tmp_path).rows == [{"seed": 0, "text": "same"}]
    assert read(there, tmp_path).rows == [{"seed": 0, "text": "same"}]


def test_an_error_leaves_the_others_parts(tmp_path):
    bad = Task(squares, "bad", {"upto": "x", "seed": 1})
    with pytest.raises(TypeError):
        run([task(), bad], tmp_path, 1, lambda _: None)
    assert read(task(), tmp_path) is not None
    assert read(bad, tmp_path) is None


def sleep_long(n, where):
    (Path(where) / f"{os.getpid()}").touch()
    assert n in (0, 1)
    time.sleep(600)
    return []


def end_in_the_middle(n, where):
    os.kill(os.getpid(), signal.SIGKILL)
    return [{"n": n, "where": where}]


WORKERS = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
import test_runs
from test_runs import Task, run
here, work = Path(sys.argv[1]), getattr(test_runs, sys.argv[2])
try:
    run([Task(work, str(n), {{"n": n}}, str(here)) for n in range(2)], here / "out", 2, lambda _: None)
except MemoryError as error:
    sys.exit(str(error))
"""


def start_workers(work, folder):
    """Run two tasks in two processes, and that in a third."""
    command = [sys.executable, "-c", WORKERS.format(path=[str(Path(__file__).parent)]), str(folder), work.__name__]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


def test_a_worker_that_is_ended_from_outside(tmp_path):
    running = start_workers(end_in_the_middle, tmp_path)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "for lack of memory. Finished parts are kept" in err


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_a_killed_run_leaves_no_workers(tmp_path):
    running = start_workers(sleep_long, tmp_path)
    while len(list(tmp_path.iterdir())) < 2:
        assert running.poll() is None
        time.sleep(0.05)
    workers = [int(path.name) for path in tmp_path.iterdir()]
    assert all(map(is_running, workers))
    assert running.pid not in workers
    running.kill()
    running.communicate(timeout=60)
    for _ in range(200):
        if not any(map(is_running, workers)):
            break
        time.sleep(0.05)
    assert not any(map(is_running, workers))


SCRIPT = """
import sys
sys.path[:0] = {path!r}
from confide.paper import Reproduction
from small_reproduction import SMALL
Reproduction.of("table2", seeds=2, jobs=1, out=sys.argv[1], settings=SMALL).run()
"""


def test_killed_in_the_middle_and_started_again(tmp_path):
    """The CSV is byte for byte that of a run without a kill, and what was done is not done again."""
    code = SCRIPT.format(path=[str(Path(__file__).parents[1])])

    def start(out):
        return subprocess.Popen([sys.executable, "-c", code, str(tmp_path / out)])

    assert start("whole").wait(timeout=300) == 0
    parts = len(list((tmp_path / "whole").rglob("parts/*/*.json")))
    killed = []
    for enough in (1, parts // 2):
        running = start("killed")
        while len(list((tmp_path / "killed").rglob("parts/*/*.json"))) < enough:
            assert running.poll() is None
            time.sleep(0.02)
        running.kill()
        killed.append(running.wait() == -signal.SIGKILL)
        assert not (tmp_path / "killed" / "table2.csv").exists()
    assert all(killed)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "killed").rglob("parts/*/*.json")}
    assert 0 < len(before) < parts
    assert start("killed").wait(timeout=300) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert (tmp_path / "killed" / "table2.csv").read_bytes() == (tmp_path / "whole" / "table2.csv").read_bytes()
