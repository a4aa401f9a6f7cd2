import os
import subprocess
import sys
from pathlib import Path

import pytest

from confide import METHODS, __version__

CONFIDE = Path(sys.executable).with_name("confide")


def confide(*arguments, columns=200):
    return subprocess.run(
        [CONFIDE, *arguments], capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": str(columns)}
    )


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_lists_the_commands(arguments):
    done = confide(*arguments)
    assert done.returncode == 0
    for command in ("methods", "demo"):
        assert command in done.stdout


def test_version():
    assert confide("--version").stdout.strip() == f"confide {__version__}"


def test_methods_shows_names_and_promises():
    done = confide("methods", columns=400)
    for record in METHODS.values():
        assert record.name in done.stdout
        assert record.promise in done.stdout


def test_demo_shows_every_method():
    done = confide("demo", "--seeds", "1")
    assert done.returncode == 0
    assert done.stderr == ""
    for record in METHODS.values():
        assert done.stdout.count(f" {record.name} ") >= 2
        assert record.promise in done.stdout
    assert "coverage ± standard error / width, one seed" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dem"], "No such command 'dem'"),
        (["demo", "--seedz", "3"], "No such option: --seedz"),
        (["demo", "--seeds", "x"], "Invalid value for '--seeds'"),
        (["demo", "--seeds", "0"], "Invalid value for '--seeds'"),
        (["demo", "extra"], "unexpected extra argument"),
    ],
)
def test_bad_usage_is_one_line_and_status_2(arguments, message):
    done = confide(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("confide: ")
    assert message in done.stderr
