"""What the command line shows says what the records hold, whatever labels look like."""

import io
import math
import re
from dataclasses import replace
from statistics import fmean

import pytest
from rich.console import Console

from confide.base.csv_rows import read_rows
from confide.cli.text import (
    after_story,
    answer,
    asked_line,
    closing,
    comparison_notes,
    comparison_tables,
    confounding_lines,
    covariate_line,
    file_lines,
    group_parts,
    story_parts,
)
from confide.compare import Compared
from confide.data.encoding import CategoryColumn, NumberColumn
from confide.datasets.examples import EXAMPLES
from confide.demo import Line, Story
from confide.diagnostics import Coverage
from confide.diagnostics.confounding_test import ConfoundingTest
from confide.effects.averages import AverageEffect
from confide.methods.promise import KEPT_UNDER_CONFOUNDING
from confide.paper.reproduce import reproduced
from confide.paper.screen import reproduction_parts
from confide.paper.theorem import Verdict, limit_probability, paper_deltas
from confide.paper.theorem_cases import CASES, as_row
from pages import ROOT


def shown(*parts, width=120):
    console = Console(file=io.StringIO(), width=width)
    for part in parts:
        console.print(part, highlight=False)
    return console.file.getvalue()


def coverage(label, value, width):
    return Coverage(label, 50, value, value - 0.1, value + 0.05, width, 0.25 if width == float("inf") else 0.0)


FOUND = [
    Compared(
        "naive",
        "≥ 1-α",
        [coverage("[bold]", 0.9, 12.3456), coverage("[/red]", 0.8, float("inf"))],
        {"[bold]": 50.0, "[/red]": 1.14},
    ),
    Compared("wcp", "none", [], {}, "it needs observational rows."),
]


def test_a_comparison_has_a_table_an_arm_and_a_line_a_method():
    first, second = (shown(table) for table in comparison_tables(FOUND, 0.1))
    assert "Treatment [bold]: 90 % intervals on 50 held-out trial rows" in first
    line = next(line for line in first.splitlines() if " naive " in line)
    assert line.split() == ["naive", "0.90", "0.80", "to", "0.95", "12.35", "50"]
    assert "Treatment [/red]" in second
    assert next(line for line in second.splitlines() if " naive " in line).split()[-3:] == ["inf", "25%", "1.1"]
    assert "refuses" in next(line for line in first.splitlines() if " wcp " in line)
    assert comparison_notes(FOUND, "On 30% of the trial's rows")[0] == "wcp refuses: it needs observational rows."


def test_a_reason_that_several_methods_give_is_said_once():
    refusing = [Compared(name, "", [], {}, f"{name} takes no groups.") for name in ("wcp", "wtcp-dr")]
    assert comparison_notes([*FOUND[:1], *refusing], "")[0] == "wcp, wtcp-dr refuse: wcp takes no groups."


def test_coverage_by_group_has_a_line_a_group_and_an_arm():
    arms = [replace(coverage(label, 0.8, 12.3456), group=f"[sex] = {sex}") for label in (0, 1) for sex in "fm"]
    found = Compared("naive", "", arms[:1], {}, by_group=arms)
    (table,) = group_parts(found, 0.1, ["[sex]"])
    text = shown(table, width=80)
    assert "Coverage by [sex]: 90 % intervals of naive on held-out trial rows" in text
    lines = [line.split() for line in text.splitlines() if " = " in line]
    assert [line[2:4] for line in lines] == [["f", "0"], ["m", "0"], ["f", "1"], ["m", "1"]]
    assert lines[0] == ["[sex]", "=", "f", "0", "50", "0.80", "0.70", "to", "0.85", "12.35"]
    (told,) = group_parts(Compared("naive", "", [], {}, "too few rows [of it]."), 0.1, ["sex"])
    assert shown(told) == "Coverage by sex is not shown: too few rows [of it].\n"


def test_a_comparison_fits_a_terminal():
    """No cell is cut or wrapped at 80 columns, however long the names of treatments."""
    arm = coverage("a programme of exercise with a very long name", 0.9, 1234.5)
    compared = Compared("wscp-dr*-calibrated", "", [arm, arm], {arm.treatment: 1234567.8})
    (table,) = comparison_tables([compared], 0.004)[:1]
    text = shown(table, width=80)
    assert "…" not in text
    assert "99.6 % intervals" in " ".join(text.split())
    assert "0.80 to 0.95" in text
    assert "1,234,568" in text


@pytest.mark.parametrize(
    ("p_value", "bias", "words"),
    [
        (0.001, 2.0, "a difference is seen (p = 0.001); observational outcomes less the trial's, estimated: +2."),
        (0.5, -0.25, "no difference is seen (p = 0.5); observational outcomes less the trial's, estimated: -0.25."),
        (float("nan"), float("nan"), "too few rows to tell."),
    ],
)
def test_the_test_in_words(p_value, bias, words):
    lines = confounding_lines([ConfoundingTest("a", 1.0, p_value, bias)])
    assert lines[1] == f"  a: {words}"
    assert any("no evidence of none" in line for line in lines)
    told = [line for line in lines if line.startswith("p: how likely so large a difference")]
    assert len(told) == (not math.isnan(p_value))
    assert all("fewer than 1,000 rows of a table" in line and "never below 0.001." in line for line in told)


