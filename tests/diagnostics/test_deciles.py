"""Coverage by decile: each part's record is that of its rows, whatever the values are."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from confide import CounterfactualIntervals, PopulationWarning, Study
from confide.diagnostics import coverage_by_decile, coverage_report
from confide.diagnostics.coverage import clopper_pearson
from confide.diagnostics.deciles import _places
from confide.exceptions import InfiniteIntervalWarning

LABELS = np.array(["placebo", "drug A", "drug B"])


def people(rows, seed):
    """Return people of three arms, one of which was given less often to the old; the old vary more."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.normal(size=rows), "sex": rng.choice(["f", "m"], rows)})
    chance = np.where(table.age > 0, 0.2, 0.4)
    arm = np.where(rng.random(rows) < chance, 0, rng.integers(1, 3, size=rows))
    y = 2 * table.age + arm + np.exp(table.age) * rng.normal(size=rows)
    return table, y.to_numpy(), LABELS[arm], np.where(arm == 0, chance, (1 - chance) / 2)


TABLE, Y, GIVEN, CHANCE = people(400, 1)


def fitted(*, assigned=False, **params):
    table, y, given, chance = people(700, 0)
    study = Study(table, y, given, np.arange(700) >= 400, assignment=chance if assigned else None)
    settings = {"method": "transfer", "base": Ridge(), "alpha": 0.2, "random_state": 0, "control": "placebo"}
    return CounterfactualIntervals(**{**settings, **params}).fit(study)


@pytest.fixture(scope="module")
def model():
    return fitted(groups="sex")


@pytest.mark.filterwarnings("ignore::confide.exceptions.PopulationWarning")  # some of the rows are unlike all
@pytest.mark.parametrize("of", ["prediction", "width"])
def test_a_part_s_record_is_that_of_its_rows(model, of):
    found = coverage_by_decile(model, TABLE, Y, GIVEN, of, parts=4)
    values = model.predict(TABLE, GIVEN) if of == "prediction" else model.predict_set(TABLE, GIVEN).measure
    assert [each.coverage.treatment for each in found if each.part == 1] == list(model.arms_)
    assert sum(each.coverage.n for each in found) == 400
    for each in found:
        label = each.coverage.treatment
        rows = (label == GIVEN) & (values >= each.least) & (values <= each.most)
        (alone,) = coverage_report(model, TABLE[rows], Y[rows], label)
        got = each.coverage
        assert (got.n, got.coverage, got.low, got.high) == (rows.sum(), alone.coverage, alone.low, alone.high)
        assert got.width == pytest.approx(alone.width)
        assert (each.of, each.parts) == (of, 4)
        assert (each.least, each.most) == (values[rows].min(), values[rows].max())


def test_deciles_are_of_equal_size_in_order_and_apart(model):
    found = coverage_by_decile(model, TABLE, Y, GIVEN)
    for label in model.arms_:
        mine = [each for each in found if each.coverage.treatment == label]
        assert [each.part for each in mine] == list(range(1, 11))
        sizes = [each.coverage.n for each in mine]
        assert max(sizes) - min(sizes) <= 1
        assert all(one.most < other.least for one, other in pairwise(mine))


def test_one_part_is_the_report(model):
    parts = coverage_by_decile(model, TABLE, Y, GIVEN, parts=1)
    assert [each.coverage for each in parts] == coverage_report(model, TABLE, Y, GIVEN)


def test_the_decile_where_too_few_are_covered_is_told(model):
    """The old vary more, and their intervals are as wide as those of the young."""
    found = [each.coverage for each in coverage_by_decile(model, TABLE, Y, GIVEN, parts=5)]
    for label in model.arms_:
        first, *_, last = (each for each in found if each.treatment == label)
        assert first.low > 0.8 > last.high


