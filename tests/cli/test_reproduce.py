"""`confide reproduce` on screen and for machines, in 80 columns."""

import json

import pytest
from rich.cells import cell_len

from commands import names
from confide.cli.text import console
from confide.paper import TABLES, reproduce
from small_reproduction import SMALL, write_coat

pytestmark = pytest.mark.paper


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Reproductions of small sizes, in a folder of their own, with ratings in Coat's form."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(reproduce, "Settings", lambda: SMALL)
    (tmp_path / "coat").mkdir()
    write_coat(tmp_path / "coat", monkeypatch)
    console.cache_clear()  # it keeps the width that it began with
    yield tmp_path
    console.cache_clear()


def test_reproduce_shows_ours_beside_the_papers(small, confide):
    status, out, err = confide("reproduce", "table2", "--seeds", "2", "--jobs", "1")
    assert (status, err) == (0, "")
    assert "Table 2: counterfactual outcomes and effects, 2 seeds" in out
    for what in (
        "paper: 200 test rows",
        "ours:  gradient boosting",
        "why wcp: published",
        "written: reproduction/table2.csv",
    ):
        assert what in out
    lines = [line.split() for line in out.splitlines()]
    wcp = next(line for line in lines if line[:1] == ["wcp"])
    assert len(wcp) == 5
    assert wcp[2] == "0.572±0.039"
    assert wcp[4] == "0.222±0.007"
    assert sum(line[:2] == ["wtcp-dr,", "refits"] for line in lines) == 3
    assert "…" not in out
    assert max(map(cell_len, out.splitlines())) <= 80
    assert names(small / "reproduction") == ["parts", "table2.csv", "times.csv"]
    before = (small / "reproduction" / "table2.csv").read_bytes()
    status, again, _ = confide("reproduce", "table2", "--seeds", "2", "--jobs", "1")
    assert (status, again) == (0, out)
    assert (small / "reproduction" / "table2.csv").read_bytes() == before


def test_reproduce_all(small, confide):
    """Every table, in 80 columns; what is simulated or left out is told."""
    status, out, err = confide("reproduce", "all", "--seeds", "1", "--jobs", "1", "--out", "here")
    assert status == 0
    assert err.startswith("note: coat and coat-splits are left out")
    assert err.count("\n") == 1
    made = [name for name in TABLES if not name.startswith("coat")]
    assert sorted(path.stem for path in (small / "here").glob("*.csv")) == sorted([*made, "times"])
    assert sorted(path.stem for path in (small / "here").glob("*.png")) == ["dimension", "trial-size"]
    assert out.count("SIMULATED ratings, not") == 1
    assert "∞ (100%)" in out
    assert "no claim" in out
    assert max(map(cell_len, out.splitlines())) <= 80
    assert "…" not in out
    status, out, err = confide("reproduce", "all", "--seeds", "1", "--jobs", "1", "--out", "here", "--coat", "coat")
    assert (status, err) == (0, "")
    assert sorted(path.stem for path in (small / "here").glob("*.csv")) == sorted([*TABLES, "times"])
    assert "additive, trial alone" in out
    assert "…" not in out


@pytest.mark.usefixtures("small")
def test_reproduce_for_machines(confide):
    status, out, err = confide("reproduce", "theorem", "--seeds", "2", "--json")
    assert (status, err) == (0, "")
    (table,) = json.loads(out)["tables"]
    assert (table["name"], table["seeds"]) == ("theorem", 2)
    assert [row["verdict"] for row in table["rows"]] == ["no claim", "no claim"]
    status, out, err = confide("reproduce", "coat", "--seeds", "1", "--jobs", "1", "--coat", "coat", "--json")
    (table,) = json.loads(out)["tables"]
    assert table["lines"][0]["paper_width"] == {"mean": 3.787, "sd": 0.045}
    assert table["lines"][0]["width"]["sd"] == "nan"
