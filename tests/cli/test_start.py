"""Ctrl-C while commands are imported, or made, is one line."""

import subprocess
import sys

import pytest

# The first import of a module with this name, or its first call, is when Ctrl-C comes.
INTERRUPT = """
import importlib.abc, os, signal, sys
class Late(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
from confide.cli.start import main
sys.meta_path.insert(0, Late())
main()
"""
LATER = """
import os, signal, sys
import typer.main
typer.main.get_command = lambda *_: os.kill(os.getpid(), signal.SIGINT)
sys.argv = ["confide", "methods"]
from confide.cli.start import main
main()
"""
# Ctrl-C while a class is made: Python 3.11 raises a RuntimeError that it caused.
CLASS = """
import sys
import typer.main
class Name:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt
typer.main.get_command = lambda *_: type("Owner", (), {"name": Name()})
sys.argv = ["confide", "methods"]
from confide.cli.start import main
main()
"""


@pytest.mark.parametrize("code", [INTERRUPT, LATER, CLASS], ids=["imported", "made", "in a class"])
def test_ctrl_c_at_the_start_is_one_line(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "confide: interrupted.\n")
