"""Covariate balance: exact on small cases, the same in any order and unit, small where treatment was randomised."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from confide import Study, stack
from confide.diagnostics import Balance, balance
from confide.diagnostics.covariate_balance import CUSTOMARY, LEVELS

ARMS, TABLES, NEW = "trial: 1 against 0", "trial against observational", "new rows against trial"


def trial_of(table, treatment, **more):
    """A study of a trial alone, of these covariates."""
    n = len(treatment)
    return Study(table, np.zeros(n), treatment, np.ones(n, dtype=bool), **more)


def smds(found, comparison, *, weighted=False):
    name = "smd_weighted" if weighted else "smd"
    return {each.covariate: getattr(each, name) for each in found if each.comparison == comparison}


def one(values, treatment, **more):
    """The difference of one column between two arms."""
    (found,) = balance(trial_of(np.array(values, dtype=float)[:, None], treatment, **more))
    return found


def test_the_difference_by_hand():
    """Means 2 and 5, variances 1 and 7: (5 - 2)/√((1 + 7)/2) = 1.5."""
    found = one([1, 2, 3, 2, 6, 7], [0, 0, 0, 1, 1, 1])
    assert found == Balance("x0", ARMS, pytest.approx(1.5), None, "x0", (3, 3))
    assert found.by_chance == pytest.approx(math.sqrt(2 / 3))


def test_weights_move_the_means_and_not_the_divisor():
    """Arm 0 at 0 and 1 with weights 4 and 4/3: mean 1/4. Arm 1 at 1 and 2 with weights 2 and 2: mean 3/2."""
    found = one([0, 1, 1, 2], [0, 0, 1, 1], assignment=[0.25, 0.75, 0.5, 0.5])
    divisor = math.sqrt(0.5)
    assert found.smd == pytest.approx(1 / divisor)
    assert found.smd_weighted == pytest.approx((3 / 2 - 1 / 4) / divisor)


def test_weights_balance_what_was_stratified():
    """Women are treated with probability 0.8, men with 0.2: by 1/π both arms are half women."""
    sex = ["f"] * 10 + ["m"] * 10
    treatment = [1] * 8 + [0] * 2 + [1] * 2 + [0] * 8
    found = balance(trial_of(pd.DataFrame({"sex": sex}), treatment, assignment=[0.8] * 8 + [0.2] * 4 + [0.8] * 8))
    women, men = found
    assert (women.covariate, men.covariate) == ("sex = f", "sex = m")
    assert women.smd == pytest.approx(0.6 / math.sqrt(0.16 * 10 / 9))
    assert women.smd == pytest.approx(-men.smd)
    assert women.smd_weighted == pytest.approx(0, abs=1e-12)


def test_a_constant_column_is_balanced_and_two_constants_are_infinitely_apart():
    assert one([0.1] * 6, [0, 0, 0, 1, 1, 1]).smd == 0
    assert one([0.1, 0.1, 0.3, 0.3], [0, 0, 1, 1]).smd == math.inf
    assert one([0.3, 0.3, 0.1, 0.1], [0, 0, 1, 1]).smd == -math.inf


def test_an_arm_of_one_row_has_the_spread_of_the_other():
    assert one([1, 2, 3, 4], [0, 0, 0, 1]).smd == pytest.approx(2.0)


def test_missing_values_are_left_out_of_means_and_compared_by_themselves():
    found = balance(trial_of(np.array([[1, 2, 3, 2, 6, 7, np.nan, np.nan]]).T, [0, 0, 0, 1, 1, 1, 1, 1]))
    assert smds(found, ARMS) == {
        "x0": pytest.approx(1.5),
        "x0 is missing": pytest.approx(0.4 / math.sqrt(0.4 * 0.6 * 5 / 4 / 2)),
    }
    assert [each.rows for each in found] == [(5, 3)] * 2


def test_an_arm_without_values_cannot_be_compared_but_by_what_is_missing():
    found = smds(balance(trial_of(np.array([[1, 2, np.nan, np.nan]]).T, [0, 0, 1, 1])), ARMS)
    assert math.isnan(found["x0"])
    assert found["x0 is missing"] == math.inf


def test_missing_categories_are_a_level_of_their_own():
    table = pl.DataFrame({"town": ["a", "b", "b", "b", "a", None, None, "b"]})
    found = smds(balance(trial_of(table, [0] * 4 + [1] * 4)), ARMS)
    assert list(found) == ["town = a", "town = b", "town is missing"]
    assert found["town = a"] == 0
    assert found["town = b"] == pytest.approx(-0.5 / math.sqrt(0.25))
    assert found["town is missing"] == pytest.approx(0.5 / math.sqrt((1 / 4 * 4 / 3) / 2))


def test_rare_levels_and_levels_of_new_rows_alone_are_others():
    levels = [f"level {number:02d}" for number in range(LEVELS + 2) for _ in range(2 + (number < LEVELS))]
    study = trial_of(pd.DataFrame({"site": levels}), np.arange(len(levels)) % 2)
    found = balance(study, pd.DataFrame({"site": ["level 00", "elsewhere"]}))
    assert list(smds(found, ARMS)) == [*(f"site = level {number:02d}" for number in range(LEVELS)), "site = others"]
    share = 4 / len(levels)
    spread = (0.5 + share * (1 - share) * len(levels) / (len(levels) - 1)) / 2
    assert smds(found, NEW)["site = others"] == pytest.approx((0.5 - share) / math.sqrt(spread))
    assert {each.column for each in found} == {"site"}


def test_dates_and_booleans_are_read_as_numbers():
    days = [dt.date(2024, 1, day) for day in (1, 2, 3, 2, 6, 7)]
    smoker = ["true", "false", "false", "true", "true", "false"]
    table = pd.DataFrame({"seen": [str(day) for day in days], "smoker": smoker})
    found = smds(balance(trial_of(table, [0, 0, 0, 1, 1, 1])), ARMS)
    assert found["seen"] == pytest.approx(1.5)
    assert found["smoker"] == pytest.approx((1 / 3) / math.sqrt(1 / 3))


def tables(n, shift=0.0, seed=0):
    """People with a number and a category; the first column is moved by the shift."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": rng.standard_normal(n) + shift,
            "z": rng.exponential(size=n),
            "town": rng.choice(["a", "b", "c"], n),
            "t": rng.integers(0, 2, n),
            "y": rng.standard_normal(n),
        }
    )


