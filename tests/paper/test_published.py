"""The paper's figures: all of them, in one form, and found for the line they belong to."""

import pytest

from confide.paper import rating_tables, synthetic_tables
from confide.paper.published import published, published_figure
from confide.paper.settings import Settings

pytestmark = pytest.mark.paper

ARMS = [f"{metric}_{target}" for target in ("y0", "y1", "ite") for metric in ("coverage", "width")]
NESTED = [f"{metric}_ite_nested_{form}" for form in ("inexact", "exact") for metric in ("coverage", "width")]


def check(lines, methods, figures):
    assert list(lines) == list(methods)
    for line in lines.values():
        assert list(line) == list(figures)
        for name, (mean, deviation) in line.items():
            assert 0 < mean <= (1 if name.startswith("coverage") else 10)
            assert 0 < deviation < 0.3


def test_every_table_is_whole():
    found = published()
    assert list(found) == ["about", "settings", "table2", "ratio", "nested", "recommendation", "mended"]
    check(found["table2"], synthetic_tables.PAPER, ARMS)
    check(found["nested"], [name for name in synthetic_tables.PAPER if name != "wtcp-dr"], NESTED)
    assert list(found["ratio"]) == ["mlp", "densratio"]
    for lines in found["ratio"].values():
        check(lines, synthetic_tables.PAPER[:3], ARMS)
    assert list(found["recommendation"]) == ["yahoo", "coat"]
    for lines in found["recommendation"].values():
        check(lines, rating_tables.PAPER, ["coverage", "width"])


def test_the_default_sizes_are_the_papers():
    paper, ours = published()["settings"], Settings()
    assert (ours.n, ours.m, ours.n_refit) == tuple(paper["synthetic"][key] for key in ("n", "m", "n_test"))
    assert list(ours.dimensions) == paper["dimension_sweep"]
    assert list(ours.trial_sizes) == paper["trial_size_sweep"]
    assert list(ours.coat_shares) == paper["coat_fraction_sweep"]
    for name in ("coat", "yahoo"):
        assert getattr(ours, name) == (paper[name]["m_train"], paper[name]["m_calibration"])
    assert ours.coat_random == sum(paper["coat"][key] for key in ("m_train", "m_calibration", "n_test"))
    share = paper["coat"]["n_calibration"] / (paper["coat"]["n_train"] + paper["coat"]["n_calibration"])
    assert share == pytest.approx(0.2, abs=0.002)


@pytest.mark.parametrize(
    ("line", "figure"),
    [
        (("table2", "", "naive", "Y(1)", "width"), (0.56, 0.049)),
        (("table2", "", "wtcp-dr, refits", "Y(0)", "coverage"), (0.899, 0.028)),
        (("table2", "", "transfer", "Y(0)", "coverage"), None),
        (("ratio", "kernel", "wtcp-dr", "ITE", "width"), (0.735, 0.016)),
        (("ratio", "no ratio", "wcp", "Y(0)", "width"), None),
        (("nested", "exact", "wcp", "ITE", "coverage"), (0.865, 0.027)),
        (("nested", "inexact", "wtcp-dr", "ITE", "coverage"), None),
        (("coat", "", "wscp-dr*-exact", "rating", "width"), (4.571, 0.233)),
        (("yahoo", "", "wcp-nb", "rating", "coverage"), (0.825, 0.002)),
        (("dimension", "d = 1", "naive", "Y(0)", "width"), None),
        (("coat-splits", "m_tr 928, m_cal 928", "naive", "rating", "width"), None),
    ],
)
def test_a_line_finds_its_figure(line, figure):
    assert published_figure(*line) == figure
