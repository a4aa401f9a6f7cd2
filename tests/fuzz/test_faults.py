"""Some of the faults that `make faults` injects, once each; and that a part of a file would be seen."""

import signal

import pytest

from fuzz.fault_bench import COMMANDS, Bench, Ended
from fuzz.faults import closed_pipes, limit_files, out_of_memory, read_only_folder, signalled, two_at_once

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("bench"))


@pytest.mark.xdist_group("faults")
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("what", COMMANDS)
def test_signals_at_a_random_moment(bench, what, sent):
    tried = signalled(bench, what, sent, 1, seed=1)
    assert tried.defects == []
    assert tried.injected == 1


@pytest.mark.xdist_group("faults")
def test_a_folder_in_which_nothing_can_be_written(bench):
    assert read_only_folder(bench).defects == []


@pytest.mark.xdist_group("faults")
@pytest.mark.parametrize(("what", "most"), [("predict", 0), ("reproduce", 10)])
def test_no_room_for_more_bytes(bench, what, most):
    command, outputs = COMMANDS[what]
    ended = bench.run(command, preexec_fn=lambda: limit_files(most))
    assert ended.is_one_line
    assert not any((bench.folder / name).exists() for name in outputs)
    bench.clear()


@pytest.mark.xdist_group("faults")
def test_two_runs_at_once_and_nobody_who_listens(bench):
    assert two_at_once(bench, 1).defects == []
    assert closed_pipes(bench, 2).defects == []


@pytest.mark.xdist_group("faults")
def test_no_memory_left(bench):
    short, lost = out_of_memory(bench)
    assert short.defects == lost.defects == []
    assert short.in_the_middle > 0
    assert lost.in_the_middle > 0


@pytest.mark.xdist_group("faults")
def test_a_part_is_seen(bench):
    bench.know("predict")
    assert bench.parts("predict") == []
    (bench.folder / "out.parquet").write_bytes(b"PAR1 half")
    (bench.folder / ".out.parquet.12.tmp").write_bytes(b"")
    assert bench.parts("predict") == ["out.parquet"]
    assert bench.left() == [".out.parquet.12.tmp"]
    bench.clear()
    assert not Ended(2, "", "Traceback\n").is_one_line
    assert Ended(2, "", "confide: no.\n").is_one_line
