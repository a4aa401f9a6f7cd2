"""README and the pages of docs/: what they show runs, and prints what they say it prints."""

import dataclasses
import re
import subprocess
import sys
from fractions import Fraction
from importlib.metadata import version

import numpy as np
import pytest

from confide import METHODS, __version__
from confide.cli import main as _commands  # noqa: F401  (it registers the commands)
from confide.cli.app import app
from confide.cli.console import duration, time_taken
from confide.conformal import weighted_quantile
from confide.diagnostics import ArmDiagnostics
from confide.diagnostics.advice import CLEAR_GAIN, FEW_ROWS, LITTLE_OVERLAP
from confide.diagnostics.confounding_test import LEAST_ROWS
from confide.diagnostics.records import ASKED_ROWS, SAMPLE_ROWS
from pages import PROGRESS, ROOT, blocks, commands, is_run, run_page, shows, targets
from studies.__main__ import STUDIES

pytestmark = pytest.mark.docs

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EVERY = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]
CHOOSING = (ROOT / "docs" / "choosing.md").read_text(encoding="utf-8")


def name(path):
    return path.name


def read(path):
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [path for path in PAGES if "```" in read(path)], ids=name)
def test_every_block_runs_and_prints_what_the_page_shows(path, tmp_path, monkeypatch):
    run_page(read(path), tmp_path, monkeypatch)


@pytest.mark.parametrize("path", EVERY, ids=name)
def test_no_block_is_overlooked(path):
    assert 2 * len(blocks(read(path))) == read(path).count("```")


@pytest.mark.parametrize("path", EVERY, ids=name)
def test_links_lead_to_files(path):
    for link in re.findall(r"\]\(([^)#\s]+)\)", read(path)):
        assert link.startswith("https://") or (path.parent / link).exists(), link


@pytest.mark.parametrize("path", EVERY, ids=name)
def test_commands_named_in_sentences_exist(path):
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    assert set(re.findall(r"`make ([a-z-]+)`", read(path))) <= targets()
    assert set(re.findall(r"`confide ([a-z]+)[ `]", read(path))) <= known


def test_readme_begins_with_two_commands():
    first = blocks(read(ROOT / "README.md"))[0]
    assert commands(first.code) == ["make demo", "make test"]


def test_the_version_is_the_same_everywhere():
    (built,) = re.findall(r'^version = "(.+)"$', read(ROOT / "pyproject.toml"), flags=re.MULTILINE)
    (cited,) = re.findall(r"^version: (.+)$", read(ROOT / "CITATION.cff"), flags=re.MULTILINE)
    assert built == cited == __version__ == version("confide")
    assert re.search(rf"^## .*{re.escape(built)}", read(ROOT / "CHANGELOG.md"), flags=re.MULTILINE)


def test_readme_is_short():
    """One screen of text more, and nobody reads it: the rest is in docs/."""
    assert len((ROOT / "README.md").read_bytes()) <= 7_000


def test_contributing_quotes_real_code_and_real_targets():
    def lines(text):
        return "\n".join(line.strip() for line in text.splitlines() if line.strip())

    sources = "\n".join(lines(read(path)) for path in (ROOT / "src").rglob("*.py"))
    found = blocks(read(ROOT / "CONTRIBUTING.md"))
    assert [block.language for block in found].count("python") == 3
    for block in found:
        if block.language == "python":
            assert lines(block.code) in sources
        else:
            assert block.language == "sh"
            assert not any(map(is_run, commands(block.code)))


