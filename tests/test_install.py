"""The set-up says how far it is, and shows what pip said only if it fails."""

import importlib
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pages import ROOT

LINES = [
    "Collecting a\n",
    "Processing b.whl\n",
    "  Using cached b\n",
    "Installing collected packages: a, b\n",
    "Done\n",
]


@pytest.fixture
def install(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return importlib.import_module("install")


def test_packages_are_counted(install, capsys, monkeypatch):
    monkeypatch.setattr(install, "EVERY", -1)
    assert install.told(SimpleNamespace(stdout=LINES), 2) == LINES
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "  packages: 1 of 2",
        "  packages: 2 of 2",
        "  packages: 2 of 2",
        *["  packages: 2 of 2; copying them into place, the longest step"] * 2,
    ]


def test_a_terminal_gets_one_line(install, capsys, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    install.told(SimpleNamespace(stdout=LINES), 2)
    told = capsys.readouterr().out
    assert told.count("\n") == 1
    assert told.startswith("\r  packages: 1 of 2 ")


@pytest.mark.slow
def test_what_cannot_be_installed_is_told_with_a_status(tmp_path):
    (tmp_path / "wanted.lock").write_text("./nowhere-such-a-folder==1\n")
    command = [sys.executable, ROOT / "scripts" / "install.py", sys.executable, tmp_path / "wanted.lock"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ERROR" in done.stderr or "No module named pip" in done.stderr


def test_the_lock_has_the_hashes_of_every_file():
    """With one hash, pip asks for one of every file that it installs."""
    text = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^[\w.-]+==[\w.]+ \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", text, re.MULTILINE)
    assert len(pins) == text.count("==") > 100
    assert "".join(pins) == "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
