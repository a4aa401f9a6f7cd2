"""The page of the reproduction: derived from the rows, whatever they are."""

import subprocess
import sys

import pytest

from confide.base.csv_rows import read_rows, write_rows
from confide.paper.page import make_page
from confide.paper.protocols import NOT_YAHOO, reason
from confide.paper.tables import TABLES
from pages import ROOT
from paper_rows import TABLE2, rated

pytestmark = pytest.mark.paper

SCRIPT = ROOT / "scripts" / "reproduction.py"


@pytest.mark.parametrize(
    ("table", "method", "group", "words"),
    [
        ("coat", "naive", "", "turns factors off where they do not help"),
        ("yahoo", "naive", "", "turns factors off where they do not help"),
        ("coat", "wscp-dr-exact", "", "a ratio on embeddings of the same ratings"),
        ("ratio", "wtcp-dr", "MLP", "refits at α/2"),
        ("ratio", "wtcp-dr", "kernel", "densratio on columns that are not scaled"),
        ("nested", "wcp", "exact", "calibrated without weights"),
    ],
)
def test_the_nearest_reason_is_told(table, method, group, words):
    assert words in reason(table, method, group)


def write(folder, **tables):
    folder.mkdir(exist_ok=True)
    for name, content in tables.items():
        write_rows(folder / f"{name}.csv", content, TABLES[name].columns)
    return folder


def test_the_page_of_what_is_there(tmp_path):
    page = make_page(write(tmp_path / "reproduction", table2=TABLE2, yahoo=rated("naive", 0.9, 3.5, 3.4)))
    assert "**Preliminary: fewer than 5 seeds in table2 (3 seeds), yahoo (2 seeds).**" in page
    assert "Not run: nested, ratio" in page
    assert "| `wcp` | Y(0) | 0.820±0.001 | 0.572±0.039 | 0.300±0.000 | 0.222±0.007 | yes | 0.861 / 0.416 |" in page
    assert "| `wcp` | disjoint rows | 0.861 / 0.416 | 0.855 / 0.414 |" in page
    assert page.count(NOT_YAHOO) == 2
    assert "- Why wcp: published:" in page


def test_rows_survive_the_csv(tmp_path):
    folder = write(tmp_path, table2=TABLE2)
    assert read_rows(folder / "table2.csv") == TABLE2


def script(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


def test_the_command_makes_and_checks_the_page(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    assert script("--docs", docs, "--check").returncode == 0  # neither results nor a page
    assert "is not there" in script("--docs", docs).stderr
    run = write(tmp_path / "run", table2=TABLE2)
    assert script("--docs", docs, "--from", run).returncode == 0
    assert script("--docs", docs, "--check").returncode == 0
    page = docs / "reproduction.md"
    page.write_text(page.read_text(encoding="utf-8").replace("0.820", "0.900"), encoding="utf-8")
    done = script("--docs", docs, "--check")
    assert done.returncode == 1
    assert "make reproduction-page" in done.stderr
    for each in (docs / "reproduction").iterdir():
        each.unlink()
    (docs / "reproduction").rmdir()
    assert "has no CSV files" in script("--docs", docs, "--check").stderr