def test_every_comparison_has_every_covariate():
    study = stack(tables(300, seed=0), tables(80, seed=1))
    found = balance(study, tables(40, seed=2)[["town", "z", "x"]])
    named = ["x", "z", "town = a", "town = b", "town = c"]
    assert [(each.comparison, each.covariate) for each in found] == [(c, n) for c in (ARMS, TABLES, NEW) for n in named]
    assert all(each.smd_weighted is None for each in found)
    assert {each.comparison: sum(each.rows) for each in found} == {ARMS: 80, TABLES: 380, NEW: 120}


def test_several_arms_are_compared_with_the_control_that_is_named():
    table = tables(90)
    table["t"] = np.repeat(["low", "placebo", "high"], 30)
    study = stack(None, table)
    first = [each.comparison for each in balance(study) if each.covariate == "x"]
    assert first == ["trial: low against high", "trial: placebo against high"]
    named = [each for each in balance(study, control="placebo") if each.covariate == "x"]
    assert [each.comparison for each in named] == ["trial: high against placebo", "trial: low against placebo"]
    turned = next(each for each in balance(study) if each.comparison == "trial: placebo against high")
    assert named[0].smd == pytest.approx(-turned.smd)
    with pytest.raises(ValueError, match="control 'nothing' is not a treatment"):
        balance(study, control="nothing")


def test_arms_without_trial_rows_are_not_compared():
    observational = tables(60)
    observational["t"] = np.arange(60) % 3
    trial = tables(40, seed=1).assign(t=np.arange(40) % 2 + 1)
    found = balance(stack(observational, trial))
    assert list(dict.fromkeys(each.comparison for each in found)) == ["trial: 2 against 1", TABLES]
    assert balance(stack(None, trial.assign(t=1))) == []


