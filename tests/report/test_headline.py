"""The question and the answer in words."""

from dataclasses import replace

import pytest

from confide.effects.averages import AverageEffect
from confide.effects.wording import decimals_of, plain
from confide.predict.batches import Answered
from confide.report.findings import Findings
from confide.report.headline import answers, question, sides, spans
from confide.report.words import Words
from report_pages import fitted


def average(effect, low, high, **more):
    facts = {"unadjusted": effect, "unadjusted_low": 2 * low - high, "unadjusted_high": 2 * high - low} | more
    return AverageEffect(
        "everybody",
        1,
        0,
        100,
        effect,
        low,
        high,
        rows={1: 50, 0: 50},
        clusters=None,
        alpha=0.05,
        **{"number_needed_to_treat": None, **facts},
    )


def counted(above=3, below=5, neither=2):
    return Answered(10, 0, 0, {("1", "0"): {"above": above, "below": below, "neither": neither}})


def findings(*records, **more):
    return Findings([(1, 0)], {(1, 0): list(records)}, **more)


@pytest.mark.parametrize(
    ("effect", "lower_is_better", "verdict", "tone"),
    [
        (2.0, False, "yes, on average higher, which is better", "better"),
        (2.0, True, "yes, on average higher, which is worse", "worse"),
        (-2.0, True, "yes, on average lower, which is better", "better"),
        (-2.0, False, "yes, on average lower, which is worse", "worse"),
        (2.0, None, "on average higher by 2.00", "known"),
        (-2.0, None, "on average lower by 2.00", "known"),
        (0.1, None, "not clear on average", "open"),
    ],
)
def test_the_verdict(effect, lower_is_better, verdict, tone):
    words = Words("days", lower_is_better=lower_is_better)
    (found,) = answers(counted(), findings(average(effect, effect - 0.5, effect + 0.5)), words, refuted=False)
    assert (found.verdict, found.tone) == (verdict, tone)
    assert any("was not told whether higher or lower is better" in each for each in found.more) == (tone == "known")


@pytest.mark.parametrize(
    ("effect", "lower_is_better", "verdict", "tone"),
    [
        (2.0, False, "in doubt: on average higher, which would be better", "doubted"),
        (-2.0, False, "in doubt: on average lower, which would be worse", "doubted"),
        (-2.0, None, "in doubt: on average lower by 2.00", "doubted"),
        (0.1, False, "not clear on average", "open"),
    ],
)
def test_the_verdict_of_a_trial_whose_lot_is_refuted(effect, lower_is_better, verdict, tone):
    words = Words("days", lower_is_better=lower_is_better)
    (found,) = answers(counted(), findings(average(effect, effect - 0.5, effect + 0.5)), words, refuted=True)
    assert (found.verdict, found.tone) == (verdict, tone)


def test_the_sentences_have_names_units_and_what_the_table_adds():
    words = Words("days in hospital", "days", {"1": "the drug", "0": "placebo"}, lower_is_better=True)
    record = average(-2.365, -2.9075, -1.8226)
    (found,) = answers(counted(), findings(record), words, refuted=False)
    assert found.text == (
        "On average, the drug instead of placebo lowers days in hospital by 2.37 days (95 % interval 1.82 to 2.91) "
        "among people like the trial's."
    )
    (more,) = found.more
    assert more == (
        "Adjusting by the large table makes the interval 67 % narrower than that of the trial's plain difference of "
        "means, −4.0 to −0.7 days, and biases it at most by a part of order 1/n, n the trial's rows. Adjusting for "
        "covariates within the trial alone often does so nearly as much."
    )
    assert question(findings(record), words) == (
        "Does the drug instead of placebo change days in hospital for people like these?"
    )


