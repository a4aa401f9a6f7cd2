"""Whether new rows are called unlike the trial's: seldom if they are like them, always if they are not."""

import functools
import itertools
import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

from confide import CounterfactualIntervals, PopulationWarning, Transfer, stack
from confide.datasets import synthetic
from confide.diagnostics.covariate_shift import ABSURD_LEVEL, ALARM_LEVEL, Look, Population, beyond, farther_out
from helpers import study_arrays
from studies.population import ABSURD, POPULATIONS, absurd_rows, false_alarms

X, Y, TREATMENT, TRIAL = study_arrays(n=400, m=200)
MODEL = CounterfactualIntervals(Transfer(base=LinearRegression()), random_state=0).fit(X, Y, TREATMENT, TRIAL)


def population(X):
    return Population.of(X, [f"x{column}" for column in range(X.shape[1])], seed=0)


def test_the_probability_to_lie_beyond_by_brute_force():
    for new, trial in itertools.product(range(1, 5), range(1, 4)):
        places = list(itertools.combinations(range(new + trial), new))  # which ranks are the new rows'
        for count in range(new + 1):
            top = set(range(new + trial - count, new + trial))
            expected = np.mean([top <= set(chosen) for chosen in places])
            assert beyond(count, new, trial) == pytest.approx(expected)


DRAWS = {
    "normal": POPULATIONS["normal"],
    "the paper's": lambda rng, size: synthetic(size[0], d=size[1], random_state=rng.integers(2**31)).X,
    "rare category": lambda rng, size: (rng.uniform(size=size) < 0.004).astype(float),
    "ratings": lambda rng, size: rng.integers(1, 6, size).astype(float),
    "missing": POPULATIONS["normal, 10 % missing"],
    "mostly zero": POPULATIONS["lognormal, σ = 2, 60 % zeros"],
}


@pytest.mark.parametrize("kind", ["the paper's", "rare category", "ratings"])
def test_rows_of_the_trials_population_are_seldom_called_unlike_it(kind):
    """The decision rule is a binomial test at 1 %, shared by the sizes."""
    rng = np.random.default_rng(0)
    for m, batch, columns in [(250, 1, 5), (250, 5, 5), (40, 30, 3), (250, 200, 5), (250, 3000, 2), (12, 500, 2)]:
        calls = 100
        alarms = sum(
            population(DRAWS[kind](rng, (m, columns))).unlike(DRAWS[kind](rng, (batch, columns))) is not None
            for _ in range(calls)
        )
        assert stats.binom.sf(alarms - 1, calls, ALARM_LEVEL + ABSURD_LEVEL) > 0.01 / 6, (m, batch, columns, alarms)


def assert_seldom(kind, sizes, calls, seed):
    for size in sizes:
        alarms = false_alarms(kind, *size, calls=calls, seed=seed).alarms
        assert stats.binom.sf(alarms - 1, calls, ALARM_LEVEL + ABSURD_LEVEL) > 0.01 / len(sizes), (size, alarms)


