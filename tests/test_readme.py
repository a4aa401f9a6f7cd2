"""README: its code runs, and its table of promises is the one METHODS makes."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_promises_is_up_to_date():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "promises.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_python_block_runs(capsys, tmp_path, monkeypatch):
    """One after the other, as a reader would."""
    monkeypatch.chdir(tmp_path)
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    assert "lower" in capsys.readouterr().out


def test_the_commands_are_targets_of_the_makefile():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    commands = re.findall(r"^make ([a-z-]+)", README, flags=re.MULTILINE)
    assert {"demo", "test"} <= set(commands) <= set(targets)


def test_contributing_quotes_real_code():
    def lines(text):
        return "\n".join(line.strip() for line in text.splitlines() if line.strip())

    sources = "\n".join(lines(path.read_text(encoding="utf-8")) for path in (ROOT / "src").rglob("*.py"))
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        assert lines(block) in sources


def test_the_pages_of_studies_are_those_of_their_csv():
    """No cell was typed by hand."""
    for study in ("methods", "default", "ratios", "confounding", "theorem"):
        command = [sys.executable, ROOT / "scripts" / "studies.py", study, "--check"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
