"""scikit-learn's checks of estimators as parameters of a test, under short names.

`parametrize_with_checks` names each of them by the estimator's text, which takes seconds for estimators within others.
"""

from functools import partial

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator


def with_checks(estimators, expected_failures=lambda _: {}):
    """Return `parametrize_with_checks`: what is expected to fail, by the name of the check, has its reason."""
    found = [
        case
        for estimator in estimators
        for case in estimator_checks_generator(
            estimator, expected_failed_checks=expected_failures(estimator), mark="xfail"
        )
    ]
    return pytest.mark.parametrize(("estimator", "check"), found, ids=short_name)


def short_name(value):
    """Return the name of an estimator's class, or of a check."""
    while isinstance(value, partial):
        value = value.func
    return value.__name__ if hasattr(value, "__name__") else type(value).__name__
