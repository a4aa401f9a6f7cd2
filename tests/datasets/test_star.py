import numpy as np
import pyarrow.compute as pc
import pytest
from pyarrow import csv
from scipy import stats

from confide import CounterfactualIntervals, stack
from confide.datasets import load_star


def scores(table, small):
    return table.filter(pc.field("small") == small)["score"].to_numpy()


def bias(data):
    """How far the observational contrast is from the trial's and test's, in standard errors."""
    sides = [[data.observational], [data.trial, data.test]]
    means, variances = [], []
    for side in sides:
        arms = [np.concatenate([scores(table, small) for table in side]) for small in (0, 1)]
        means.append(arms[1].mean() - arms[0].mean())
        variances.append(sum(arm.var(ddof=1) / len(arm) for arm in arms))
    return (means[0] - means[1]) / np.sqrt(sum(variances))


def test_sizes_and_columns():
    data = load_star()
    assert (data.treatment, data.outcome) == ("small", "score")
    assert (len(data.trial), len(data.test)) == (400, 1000)
    assert len(data.observational) > 1000
    for part in (data.observational, data.trial, data.test):
        assert set(part["small"].to_pylist()) == {0, 1}
    assert data.observational["lunch"].null_count > 0
    assert set(data.observational["lunch"].to_pylist()) == {"free", "non-free", None}


def test_the_arguments_change_no_more_than_they_must():
    small, large, plain = load_star(trial_size=100), load_star(trial_size=2000), load_star(confounding=0)
    assert small.test.equals(large.test)
    assert small.test.equals(plain.test)
    assert small.trial.equals(large.trial.slice(0, 100))
    assert not plain.observational.equals(load_star().observational)


def test_selection_biases_both_arms_and_none_at_confounding_0():
    # 20 tests of a true hypothesis, at 1 % together.
    plain = [bias(load_star(confounding=0, random_state=seed)) for seed in range(20)]
    assert np.abs(plain).max() < stats.norm.isf(0.01 / 40)
    data = load_star()
    assert bias(data) > stats.norm.isf(1e-9)
    for small, sign in ((1, 1), (0, -1)):
        test = stats.ttest_ind(scores(data.observational, small), scores(data.test, small), equal_var=False)
        assert sign * test.statistic > stats.norm.isf(1e-6)
    assert bias(load_star(confounding=3)) > bias(data) > bias(load_star(confounding=0.3))


def test_the_density_ratio_is_the_documented_one():
    # Weighted by 1 + exp(∓c z), observational rows have the mean of the trial's population in each arm.
    data = load_star(random_state=3)
    parts = [data.observational, data.trial, data.test]
    everyone = np.concatenate([table["score"].to_numpy() for table in parts[1:]])
    for small in (0, 1):
        seen = scores(data.observational, small)
        z = (seen - everyone.mean()) / everyone.std()
        weights = 1 + np.exp((-1 if small else 1) * 1.2 * z)
        estimate = np.average(seen, weights=weights)
        error = np.sqrt(np.sum((weights * (seen - estimate)) ** 2)) / weights.sum()
        truth = np.concatenate([scores(table, small) for table in parts[1:]])
        assert abs(estimate - truth.mean()) < 4 * np.hypot(error, truth.std() / np.sqrt(len(truth)))


@pytest.mark.slow
def test_text_and_missing_values_pass_through_the_whole_way():
    data = load_star()
    study = stack(data.observational, data.trial, treatment=data.treatment, outcome=data.outcome)
    model = CounterfactualIntervals("transfer", random_state=0).fit(*study)
    assert model.treatments_.tolist() == [0, 1]
    new = data.test.drop_columns([data.treatment, data.outcome])
    intervals = model.predict_interval(new, treatment=data.test[data.treatment].to_numpy())
    assert np.isfinite(intervals.width).all()
    # Coverage given this trial is about a Beta around 0.9; 0.8 is far below it.
    assert intervals.contains(data.test[data.outcome].to_numpy()).mean() > 0.8


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"confounding": -1}, "confounding must be finite and at least 0, got -1"),
        ({"confounding": float("inf")}, "confounding must be finite and at least 0, got inf"),
        ({"confounding": float("nan")}, "confounding must be finite"),
        ({"confounding": "much"}, "confounding must be a number of at least 0, got 'much'"),
        ({"trial_size": 9}, "trial_size must be a whole number from 10 to 2000, got 9"),
        ({"trial_size": 2001}, "got 2001.*4247 pupils"),
        ({"trial_size": 400.0}, r"whole number.*got 400\.0"),
        ({"trial_size": True}, "got True"),
    ],
)
def test_bad_arguments_are_named(argument, message):
    with pytest.raises(ValueError, match=message):
        load_star(**argument)


def test_the_pupils_as_files(tmp_path):
    data = load_star(random_state=0)
    written = data.write(str(tmp_path / "deep" / "star"), "pupil")
    parts = {
        name: csv.read_csv(tmp_path / "deep" / "star" / f"{name}.csv") for name in ("observational", "trial", "new")
    }
    assert list(written.values()) == [len(part) for part in parts.values()]
    for name, original in (("observational", data.observational), ("trial", data.trial), ("new", data.test)):
        assert len(np.unique(parts[name]["pupil"])) == len(original)
        np.testing.assert_array_equal(parts[name]["birth"], original["birth"])
    assert "score" not in parts["new"].column_names
    assert "small" not in parts["new"].column_names


def test_whole_schools_are_drawn_on_request_and_no_other_pupils_change():
    data, again = load_star(by_school=True, random_state=4), load_star(by_school=True, random_state=4, trial_size=900)
    schools = [set(table["school_id"].to_pylist()) for table in (data.test, data.trial, data.observational)]
    assert [len(each) for each in schools] == [15, 40, 20]
    assert not set.intersection(*schools)
    assert len(set.union(*schools)) == 75
    assert again.test.equals(data.test)
    assert again.trial.slice(0, 400).equals(data.trial)
    assert "school_id" not in load_star().trial.column_names
