"""Messages about names that are not known, and about outcomes that no model can learn from."""

from __future__ import annotations

import numpy as np
import pytest

from confide.base.validation import check_outcome, suggest


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("agee", ["age", "sex"], "did you mean age?"),
        ("ldl", ["LDL", "age"], "did you mean LDL?"),
        ("SEX", ["age", "Sex", "sex"], "did you mean Sex, sex?"),
        ("Age", ["age", "ages"], "did you mean age?"),
        ("pressure", ["age", "sex"], "there are: age, sex."),
        ("one", [1, 2], "there are: 1, 2."),
    ],
)
def test_names_that_differ_by_case_are_suggested_before_those_that_are_near(name, known, said):
    assert suggest(name, known) == said


def test_outcomes_in_too_small_a_unit_are_refused():
    with pytest.raises(
        ValueError, match=r"the outcome is at most 3e-301 in size, .* at least 1e-100, .* Change the unit"
    ):
        check_outcome([1e-301, -3e-301, 0.0])
    for fine in ([0.0, 0.0], [1e-301, 1e-100], [1e-301, 1.0]):
        assert np.array_equal(check_outcome(fine), fine)