@pytest.mark.slow
@pytest.mark.parametrize("kind", POPULATIONS)
def test_false_alarms_in_columns_of_every_kind(kind):
    """Trial rows, new rows, columns: where the tails were once judged by their variance, lognormal columns failed."""
    assert_seldom(kind, [(10, 1, 1), (12, 500, 3), (60, 1, 10), (60, 100, 3)], calls=120, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("kind", POPULATIONS)
def test_false_alarms_at_length(kind):
    sizes = [(10, 1, 1), (10, 10_000, 1), (20, 100, 3), (60, 1, 10), (60, 100, 1), (250, 10_000, 2), (2000, 1, 5)]
    assert_seldom(kind, sizes, calls=3000, seed=2)


@pytest.mark.parametrize(
    ("draw", "exact"),
    [
        (lambda rng, size: 1 / (1 - rng.uniform(size=size)), True),
        (lambda rng, size: (1 - rng.uniform(size=size)) ** -3, True),
        (lambda rng, size: rng.lognormal(0, 2, size), False),
        (lambda rng, size: rng.exponential(size=size), False),
    ],
)
def test_the_bound_is_the_probability_for_power_laws_and_more_for_lighter_tails(draw, exact):
    """70 % of the rows are 0, so that the median is; a new row that is not 0 makes a bound of 0.3 % in 1 % of cases."""
    rng = np.random.default_rng(3)
    repetitions, m, zeros, level = 10_000, 60, 0.7, 0.003
    trials = np.where(rng.uniform(size=(repetitions, m)) < zeros, 0.0, draw(rng, (repetitions, m)))
    new = draw(rng, repetitions)
    alarms = sum(farther_out(trial, value, 1) <= level for trial, value in zip(np.sort(trials), new, strict=True))
    probability = stats.binom.cdf(alarms, repetitions, level / (1 - zeros))
    assert 0.005 < probability < 0.995 if exact else probability < 1e-6


@pytest.mark.parametrize(
    "case", [case for case in ABSURD if "10⁶" in case or "75,000" in case or "999" in case or "uniform" in case]
)
def test_an_absurd_row_is_called_absurd(case):
    """In nine of ten trials or more, by a binomial test at 1 %: of 60 rows, of 250, and of 250 with ten columns."""
    for m, columns in [(60, 1), (250, 1), (250, 10)]:
        found = absurd_rows(case, m, 1, columns, calls=100)
        assert stats.binom.cdf(found.alarms, found.calls, 0.9) > 0.01, (m, columns, found.alarms)


@pytest.mark.parametrize("case", ["age 150, ages N(55, 15²) within 20 to 90", "10 sd from the mean of a normal column"])
def test_an_absurd_row_is_called_absurd_if_the_trial_is_not_tiny(case):
    found = absurd_rows(case, 250, 1, 1, calls=100)
    assert stats.binom.cdf(found.alarms, found.calls, 0.9) > 0.01


def test_the_bound_by_hand():
    """The three of 14 values that are above 11, on the scale of log(x - 7): 13, 23 and 39 where the threshold is 11."""
    trial = np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 23, 39])
    logs = np.log(np.array([13, 23, 39, 135]) - 7) - np.log(11 - 7)
    chance = (1 + logs[3] / logs[:3].sum()) ** -3
    assert farther_out(trial, 135, 1) == pytest.approx(4 / 15 * chance)
    assert farther_out(trial, 135, 2) == pytest.approx(2 * 4 / 15 * chance)
    assert farther_out(trial, 39, 1) == 1
    # Ties: the threshold is below three different values, however many rows have them.
    tied = np.sort(np.append(trial, [23, 39, 39]))
    logs = np.log(np.array([13, 23, 23, 39, 39, 39, 135]) - 8) - np.log(11 - 8)
    assert farther_out(tied, 135, 1) == pytest.approx(7 / 18 * (1 + logs[6] / logs[:6].sum()) ** -6)


def test_no_judgement_from_too_few_different_values():
    ratings = np.repeat([1.0, 2, 3, 4, 5], 20)
    assert farther_out(ratings, 1e300, 1) == 1
    # Of 100 rows six are the tail, which must begin beyond the median.
    assert farther_out(np.append(np.zeros(94), np.arange(1.0, 7)), 1e300, 1) == 1
    assert farther_out(np.append(np.zeros(93), np.arange(1.0, 8)), 1e300, 1) < 1e-6
    assert farther_out(np.append(np.zeros(80), np.repeat([1.0, 2, 3], [6, 6, 8])), 1e300, 1) == 1


def test_the_largest_numbers_do_not_overflow():
    trial = np.array([-1.7e308, *np.linspace(-1, 1, 50), 1.6e308])
    assert farther_out(trial[1:], 1.7e308, 1) < 1
    assert population(trial[:, None]).unlike(np.array([[1.7e308]])) is None


def test_the_exact_tests_hold_their_level(monkeypatch):
    """Without the third check the level is 0.1 % whatever the distribution: none in Cauchy's, however many rows."""
    monkeypatch.setattr("confide.diagnostics.covariate_shift._absurd", lambda *_: False)
    rng = np.random.default_rng(1)
    calls, alarms = 1000, 0
    for _ in range(calls):
        trial = population(rng.standard_cauchy((100, 2)))
        alarms += trial.unlike(rng.standard_cauchy((100, 2))) is not None
    assert stats.binom.sf(alarms - 1, calls, ALARM_LEVEL) > 0.01


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda new: new[:1] + 1000, r"outside the trial's range: x0 \(1 of 1 rows\), x1 \(1 of 1 rows\)"),
        (lambda new: np.add(new[:4], [6, 0]), r"outside the trial's range: x0 \(4 of 4 rows\)\. "),
        (lambda new: np.add(new[:200], [1, 0]), "distributed differently than in the trial: x0"),
        (lambda new: new[:200] * [1, 0.2], "distributed differently than in the trial: x1"),
        (
            lambda new: np.where([True, False], np.nan, new[:50]),
            r"missing, as never in the trial: x0 \(50 of 50 rows\)\.",
        ),
        (lambda new: np.concatenate([new[:999], [[0, 1e9]]]), r"outside the trial's range: x1"),
    ],
)
def test_other_rows_are_called_unlike(change, words):
    rng = np.random.default_rng(2)
    new = rng.standard_normal((1000, 2))
    trial = population(rng.standard_normal((250, 2)))
    found = trial.unlike(change(new))
    assert found is not None
    assert re.search(words, found)
    assert trial.unlike(new[:200]) is None
    assert trial.unlike(new[:0]) is None


