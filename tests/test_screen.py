"""What the command line shows says what the records hold, whatever labels look like."""

import io

import pytest
from rich.console import Console

from confide.confounding import ConfoundingTest
from confide.diagnostics import Coverage
from confide.experiments.held_out import Compared
from confide.experiments.reproduction.reproduce import reproduced
from confide.experiments.story import Line, Story
from confide.experiments.theorem import Verdict, limit_probability, paper_deltas
from confide.experiments.theorem_study import CASES, as_row
from confide.screen import (
    comparison_notes,
    comparison_table,
    confounding_lines,
    next_commands,
    reproduction_parts,
    story_parts,
)


def shown(*parts, width=120):
    console = Console(file=io.StringIO(), width=width)
    for part in parts:
        console.print(part, highlight=False)
    return console.file.getvalue()


def coverage(label, value, width):
    return Coverage(label, 50, value, value - 0.1, value + 0.05, width, 0.0)


FOUND = [
    Compared("naive", "≥ 1-α", [coverage("[bold]", 0.9, 12.3456), coverage("[/red]", 0.8, float("inf"))]),
    Compared("wcp", "none", [], "it needs observational rows."),
]


def test_a_comparison_has_a_line_a_method():
    text = shown(comparison_table(FOUND, 0.1))
    assert "90% intervals" in text
    assert "[bold] (n = 50)" in text
    assert "[/red] (n = 50)" in text
    line = next(line for line in text.splitlines() if " naive " in line)
    assert line.split() == ["naive", "0.90", "[0.80,", "0.95]", "12.35", "0.80", "[0.70,", "0.85]", "inf"]
    assert "refuses" in next(line for line in text.splitlines() if " wcp " in line)
    assert comparison_notes(FOUND)[0] == "wcp refuses: it needs observational rows."


def test_a_comparison_fits_a_terminal():
    """No cell is cut or wrapped at 80 columns."""
    text = shown(comparison_table(FOUND, 0.1), width=80)
    assert "…" not in text
    assert "0.90 [0.80, 0.95]" in text


@pytest.mark.parametrize(
    ("p_value", "bias", "words"),
    [
        (0.001, 2.0, "they do (p = 0.001); observational outcomes are 2 higher"),
        (0.5, -0.25, "not seen (p = 0.5); observational outcomes are 0.25 lower"),
        (float("nan"), float("nan"), "too few rows to tell"),
    ],
)
def test_the_test_in_words(p_value, bias, words):
    lines = confounding_lines([ConfoundingTest("a", 1.0, p_value, bias)])
    assert f"treatment a: {words}" in lines[1]
    assert any("no evidence of none" in line for line in lines)


def test_the_story_has_its_numbers():
    arms = [coverage(0, 0.78, 108.4), coverage(1, 0.5, 20.0)]
    line = Line("confide, with both", "≥ 1-α, whatever the confounding", arms)
    text = shown(*story_parts(Story(1234, 400, 1000, 58.2, 11.4, [line])), width=80)
    row = next(line for line in text.splitlines() if "with both" in line)
    assert row.split()[3:] == ["78%", "108", "50%", "20", "≥", "90%"]
    for what in ("1,234", "400", "1,000", "58 points", "it is 11"):
        assert what in text


def test_what_to_type_next():
    assert next_commands(None).splitlines()[0] == "  confide demo --files star"
    assert next_commands("pupils/").startswith("  confide run --observational pupils/observational.csv")


def synthetic_row(method, target, **figures):
    known = {"d": 1, "m": 250, "ratio": "", "seed": 0, "tested": 9, "infinite": 0.0, "whole": 0.0}
    return {**known, "method": method, "target": target, "coverage": 0.9, "width": 0.5, **figures}


def test_a_reproduced_table_has_the_papers_figures_beside_ours():
    rows = [
        *(synthetic_row("wcp", "Y(0)", coverage=coverage, seed=seed) for seed, coverage in enumerate([0.8, 0.82])),
        synthetic_row("wscp-dr-calibrated", "Y(0)", width=float("inf"), infinite=1.0),
        synthetic_row("wcp", "ITE", width=0.9),
    ]
    text = shown(*reproduction_parts(reproduced("table2", rows)), width=80)
    cells = [line.split() for line in text.splitlines()]
    assert ["wcp", "0.810±0.014", "0.572±0.039", "0.500±0.000", "0.222±0.007"] in cells
    assert ["wscp-dr-calibrated", "0.900", "∞", "100%"] in cells
    assert ["wcp", "0.900", "0.710±0.027", "0.900", "0.449±0.012"] in cells
    for what in ("paper: 200 test rows", "ours:  gradient boosting", "why wcp: published: three quarters"):
        assert what in text


def test_simulated_ratings_say_so_in_the_title():
    known = {"data": "simulated", "fit": 9, "calibration": 9, "target": "rating", "seed": 0, "tested": 9}
    figures = {"coverage": 0.9, "width": 3.5, "infinite": 0.0, "clipped": 3.0, "ratings": 3.25}
    text = shown(*reproduction_parts(reproduced("yahoo", [{**known, "method": "naive", **figures}])), width=300)
    assert text.startswith("Yahoo! R3 ratings: SIMULATED ratings, not Yahoo! R3")
    cells = [line.split() for line in text.splitlines()]
    assert ["naive", "0.900", "0.899±0.001", "3.500", "6.047±0.001"] in cells
    assert ["naive", "3.00", "3.25"] in cells


def test_theorem_1_fits_a_terminal():
    rows = [as_row(Verdict(case, paper_deltas(case), limit_probability(case), n, 50, 5)) for case, n in CASES]
    text = shown(*reproduction_parts(reproduced("theorem", rows)), width=80)
    assert "…" not in text
    cells = [line.split() for line in text.splitlines()]
    assert ["10,000", "250", "1", "0.5", "0.1", "none", "0.134", "0.100", "no", "claim"] in cells
    assert sum("refuted" in line for line in cells) == 4