@pytest.mark.parametrize(
    ("values", "parts", "places"),
    [
        ([5, 1, 4, 2, 3], 5, [4, 0, 3, 1, 2]),
        ([3, 1, 2, 4, 5, 6, 7], 2, [0, 0, 0, 0, 1, 1, 1]),
        ([1, 1, 1, 2, 3], 5, [0, 0, 0, 3, 4]),
        ([2, 2, 2], 10, [0, 0, 0]),
        ([1, np.inf, np.inf, 2], 2, [0, 1, 1, 0]),
        ([np.inf, 1, np.inf, np.inf], 4, [1, 0, 1, 1]),
        ([7.0, 8.0], 10, [0, 5]),
        ([7.0], 3, [0]),
        ([7.0, 7.0 + 1e-12, 7.0 - 1e-12, 8.0], 4, [0, 0, 0, 3]),
    ],
)
def test_places_by_hand(values, parts, places):
    assert _places(np.array(values, dtype=float), parts, 1e-9).tolist() == places


def test_exact_intervals_hold_though_the_rows_of_a_part_are_covered_with_different_probabilities():
    """The number of covered rows has its exact distribution, and the mean of the probabilities is to be contained."""
    rng = np.random.default_rng(0)
    for rows in (3, 12, 25):
        low, high = np.array([clopper_pearson(covered, rows) for covered in range(rows + 1)]).T
        for _ in range(100):
            chances = rng.beta(*rng.choice([0.3, 1, 5, 20], size=2), size=rows)
            distribution = np.ones(1)
            for chance in chances:
                distribution = np.convolve(distribution, [1 - chance, chance])
            inside = (low <= chances.mean()) & (chances.mean() <= high)
            assert distribution[inside].sum() >= 0.95


def test_equal_values_are_together():
    """One offset for all rows: widths differ by rounding alone."""
    (only,) = coverage_by_decile(fitted(), TABLE, Y, "drug A", "width")
    assert (only.part, only.parts, only.coverage.n) == (1, 10, 400)
    assert only.least == pytest.approx(only.most)


def test_infinite_sets_are_the_last_part():
    model = fitted(groups="sex")
    strange = TABLE.assign(sex=np.where(np.arange(400) % 4 == 0, "x", TABLE.sex))
    # The strange group is an unknown category too.
    with pytest.warns(InfiniteIntervalWarning) as said, pytest.warns(PopulationWarning, match="sex = 'x'"):
        *_, last = coverage_by_decile(model, strange, Y, "drug A", "width", parts=4)
    assert (last.most, last.coverage.infinite, last.coverage.coverage) == (np.inf, 1, 1)
    assert last.coverage.n == 100
    assert len(said) == 1


def test_known_probabilities_are_used():
    model = fitted(assigned=True)
    known = coverage_by_decile(model, TABLE, Y, GIVEN, parts=1, assignment=CHANCE)
    assert [each.coverage for each in known] == coverage_report(model, TABLE, Y, GIVEN, assignment=CHANCE)
    assert known != coverage_by_decile(model, TABLE, Y, GIVEN, parts=1)


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_one_sided_sets_go_by_prediction_and_have_no_width(side):
    model = fitted(side=side)
    for each in coverage_by_decile(model, TABLE, Y, GIVEN, parts=3):
        assert np.isfinite(each.coverage.bound)
        assert each.coverage.infinite == 0
    with pytest.raises(ValueError, match=f"sets of side='{side}' have no width: use of='prediction'"):
        coverage_by_decile(model, TABLE, Y, GIVEN, "width")


def test_rows_that_are_unlike_are_said_once(model):
    with pytest.warns(PopulationWarning) as said:
        coverage_by_decile(model, TABLE.assign(age=TABLE.age + 50), Y, GIVEN)
    assert len(said) == 1


def test_what_is_refused(model):
    with pytest.raises(ValueError, match="of must be 'prediction' or 'width', got 'age'"):
        coverage_by_decile(model, TABLE, Y, GIVEN, "age")
    with pytest.raises(ValueError, match="parts must be at least 1, got 0"):
        coverage_by_decile(model, TABLE, Y, GIVEN, parts=0)
    with pytest.raises(ValueError, match="there are no test rows"):
        coverage_by_decile(model, TABLE[:0], [], "drug A")
    with pytest.raises(NotFittedError):
        coverage_by_decile(CounterfactualIntervals(), TABLE, Y, GIVEN)