def test_a_handful_of_trial_rows_calls_nothing_unlike():
    assert population(np.zeros((9, 1))).unlike(np.full((100, 1), 1e9)) is None
    assert population(np.zeros((20, 1))).unlike(np.full((100, 1), 1e9)) is not None


QUESTIONS = {
    "predict": lambda model, X: model.predict(X, 1),
    "predict_interval": lambda model, X: model.predict_interval(X, 1),
    "predict_set": lambda model, X: model.predict_set(X, 1),
    "predict_effect": lambda model, X: model.predict_effect(X),
    "predict_effect_interval": lambda model, X: model.predict_effect_interval(X),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_prediction_warns_once_in_the_callers_name(question):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        QUESTIONS[question](MODEL, np.full((3, 1), 1e6))
        QUESTIONS[question](MODEL, np.full((1, 1), X[TRIAL].mean()))
    assert [warning.category for warning in caught] == [PopulationWarning]
    assert caught[0].filename == __file__
    assert "promise is for rows from the trial's population" in str(caught[0].message)


def test_copies_warn_too():
    with pytest.warns(PopulationWarning):
        MODEL.with_alpha(0.3).predict(np.full((3, 1), 1e6), 0)


def test_columns_are_named_as_the_caller_knows_them():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"t": TREATMENT, "y": Y, "age": rng.normal(50, 10, len(Y)), "sex": rng.choice(["f", "m"], len(Y))}
    )
    study = stack(frame[~TRIAL], frame[TRIAL], treatment="t", outcome="y")
    fitted = CounterfactualIntervals(Transfer(base=LinearRegression())).fit(*study)
    women = pd.DataFrame({"age": rng.normal(50, 10, 300), "sex": "f"})
    with pytest.warns(PopulationWarning, match="distributed differently than in the trial: sex = f, sex = m"):
        fitted.predict(women, 0)
    with pytest.warns(PopulationWarning, match=r"outside the trial's range: age \(1 of 1 rows\)"):
        fitted.predict(pd.DataFrame({"age": [5e4], "sex": ["f"]}), 0)


def test_an_encoder_without_names_still_has_columns():
    class Plain(StandardScaler):
        get_feature_names_out = property()

    fitted = CounterfactualIntervals(Transfer(base=LinearRegression()), encoder=Plain()).fit(X, Y, TREATMENT, TRIAL)
    with pytest.warns(PopulationWarning, match="column 0"):
        fitted.predict(np.full((3, 1), 1e6), 0)


def test_the_level_is_shared_by_all_columns():
    """One column of a hundred shifted by as little as a single column would show stays silent."""
    rng = np.random.default_rng(4)
    trial, new = rng.standard_normal((200, 100)), rng.standard_normal((200, 100))
    distance = next(
        shift for shift in np.arange(0.3, 1.5, 0.01) if population(trial[:, :1]).unlike(new[:, :1] + shift) is not None
    )
    shifted = new + distance * (np.arange(100) == 0)
    assert population(trial).unlike(shifted) is None
    assert math.isclose(ALARM_LEVEL, 0.001)


@pytest.mark.parametrize("kind", DRAWS)
def test_looks_at_parts_join_to_the_look_at_all_rows(kind):
    rng = np.random.default_rng(1)
    trial = population(DRAWS[kind](rng, (60, 3)))
    new = DRAWS[kind](rng, (30_000, 3))
    whole = trial.look(new)
    for cuts in ([1, 2, 50, 20_000], [15_000], []):
        starts = [0, *cuts]
        looks = [trial.look(part, start) for part, start in zip(np.split(new, cuts), starts, strict=True)]
        joined = functools.reduce(Look.joined, looks)
        assert joined.rows == whole.rows
        for name in ("beyond", "ends", "known"):
            np.testing.assert_array_equal(getattr(joined, name), getattr(whole, name))
        np.testing.assert_array_equal(joined.sample, whole.sample)
        assert trial.judge(joined) == trial.judge(whole)


