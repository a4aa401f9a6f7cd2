import numpy as np
import pytest

from confide import CounterfactualIntervals, stack
from confide.datasets import load_nsw


def test_sizes_and_that_the_observational_table_has_one_arm():
    data = load_nsw()
    assert (data.treatment, data.outcome) == ("treated", "earnings")
    assert (len(data.observational), len(data.trial), len(data.test)) == (15992, 300, 145)
    assert set(data.observational["treated"].to_pylist()) == {0}
    for part in (data.trial, data.test):
        assert set(part["treated"].to_pylist()) == {0, 1}
    assert len(load_nsw(trial_size=400).test) == 45


def test_the_survey_is_as_unlike_the_trial_as_the_documentation_says():
    data = load_nsw()
    means = [{name: np.mean(part[name]) for name in part.column_names} for part in (data.observational, data.trial)]
    survey, trial = means
    assert survey["age"] > trial["age"] + 5
    assert survey["married"] > trial["married"] + 0.4
    assert survey["earnings_1974"] > 4 * trial["earnings_1974"]
    assert survey["earnings_1975"] > 4 * trial["earnings_1975"]
    assert max(data.observational["earnings"].to_pylist()) == 25_565 < max(data.trial["earnings"].to_pylist())


def test_the_trial_alone_serves_and_a_method_that_needs_both_tables_refuses():
    data = load_nsw()
    study = stack(data.observational, data.trial, treatment=data.treatment, outcome=data.outcome)
    model = CounterfactualIntervals("naive", random_state=0).fit(*study)
    new = data.test.drop_columns([data.treatment, data.outcome])
    assert np.isfinite(model.predict_effect_interval(new).width).all()
    with pytest.raises(ValueError, match="observational"):
        CounterfactualIntervals("transfer", random_state=0).fit(*study)


@pytest.mark.parametrize("size", [0, 401, 12.5, "many"])
def test_bad_sizes_are_named(size):
    with pytest.raises(ValueError, match=f"trial_size must be a whole number from 10 to 400, got {size!r}"):
        load_nsw(trial_size=size)
