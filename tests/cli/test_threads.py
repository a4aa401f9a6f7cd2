"""Commands do not spin: threads that wait sleep, and the libraries are told before they are loaded."""

import os
import subprocess
import sys

import pytest

from commands import CONFIDE, QUICK, STUDY


def test_the_command_line_decides_before_the_libraries_are_loaded():
    """The variables are read when the libraries are loaded; a user's own stay as they are."""
    code = (
        "import os, sys; from confide.cli import main as cli; assert 'numpy' not in sys.modules\n"
        "cli.app = lambda **_: 0\n"
        "try: cli.main()\nexcept SystemExit: pass\n"
        "print(*(os.environ.get(name) for name in ('OMP_WAIT_POLICY', 'OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS')))"
    )
    clean = {name: value for name, value in os.environ.items() if "THREADS" not in name and "WAIT" not in name}
    for given, told in (({}, "PASSIVE 1 None"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE 1 None")):
        done = subprocess.run([sys.executable, "-c", code], env=clean | given, stdout=subprocess.PIPE, check=True)
        assert done.stdout.decode().split() == told.split()


@pytest.mark.skipif(sys.platform != "linux", reason="asks GCC's OpenMP")
@pytest.mark.slow
def test_waiting_threads_of_a_command_sleep(folder):
    """OpenMP itself says what it has understood."""
    clean = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "KMP_BLOCKTIME")}
    words = [CONFIDE, "run", *STUDY, *QUICK, "--predict", "new.csv", "--out", "out.csv"]
    run = subprocess.run(
        words, cwd=folder, env=clean | {"OMP_DISPLAY_ENV": "TRUE"}, capture_output=True, text=True, check=True
    )
    assert "OMP_WAIT_POLICY = 'PASSIVE'" in run.stderr
