"""Every method on held-out rows of a trial: the same rows for all, none of them seen."""

import numpy as np
import pytest

from confide import METHODS, Study
from confide.experiments.held_out import HELD_OUT, compare_on_held_out
from helpers import study_arrays
from tables import people


def study(n=300, m=120):
    return Study(*study_arrays(n=n, m=m))


def test_every_method_is_told_on_the_same_rows():
    found = list(compare_on_held_out(study(), alpha=0.1, seed=0))
    assert [each.method for each in found] == list(METHODS)
    sizes = {tuple(arm.n for arm in each.arms) for each in found}
    assert len(sizes) == 1
    assert sum(sizes.pop()) == pytest.approx(HELD_OUT * 120, abs=1)
    for each in found:
        assert each.promise == METHODS[each.method].promise
        assert each.refused is None


def test_no_held_out_row_is_seen():
    """With an outcome that is noise alone and far apart in the trial's rows, a model that saw them would be right."""
    rng = np.random.default_rng(0)
    X, y, treatment, trial = study_arrays(n=300, m=300)
    y = np.where(trial, rng.choice([-100.0, 100.0], len(y)), y)
    (naive,) = compare_on_held_out(Study(X, y, treatment, trial), alpha=0.5, seed=0, names=["naive"])
    assert all(arm.width > 150 for arm in naive.arms)


def test_a_method_that_refuses_says_why():
    X, y, treatment, trial = study_arrays(n=300, m=60)
    only = Study(X[trial], y[trial], treatment[trial], trial[trial])
    found = {each.method: each for each in compare_on_held_out(only, alpha=0.2, seed=0, names=["naive", "wtcp-dr"])}
    assert found["naive"].refused is None
    assert "observational" in found["wtcp-dr"].refused
    assert found["wtcp-dr"].arms == []


def test_tables_are_compared_as_arrays_are():
    from confide import stack

    tables = (people(n, seed).drop_columns(["who"]) for n, seed in ((200, 0), (100, 1)))
    (found,) = compare_on_held_out(stack(*tables), alpha=0.1, seed=0, names=["transfer"])
    assert [arm.treatment for arm in found.arms] == ["drug", "placebo"]
    assert all(arm.coverage > 0.5 for arm in found.arms)