def test_rows_may_come_in_any_order_and_columns_in_any_unit():
    study = stack(tables(120, shift=0.3), tables(50, seed=1))
    order = np.random.default_rng(3).permutation(len(study))
    found = balance(study)
    assert [(each.covariate, each.smd) for each in balance(study.take(order))] == [
        (each.covariate, pytest.approx(each.smd)) for each in found
    ]
    for line, sign in ((lambda x: 32 + 1.8 * x, 1), (lambda x: -x / 1000, -1)):
        moved = stack(*(table.assign(x=line(table.x)) for table in (tables(120, shift=0.3), tables(50, seed=1))))
        for after, before in zip(balance(moved), found, strict=True):
            assert after.smd == pytest.approx(before.smd * (sign if before.covariate == "x" else 1))


def test_a_randomised_trial_is_balanced_but_for_chance_and_a_confounded_table_is_not():
    study = stack(tables(4000, shift=0.5), tables(4000, seed=1))
    found = balance(study)
    randomised = np.array(list(smds(found, ARMS).values()))
    chance = found[0].by_chance
    assert chance == pytest.approx(math.sqrt(sum(1 / rows for rows in found[0].rows)))
    assert (np.abs(randomised) < 4 * chance).all()
    assert (np.abs(randomised) < CUSTOMARY).all()
    assert smds(found, TABLES)["x"] == pytest.approx(-0.5, abs=0.1)


def test_by_chance_is_the_standard_deviation_of_randomised_differences():
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(100, 400))
    found = balance(trial_of(X, np.arange(100) % 4 == 0))
    assert np.std([each.smd for each in found]) == pytest.approx(found[0].by_chance, rel=0.15)


def test_weights_bring_the_trial_nearer_to_its_target():
    observational, trial = tables(2000, shift=0.7), tables(500, seed=1)
    asked = tables(1500, shift=-0.6, seed=2)[["x", "z", "town"]]
    for target, comparison in (("observational", TABLES), (asked, "trial against target")):
        found = balance(stack(observational, trial, target=target), asked)
        plain, weighted = (smds(found, comparison, weighted=after)["x"] for after in (False, True))
        assert abs(plain) > 0.5
        assert abs(weighted) < 0.15
        assert [each.smd_weighted for each in found if each.comparison == ARMS] == [None] * 5
        new, new_weighted = (smds(found, NEW, weighted=after)["x"] for after in (False, True))
        assert (abs(new_weighted) < 0.15) == (target is asked)
        assert abs(new) > 0.5
    assert set(smds(found, TABLES, weighted=True).values()) == {None}


def test_a_trial_too_small_to_learn_weights_from_has_none():
    found = balance(stack(tables(100), tables(12, seed=1), target="observational"))
    assert set(smds(found, TABLES, weighted=True).values()) == {None}


@pytest.mark.parametrize(
    ("new", "message"),
    [
        (np.zeros((3, 3)), "the study has named columns: new must be a table too, got ndarray"),
        (pd.DataFrame({"x": [1.0], "z": [1.0]}), "new has no column town"),
        (pd.DataFrame({"x": [], "z": [], "town": []}), "new has no rows"),
        (pd.DataFrame({"x": ["a"], "z": [1.0], "town": ["a"]}), "column 'x' holds numbers, and 'a' is not one of them"),
    ],
)
def test_new_rows_that_do_not_fit_are_refused(new, message):
    with pytest.raises(ValueError, match=message):
        balance(stack(tables(30), tables(20, seed=1)), new)


def test_arrays_are_matched_by_position():
    study = trial_of(np.arange(12.0).reshape(6, 2), [0, 0, 0, 1, 1, 1])
    assert list(smds(balance(study, np.ones((3, 2))), NEW)) == ["x0", "x1"]
    with pytest.raises(ValueError, match="new has 3 columns, and the study has 2"):
        balance(study, np.ones((3, 3)))
