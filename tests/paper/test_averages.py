"""Sums over seeds: derived from the rows, whatever they are."""

import math

import pytest

from confide.paper.averages import Spread, lines, shown, shown_coverage, shown_width, standard_error
from confide.paper.reproduce import reproduced
from confide.paper.verdicts import below, reaches
from paper_rows import TABLE2, rated, rows

pytestmark = pytest.mark.paper


def test_a_line_is_the_mean_over_seeds_beside_the_papers():
    line = next(line for line in lines("table2", TABLE2) if (line.method, line.target) == ("wcp", "Y(0)"))
    assert (line.coverage.mean, line.coverage.sd) == (pytest.approx(0.82), pytest.approx(0.001))
    assert line.paper_coverage == Spread(0.572, 0.039)
    assert line.differs
    assert shown(line.coverage) == "0.820±0.001"


def test_a_form_stands_after_its_method():
    names = list(dict.fromkeys(line.method for line in lines("table2", TABLE2)))
    assert names.index("wtcp-dr, refits") == names.index("wtcp-dr") + 1


def test_equal_figures_do_not_differ():
    same = rows("wcp", 0.572, 0.222, targets=["Y(0)"])
    assert not lines("table2", same)[0].differs
    assert not lines("table2", rows("transfer", 0.1, 9.0))[0].differs


def test_infinite_widths_are_not_averaged_away():
    some = rows("naive", 0.95, 0.5, infinite=0.25, targets=["Y(0)"])
    assert shown_width(lines("trial-size", some)[0]) == "∞ (25%; else 0.500±0.000)"
    every = rows("naive", 1.0, math.inf, infinite=1.0, targets=["Y(0)"])
    assert shown_width(lines("trial-size", every)[0]) == "∞ (100%)"


def test_sets_that_the_search_bounds_are_told():
    bounded = [{**row, "edge": 0.25} for row in rows("wtcp-dr", 1.0, 2.0, m=10)]
    (note,) = reproduced("trial-size", [*bounded, *rows("wtcp-dr", 0.9, 1.0, m=50)]).notes
    assert note.startswith("wtcp-dr: 0% to 25% of the intervals for an outcome end where the search")


def test_a_method_that_refuses_is_told():
    refused = [
        {**row, "coverage": math.nan, "width": math.nan, "infinite": math.nan, "tested": 0}
        for row in rows("naive", 1, 1)
    ]
    assert {shown_coverage(line) for line in lines("trial-size", refused)} == {"refuses"}
    mixed = [refused[0], *rows("naive", 0.9, 0.5, targets=["Y(0)"])[1:]]
    assert shown_coverage(lines("trial-size", mixed)[0]).endswith("(1 refused)")


def test_splits_of_the_same_rows_are_less_certain():
    """Two repetitions that differ a little: beyond noise if each has rows of its own, within it if they share them."""
    mine = rated("wscp-dr-exact", 0.899, 3.0, 3.0)
    for seed, row in enumerate(mine):
        row["coverage"] -= 1e-4 * seed
    simulated, shared = (lines("yahoo", [{**row, "data": data} for row in mine])[0] for data in ("simulated", "Coat"))
    assert (simulated.resplit, shared.resplit) == (0.0, 9 / 20)
    assert reaches(simulated) is False
    assert below([-1.0, -1.1], 0.0) is True
    assert below([-1.0, -1.1], 100.0) is None
    assert standard_error(1.0, 2, 0.45) == pytest.approx(0.95**0.5)