def test_rows_in_any_order_are_like_the_trials():
    """Sorted, or every other row a man: what is drawn by lot does not follow the order."""
    rng = np.random.default_rng(0)
    trial = population(np.column_stack([rng.standard_normal(500), rng.integers(0, 2, 500)]))
    new = np.column_stack([np.sort(rng.standard_normal(60_000)), np.tile([0.0, 1.0], 30_000)])
    assert trial.unlike(new) is None
    parts = np.split(new, range(1000, 60_000, 1000))
    looks = [trial.look(part, 1000 * number) for number, part in enumerate(parts)]
    assert trial.judge(functools.reduce(Look.joined, looks)) is None


def test_a_look_counts_as_one_sees_it():
    trial = population(np.arange(20.0)[:, None])
    look = trial.look(np.array([[-1.0], [0.0], [19.0], [20.0], [np.nan]]))
    assert (look.rows, look.known.item()) == (5, 4)
    assert look.beyond[:, 0].tolist() == [1, 1]  # a missing value is neither
    assert look.ends[:, 0].tolist() == [-1, 20]
    missing = population(np.append(np.arange(20.0), np.nan)[:, None])
    assert missing.look(np.array([[1e9], [-1], [np.nan]])).beyond[:, 0].tolist() == [1, 1]
    nothing = population(np.full((20, 1), np.nan))
    assert nothing.look(np.array([[1e9], [np.nan]])).beyond[:, 0].tolist() == [0, 0]


@pytest.mark.parametrize("gaps", [0, 0.05, 0.35])
@pytest.mark.parametrize("new_gaps", [0, 0.1])
@pytest.mark.parametrize("sign", [1, -1])
def test_high_and_low_values_count_alike_with_gaps_and_without(gaps, new_gaps, sign):
    """Missing values were larger than all others: in a column that has some, no value was above the trial's range."""
    rng = np.random.default_rng(0)
    values, new = rng.standard_normal((160, 2)), rng.standard_normal((50, 2))
    values[rng.uniform(size=160) < gaps, 0] = np.nan
    new[:, 0] = sign * rng.uniform(10, 11, 50)
    new[rng.uniform(size=50) < new_gaps, 0] = np.nan
    held = int(np.isfinite(new[:, 0]).sum())
    assert f"outside the trial's range: x0 ({held} of 50 rows)" in population(values).unlike(new)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_few_values_above_a_column_with_gaps_are_found_by_their_number(monkeypatch, sign):
    """Three rows barely beyond: too few for the test of the distribution, and none of them is absurd."""
    monkeypatch.setattr("confide.diagnostics.covariate_shift._absurd", lambda *_: False)
    values = np.append(np.arange(-100.0, 101), np.nan)[:, None]
    assert population(values).unlike(sign * np.array([[101.0], [102.0], [103.0]])) is not None
    assert population(values).unlike(sign * np.array([[98.0], [99.0], [100.0]])) is None


def test_the_exact_tests_hold_their_level_with_gaps(monkeypatch):
    """The trial has gaps in some calls only, so that all checks are at work."""
    monkeypatch.setattr("confide.diagnostics.covariate_shift._absurd", lambda *_: False)
    rng = np.random.default_rng(5)
    calls, alarms = 3000, 0
    for _ in range(calls):
        X = rng.standard_normal((40, 2))
        X[rng.uniform(size=X.shape) < 0.05] = np.nan
        alarms += population(X[:30]).unlike(X[30:]) is not None
    assert stats.binom.sf(alarms - 1, calls, ALARM_LEVEL) > 0.01


def test_with_a_target_rows_are_compared_with_its_people():
    rng = np.random.default_rng(0)
    target = Population.of(rng.normal(5, 1, size=(400, 1)), ["age"], seed=0, whose="target")
    assert target.unlike(rng.normal(5, 1, size=(300, 1))) is None
    said = target.unlike(rng.normal(0, 1, size=(300, 1)))
    assert said.startswith("new rows look unlike the target's; outside the target's range: age")
    assert "Every promise is for rows from the target's population" in said
    assert "fit with another target (target=, --target)" in said