@pytest.mark.parametrize("script", ["promises.py", "rooms.py"])
def test_what_scripts_write_into_pages_is_up_to_date(script):
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / script, "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_pages_of_studies_are_those_of_their_csv():
    """No cell was typed by hand."""
    for study in STUDIES:
        command = [sys.executable, "-m", "studies", study, "--check"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
        assert done.returncode == 0, done.stderr


def test_the_reproduction_page_is_that_of_its_csv_files():
    """No cell was typed by hand; without results there is no page."""
    command = [sys.executable, ROOT / "scripts" / "reproduction.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_choosing_a_method_names_every_method_and_its_promise():
    """A row of the table promises what METHODS says of each method that it names."""
    rows = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in CHOOSING.splitlines() if line.startswith("| ")]
    assert rows[0] == ["your situation", "method", "why", "promised coverage"]
    named = set()
    for _, methods, _, promise in rows[2:]:
        for method in re.findall(r"`([a-z*-]+)`", methods):
            named.add(method)
            assert str(METHODS[method].promise) in promise.replace("\\|", "|")
    assert named == set(METHODS)


def test_choosing_a_method_agrees_with_the_study():
    """Whom the page says to be under-covered nowhere, the study's own table does not show under-covered."""
    sentence = re.search(r"No cell of (.*?) is under-covered", CHOOSING, flags=re.DOTALL)
    said = set(re.findall(r"`([a-z*-]+)`", sentence[1]))
    table = re.findall(r"^\| ([a-z*-]+) \| (\d+) of \d+ \|", read(ROOT / "docs" / "default.md"), flags=re.MULTILINE)
    study = {method: int(count) for method, count in table if method in METHODS}
    assert set(study) == {"naive", "transfer", "transfer-centred", "prognostic"}
    assert said == {method for method, count in study.items() if count == 0}


def test_small_trials_says_how_many_rows_it_takes():
    def least(alpha):
        counts = range(1, 100)
        return next(n for n in counts if np.isfinite(weighted_quantile(np.zeros(n), np.ones(n), alpha, test_weight=1)))

    page = read(ROOT / "docs" / "howto-small-trials.md")
    rows = re.findall(r"^\| (\d+) % \| (\d+) \| (\d+) \|$", page, flags=re.MULTILINE)
    assert len(rows) == 3
    for percent, outcome, effect in rows:
        alpha = Fraction(100 - int(percent), 100)
        assert (int(outcome), int(effect)) == (least(alpha), least(alpha / 2))


def test_reading_the_summary_names_the_limits_that_advice_has():
    page = read(ROOT / "docs" / "summary.md")
    assert page.count(f"elow {FEW_ROWS}") == 2
    assert f"Worry below {LITTLE_OVERLAP} " in page
    assert CLEAR_GAIN == 2
    assert "twice the standard error" in page
    assert f"At most {SAMPLE_ROWS:,} rows of each table are used, and nothing is said where one" in page
    assert f"fewer than {LEAST_ROWS}." in page
    assert f"up to {ASKED_ROWS} of the trial's own covariates" in page
    for field in dataclasses.fields(ArmDiagnostics):
        assert field.name in {"treatment", "method", "promise", "alpha"} or field.name in page


# The tests of the tests.


@pytest.mark.parametrize(
    ("text", "printed", "right"),
    [
        ("a\nb", "a  \nb\n", True),
        ("a\nb", "a\n", False),
        ("a", "a\nb\n", False),
        ("a\n...\nd", "a\nb\nc\nd\n", True),
        ("a\n…\nd", "a\nb\nc\n", False),
        ("...\nb\n...", "a\nb\nc\n", True),
        ("...\nb\n...", "a\nc\n", False),
        ("...\nb\n...\na\n...", "a\nb\nc\n", False),
        ("width 1.23", "width 1.24", True),
        ("width 1.23", "width 1.26", False),
        ("rows 12", "rows 13", False),
    ],
)
def test_what_counts_as_shown(text, printed, right):
    assert shows(text, printed) is right


@pytest.mark.parametrize("done", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("elapsed", [5, 75, 4000])
def test_progress_is_not_part_of_what_a_page_shows(done, elapsed):
    for total in (None, 4.0):
        told = [time_taken(elapsed, done, total), f"done in {duration(elapsed)}"]
        told.append(f"1,000 of 20,000 rows, read in {duration(elapsed)}")
        printed = "".join(f"answer\nfitting on 4,300 rows: {each}\nmore so far\n" for each in told)
        assert PROGRESS.sub("", printed) == "answer\nmore so far\n" * 3


@pytest.mark.parametrize(
    "page",
    [
        "```sh\nrm -rf star\n```",
        "```sh\nconfide methods && rm star\n```",
        "```sh\nmake nonsense\n```",
        "```sh\nconfide nonsense\n```",
        "```python\n1 / 0\n```",
        "```python\nimport warnings\nwarnings.warn('look')\n```",
        "```python\nprint(1)\n```\n\n```text\n2\n```",
        "```text\n2\n```",
        "```\n2\n```",
    ],
)
def test_a_page_that_is_wrong_fails(page, tmp_path, monkeypatch):
    with pytest.raises((AssertionError, ValueError)):
        run_page(page, tmp_path, monkeypatch)


def test_a_page_may_show_warnings_and_errors(tmp_path, monkeypatch):
    page = (
        "```python\nimport warnings\nwarnings.warn('look')\n1 / 0\n```\n\n"
        "```text\nUserWarning: look\nZeroDivisionError: division by zero\n```\n\n"
        "```sh\nconfide nonsense  # no such thing\n```\n\n```text\nconfide: No such command 'nonsense'.\n```\n"
    )
    run_page(page, tmp_path, monkeypatch)
