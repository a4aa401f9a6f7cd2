"""Killed in the middle: never a part of a file under its name, and a rerun gives the same."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pyarrow as pa
import pytest

from commands import CONFIDE, QUICK, STUDY
from tables import typed, write

pytestmark = pytest.mark.slow


def kill_at_random_moments(command, outputs, folder, moments, seed):
    """Run to the end once, then kill that many times, and after each look at what stands under the outputs' names."""
    durations = []
    for _ in range(2):  # the first one warms the disk up
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        durations.append(time.perf_counter() - began)
    whole = {name: (folder / name).read_bytes() for name in outputs}
    luck = random.Random(seed)  # noqa: S311
    killed = 0
    for _ in range(moments):
        for name in outputs:
            (folder / name).unlink(missing_ok=True)
        started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        time.sleep(luck.uniform(0, durations[-1]))
        started.kill()
        killed += started.wait() == -signal.SIGKILL
        for name in outputs:
            assert not (folder / name).exists() or (folder / name).read_bytes() == whole[name]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)
    for name in outputs:
        assert (folder / name).read_bytes() == whole[name]
    return killed


@pytest.mark.parametrize("moments", [3, pytest.param(30, marks=pytest.mark.long)])
@pytest.mark.parametrize("what", ["run", "predict"])
def test_killed_at_random_moments(folder, model, what, moments):
    write("many.csv", pa.concat_tables([typed("new.csv")] * 2000))
    if what == "run":
        outputs = ["out.parquet", "m.confide"]
        command = [CONFIDE, "run", *STUDY, *QUICK, "--predict", "many.csv", "--out", outputs[0], "--save", outputs[1]]
    else:
        outputs = ["out.csv"]
        command = [CONFIDE, "predict", model, "many.csv", "--out", "out.csv"]
    killed = kill_at_random_moments(command, outputs, folder, moments, seed=moments)
    assert killed >= moments / 3


def test_an_old_output_survives_a_kill(folder, model):
    Path("out.csv").write_bytes(b"of yesterday")
    write("many.csv", pa.concat_tables([typed("new.csv")] * 20_000))
    command = [CONFIDE, "predict", model, "many.csv", "--out", "out.csv"]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    while not any(path.stat().st_size for path in folder.glob(".out.csv.*")):
        assert started.poll() is None
        time.sleep(0.01)
    started.kill()
    started.wait()
    assert (folder / "out.csv").read_bytes() == b"of yesterday"
