"""Coverage by group, with known probabilities, and of bounds with one end."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from confide import CounterfactualIntervals, Study
from confide.diagnostics import coverage_by_alpha, coverage_report
from confide.exceptions import InfiniteIntervalWarning

# Some of the rows alone are unlike all of them.
pytestmark = pytest.mark.filterwarnings("ignore::confide.exceptions.PopulationWarning")


def people(rows, seed):
    """Return people with covariates, treatments by a lot that favoured some, and outcomes."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.normal(size=rows), "sex": rng.choice(["f", "m"], rows), "old": rng.random(rows)})
    table["old"] = table.old > 0.5
    chance = np.where(table.age > 0, 0.7, 0.3)
    treated = (rng.random(rows) < chance).astype(int)
    y = table.age + treated + np.where(table.sex == "m", 3.0, 1.0) * rng.normal(size=rows)
    return table, y.to_numpy(), treated, np.where(treated == 1, chance, 1 - chance)


def fitted(*, assigned=False, **params):
    table, y, treated, chance = people(300, 0)
    trial = np.arange(300) >= 100
    study = Study(table, y, treated, trial, assignment=chance if assigned else None)
    return CounterfactualIntervals("transfer", base=Ridge(), alpha=0.2, random_state=0, **params).fit(study)


TABLE, Y, TREATED, CHANCE = people(200, 1)


def test_a_group_s_record_is_that_of_its_rows():
    model = fitted(groups="sex")
    found = coverage_report(model, TABLE, Y, TREATED, by="sex")
    pairs = [(0, "sex = f"), (0, "sex = m"), (1, "sex = f"), (1, "sex = m")]
    assert [(each.treatment, each.group) for each in found] == pairs
    for each, (label, group) in zip(found, pairs, strict=True):
        rows = (label == TREATED) & (TABLE.sex == group[-1]).to_numpy()
        (alone,) = coverage_report(model, TABLE[rows], Y[rows], label)
        assert alone.group == ""
        assert (each.n, each.coverage, each.low, each.high) == (rows.sum(), alone.coverage, alone.low, alone.high)
        assert each.width == pytest.approx(alone.width)
    for label in (0, 1):  # ranked among their own, the group that varies more has wider intervals
        women, men = (each.width for each in found if each.treatment == label)
        assert men > 2 * women


def test_columns_are_crossed_and_empty_groups_left_out():
    rows = ((TABLE.sex == "f") | TABLE.old).to_numpy()
    found = coverage_report(fitted(), TABLE[rows], Y[rows], TREATED[rows], by=["sex", "old"])
    names = ["sex = f, old = no", "sex = f, old = yes", "sex = m, old = yes"]
    assert [each.group for each in found] == names * 2
    assert sum(each.n for each in found) == rows.sum()


def test_columns_of_an_array_by_position():
    X = np.column_stack([TABLE.age, TABLE.sex == "m"]).astype(float)
    study = Study(X, Y, TREATED, np.arange(200) >= 50)
    model = CounterfactualIntervals("transfer", base=Ridge(), random_state=0).fit(study)
    found = coverage_report(model, X, Y, TREATED, by=1)
    assert [each.group for each in found] == ["x1 = 0", "x1 = 1"] * 2


@pytest.mark.parametrize(
    ("by", "said"), [("sxe", "covariates, got 'sxe'; did you mean sex"), ("age", "at most 20 are")]
)
def test_columns_that_make_no_groups(by, said):
    with pytest.raises(ValueError, match=said):
        coverage_report(fitted(), TABLE, Y, TREATED, by=by)


def test_known_probabilities_are_used():
    model = fitted(assigned=True)
    blind = coverage_report(model, TABLE, Y, TREATED)
    known = coverage_report(model, TABLE, Y, TREATED, assignment=CHANCE)
    for label in (0, 1):
        rows = label == TREATED
        intervals = model.predict_interval(TABLE[rows], label, assignment=CHANCE[rows])
        assert known[label].width == pytest.approx(intervals.width.mean())
        assert known[label].coverage == intervals.contains(Y[rows]).mean()
        assert known[label].width <= blind[label].width
    assert known != blind


def test_known_probabilities_are_used_at_every_level():
    model = fitted(assigned=True)
    known = coverage_by_alpha(model, TABLE, Y, TREATED, [0.2, 0.1], assignment=CHANCE)
    for alpha, found in known.items():
        assert found == coverage_report(model.with_alpha(alpha), TABLE, Y, TREATED, assignment=CHANCE)
    blind = coverage_by_alpha(model, TABLE, Y, TREATED, [0.2, 0.1])
    assert all(known[alpha] != blind[alpha] for alpha in known)


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_bounds_have_a_mean_end_and_no_width(side):
    model = fitted(side=side)
    for each in coverage_report(model, TABLE, Y, TREATED, by="sex"):
        rows = (each.treatment == TREATED) & (TABLE.sex == each.group[-1]).to_numpy()
        ends = getattr(model.predict_interval(TABLE[rows], each.treatment), side)
        assert each.bound == pytest.approx(ends.mean())
        assert (each.width, each.infinite) == (np.inf, 0)
    assert all(each.bound is None for each in coverage_report(fitted(), TABLE, Y, TREATED))


def test_a_group_without_trial_rows_is_covered_and_infinite():
    strange = TABLE.assign(sex="x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", InfiniteIntervalWarning)
        with pytest.raises(InfiniteIntervalWarning, match="200 of 200 rows belong to groups of sex"):
            coverage_report(fitted(groups="sex"), strange, Y, TREATED, by="sex")
        warnings.simplefilter("ignore", InfiniteIntervalWarning)
        for each in coverage_report(fitted(groups="sex"), strange, Y, TREATED, by="sex"):
            assert (each.group, each.coverage, each.infinite) == ("sex = x", 1, 1)
