"""Pages of documentation, run as a reader would: block after block, in one folder and one Python session.

A ``python`` block runs in the page's session, a ``sh`` block command by command. A ``text`` block is what the block
before it printed. What a reader must not miss, a warning, an error or a note, has to be shown in one.
"""

import contextlib
import io
import math
import os
import re
import shlex
import subprocess
import sys
import types
import warnings
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
ACTIVATE = ". .venv/bin/activate"
PROGRAMS = {"confide", "cat", "cut", "head"}
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.\d+(?:e[+-]?\d+)?")
NOTICE = re.compile(r"^(note: |confide: |\w*Warning: )", re.MULTILINE)
# Lines that a command prints because it takes long, on a slow or busy machine only.
TIME = r"\d+ (s|min|h)( \d+ (s|min))?"
PROGRESS = re.compile(
    rf"^.+: ((.+, )?{TIME} so far(, about {TIME} left)?|done in {TIME}|[\d,]+ of [\d,]+ rows, read in {TIME})\n",
    re.MULTILINE,
)
ELISION = ("...", "…")


@dataclass(frozen=True)
class Block:
    language: str
    code: str
    line: int


def blocks(text):
    """Return the fenced blocks of a page, in order."""
    return [Block(found[2], found[3], text.count("\n", 0, found.start()) + 1) for found in FENCE.finditer(text)]


def run_page(text, folder, monkeypatch):
    """Run every block in the folder; raise where one fails, or prints something else than the page shows."""
    monkeypatch.chdir(folder)
    session = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", session)  # classes of the page are found where they say they are
    found = blocks(text)
    run = {"python": lambda code: run_python(code, session), "sh": run_shell}
    printed = None
    for block, following in zip(found, [*found[1:], None], strict=True):
        where = f"line {block.line}"
        if block.language == "text":
            assert printed is not None, f"{where}: nothing ran before this output"
            assert shows(block.code, printed), f"{where}: the page shows\n{block.code}\nand this was printed\n{printed}"
            continue
        assert block.language in run, f"{where}: a block must be python, sh or text, not {block.language!r}"
        printed, error = run[block.language](block.code)
        if following is None or following.language != "text":
            assert error is None, f"{where}: failed, and the page does not show it:\n{printed}"
            assert not NOTICE.search(printed), f"{where}: the page does not show this notice:\n{printed}"


def run_python(code, session):
    """Return what a block printed, warnings in their place and the error last, and the error if there is one."""
    out, error = io.StringIO(), None

    def show(message, category, *_):
        out.write(f"{category.__name__}: {message}\n")

    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        warnings.showwarning = show
        try:
            exec(compile(code, "page", "exec"), vars(session))  # noqa: S102
        except Exception as raised:  # noqa: BLE001  (the page shows it, or the test fails)
            error = raised
            out.write(f"{type(raised).__name__}: {raised}\n")
    return out.getvalue(), error


def run_shell(code):
    """Return what the commands printed, and the status of the last one if it failed."""
    printed, status = "", None
    environment = {**os.environ, "COLUMNS": "80", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command in commands(code):
        assert status is None, f"{command!r} comes after a command that failed"
        if not is_run(command):
            continue
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],  # noqa: S607
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        printed += PROGRESS.sub("", done.stdout)
        if done.returncode:
            assert done.returncode == 2, f"{command!r} ended with status {done.returncode}:\n{done.stdout}"
            status = done.returncode
    return printed, status


def commands(code):
    """Return the commands of a block, continued lines joined, without comments."""
    lines = code.replace("\\\n", " ").splitlines()
    return [command for line in lines if (command := re.sub(r"(^|\s)#.*", "", line).strip())]


def is_run(command):
    """Return whether a command is to be run; raise a ValueError for one that is not known."""
    if command == ACTIVATE:
        return False
    if command.split()[0] == "make":
        unknown = set(command.split()[1:]) - targets()
        if unknown:
            raise ValueError(f"{command!r}: the Makefile has no target {', '.join(unknown)}")
        return False
    words = list(shlex.shlex(command, posix=True, punctuation_chars=True))
    starts = [words[0], *(after for word, after in pairwise(words) if word == "|")]
    joined = {word for word in words if set(word) <= set("();<>|&")} - {"|", "<", ">"}
    if joined or not set(starts) <= PROGRAMS:
        raise ValueError(f"{command!r} is not a command that the tests know")
    return True


def targets():
    """Return the targets of the Makefile."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))


def shows(text, printed):
    """Return whether a page's text is what was printed; a line of dots stands for any lines."""
    wanted, lines = [[]], printed.strip("\n").split("\n")
    for line in text.strip("\n").split("\n"):
        if line.strip() in ELISION:
            wanted.append([])
        else:
            wanted[-1].append(line)
    first, *others = wanted
    if not begins(lines, first):
        return False
    if not others:
        return len(lines) == len(first)
    *middle, last = others
    start = len(first)
    for part in middle:
        start = next((at for at in range(start, len(lines)) if begins(lines[at:], part)), len(lines)) + len(part)
    return start + len(last) <= len(lines) and begins(lines[len(lines) - len(last) :], last)


def begins(lines, part):
    """Return whether the lines begin with these."""
    return len(part) <= len(lines) and all(map(same, part, lines))


def same(shown, printed):
    """Return whether two lines are equal but for blanks at the end and rounding of the last decimal."""
    shown, printed = shown.rstrip(), printed.rstrip()
    if NUMBER.split(shown) != NUMBER.split(printed):
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(_close(*pair) for pair in pairs)


def _close(shown, printed):
    digits, _, exponent = shown.replace(",", "").partition("e")
    step = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    return math.isclose(
        float(shown.replace(",", "")), float(printed.replace(",", "")), rel_tol=1e-6, abs_tol=1.01 * step
    )