AVERAGE = AverageEffect(
    *("everybody", 1, 0, 400, 12.0, 2.0, 22.0, 9.0, -4.0, 22.5, {1: 200, 0: 200}, None, 0.05, None),
)


def story(widths, coverage=(0.78, 0.9)):
    lines = [Line(name, KEPT_UNDER_CONFOUNDING, list(coverage), list(width)) for name, width in widths.items()]
    return Story(6, 1234, 400, 1000, 58.2, 11.4, lines, AVERAGE, 0.75)


def test_the_story_has_its_numbers():
    told = story({"observational alone": (90, 95), "trial alone": (120.0, 100.0), "with both": (108.4, 99.0)})
    text = shown(*story_parts(EXAMPLES["star"], told), width=80)
    row = next(line for line in text.splitlines() if "with both" in line)
    assert row.split()[2:] == ["78%", "108", "90%", "99", "≥", "90", "%"]
    for what in ("1,234", "400", "1,000", "58 points", "it is 11", "6 draws"):
        assert what in text
    assert text.index("Do small classes help") < text.index("With both tables an interval of") < text.index("1,234")


def test_the_story_says_what_its_numbers_say():
    lines = {"observational": (90, 95), "split": (150.0, 160.0), "ridge": (120.0, 100.0)}
    gained, lost = (story({**lines, "both": widths}) for widths in ((109.0, 100.0), (120.0, 101.0)))
    told = answer(EXAMPLES["star"], gained)
    assert "an interval of 104 points holds the score of 84.0% of pupils (90% are promised)" in told
    assert "the trial alone needs 110, by the better of two methods. So intervals are 5% narrower than from the" in told
    assert "small class instead of regular class changes the score by +12 points (95% interval 2 to 22;" in told
    assert "intervals are not narrower than from the trial alone. On average" in answer(EXAMPLES["star"], lost)
    assert "alone is right for 78% to 90%" in closing(gained)
    assert "average effect are 25% narrower than those of the trial's plain difference of means;" in closing(gained)


def test_the_demonstration_says_what_the_picture_says():
    """From the numbers of README's picture, whose draws are those of the demonstration."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    said = {name: answer(example, pictured(name)) for name, example in EXAMPLES.items()}
    gain = re.search(r"intervals are (\d+)% narrower", said["training"])[1]
    assert f"{gain} % narrower (±" in readme
    for name, people in (("training", "people"), ("star", "pupils")):
        share = re.search(rf"holds the score of ([\d.]+)% of {people}", said[name])[1]
        assert f"{share} % of {people}" in readme


def pictured(name):
    """Return the story of the picture's numbers: means over its draws."""
    rows = [
        row for row in read_rows(ROOT / "docs" / "pictures" / "demo.csv") if (row["data"], row["seed"]) == (name, 0)
    ]
    lines = []
    for way in dict.fromkeys(row["way"] for row in rows):
        arms = [[row for row in rows if (row["way"], row["treatment"]) == (way, arm)] for arm in (0, 1)]
        means = ([fmean(row[number] for row in arm) for arm in arms] for number in ("coverage", "width"))
        lines.append(Line(way, KEPT_UNDER_CONFOUNDING, *means))
    return replace(story({}), lines=lines)


def test_the_level_in_force_is_told_where_gamma_makes_it_another():
    assert asked_line(0.1, "both", 1.0) == "Asked for: intervals that hold 90 % of outcomes."
    told = "Asked for: bounds that hold 90 % of outcomes, computed at level 0.1/1.3 = 0.0769."
    assert asked_line(0.1, "lower", 1.3) == told
    first, _ = (shown(table) for table in comparison_tables(FOUND, 0.1, 1.3))
    words = "Treatment [bold]: 90 % intervals, computed at level 0.1/1.3 = 0.0769, on 50 held-out trial rows"
    assert words in " ".join(first.split())


def test_which_columns_are_covariates():
    columns = [
        NumberColumn("age", "numbers"),
        CategoryColumn("town", ("a",), marked=False),
        NumberColumn("bp", "numbers"),
    ]
    assert covariate_line(columns) == "Covariates: age, bp (numbers); town (categories)."


def test_what_to_type_next():
    look, files, run, _, other = after_story("page.html", "star", EXAMPLES["star"]).splitlines()
    assert look.startswith("  page.html, in a browser")
    assert files == "  confide demo --files star --data star"
    assert run.startswith("  confide run --observational star/observational.csv")
    assert other == "  confide demo --data training"
    assert "  confide demo --files training\n" in after_story("page.html", "training", EXAMPLES["training"])
    written = {f"my/pupils/{name}.csv": count for name, count in (("observational", 1234), ("trial", 400), ("new", 9))}
    lines = file_lines(written, EXAMPLES["star"]).splitlines()
    assert lines[0] == "my/pupils/observational.csv: 1,234 pupils picked by their scores"
    assert lines[2] == "my/pupils/new.csv: 9 pupils to answer for"
    assert lines[-2].startswith("  confide run --observational my/pupils/observational.csv")


def synthetic_row(method, target, **figures):
    known = {"d": 1, "m": 250, "ratio": "", "seed": 0, "tested": 9, "infinite": 0.0, "edge": 0.0}
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
    assert text.startswith("Yahoo! R3 ratings (simulated)")
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
