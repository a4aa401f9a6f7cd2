"""Messages about names that are not known."""

from __future__ import annotations

import pytest

from confide.base.validation import suggest


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