def test_risks_are_told_in_percentage_points_with_the_number_needed_to_treat():
    record = average(-0.1, -0.15, -0.05, number_needed_to_treat=(10.0, 6.667, 20.0))
    (found,) = answers(counted(), findings(record, binary=True), Words("readmission"), refuted=False)
    assert "lowers the risk of readmission by 10.0 percentage points (95 % interval 5.0 to 15.0)" in found.text
    assert found.verdict == "on average lower by 10.0 percentage points"
    assert found.more[0] == "This page was not told whether higher or lower is better for the risk of readmission."
    assert found.more[1] == "One fewer readmission for every 10 people treated (6.67 to 20)."


def test_too_few_rows_are_said_to_be_so():
    inf = float("inf")
    record = average(1.0, -inf, inf, unadjusted_low=-inf, unadjusted_high=inf)
    (found,) = answers(counted(), findings(record), Words("days"), refuted=False)
    assert (found.tone, found.more) == ("open", [])
    assert found.text == "The trial has too few rows to tell the average effect of 1 on days."
    assert spans(record) == {"text": "too few rows", "alone": "too few rows"}


@pytest.mark.parametrize(
    ("people", "group", "refuted", "said"),
    [
        ((0, 0, 10), (-3.0, -4.0, -2.0), False, True),
        ((0, 1, 9), (-3.0, -4.0, -2.0), False, False),
        ((0, 0, 10), (-3.0, -4.0, 1.0), False, False),
        ((0, 0, 10), (-3.0, -4.0, -2.0), True, False),
    ],
    ids=["said", "a person is clear", "no group is", "refuted"],
)
def test_data_that_support_a_choice_by_group_alone(people, group, refuted, said):
    young, old = (replace(average(*ends), group=name) for name, ends in (("young", (0.1, -1, 1.2)), ("old", group)))
    words = Words("days", treatments={"1": "drug", "0": "placebo"}, lower_is_better=True)
    (found,) = answers(counted(*people), findings(average(-1, -2, 1), young, old), words, refuted=refuted)
    told = (
        "No single person’s effect is clear, but the average effect of a group is: old (better under drug). These data "
        "support a choice by group, and not by person."
    )
    assert (found.more[0] == told) == said
    assert any("choice by group" in each for each in found.more) == said


def test_groups_on_both_sides_are_named_with_what_is_better():
    records = [average(0.1, -1, 1.2), *(replace(average(x, x - 1, x + 1), group=f"g{x}") for x in (-3, 3))]
    (found,) = answers(counted(0, 0, 10), findings(*records), Words("days"), refuted=False)
    assert "the average effect of some groups is: g-3 (lower under 1); g3 (higher under 1)." in found.more[0]


@pytest.mark.parametrize(("lower_is_better", "better"), [(None, 3), (False, 3), (True, 5)])
def test_who_is_better_depends_on_what_is_good(lower_is_better, better):
    (side,) = sides(counted(), findings(), Words(lower_is_better=lower_is_better))
    assert (side.better, side.worse, side.open, side.certain) == (better, 8 - better, 2, 8)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234567.8, "1,234,568"), (0.0123456, "0.0123"), (-2.5, "-2.5"), (3e-9, "3e-09"), (float("inf"), "∞")],
)
def test_numbers_are_plain(value, text):
    assert plain(value) == text


@pytest.mark.parametrize(("ends", "decimals"), [((1.0, 2.0), 2), ((-30, 30), 0), ((0.0, 0.0), None), ((0, 0.02), 3)])
def test_decimals_follow_the_width(ends, decimals):
    assert decimals_of(*ends) == decimals


def test_what_rounds_to_nothing_has_no_sign():
    assert plain(-0.001, decimals=1) == "0.0"


def test_names_are_checked():
    model = fitted()
    with pytest.raises(ValueError, match="a name is given to treatment 'drg', which is unknown; did you mean drug"):
        Words(treatments={"drg": "the drug"}).check(model)
    with pytest.raises(ValueError, match="two treatments would be called 'placebo'"):
        Words(treatments={"drug": "placebo"}).check(model)
