"""What `summary` says of a model: what is amiss, what helps, and never that all is well."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, QuantileRegressor

from confide import WCP, WSCPDR, WTCPDR, CounterfactualIntervals, Naive, PooledDR, Transfer
from confide.exceptions import InfiniteIntervalWarning
from confide.models.preprocessing import standardised
from confide.ratio import ClassifierRatio, OracleRatio
from helpers import arms_study, study_arrays

FAST = {"base": LinearRegression()}
LOGISTIC = ClassifierRatio(standardised(LogisticRegression()))
UNBOUNDED = ClassifierRatio(standardised(LogisticRegression(C=1e6)))


def advice(arm, study, **params):
    fitted = CounterfactualIntervals(arm, random_state=0, **params).fit(*study)
    text = fitted.summary()
    assert max(map(len, text.splitlines())) <= 100
    return " ".join(text.split())


CONFOUNDED = arms_study(n=400, m=200, shift=1.0)
PLAIN = arms_study(n=400, m=200, shift=0.0)


def test_a_sound_model_is_not_called_so():
    """Figures that call for no word are no evidence: what was not looked at is said, and where it is tested."""
    text = advice(Transfer(**FAST, conformity_score="normalised"), PLAIN)
    assert "transfer at alpha = 0.1; promised coverage of an outcome: ≥ 1-α, whatever the confounding." in text
    assert "Effects against 0 (the control) by bonferroni; promised coverage: ≥ 90 %, because each of its" in text
    assert "Treatment 0 rows: 400 observational, 200 trial; 200 calibrate (n_eff 200.0" in text
    assert text.endswith(
        "Before you trust it - Looked at for this: rows, weights, overlap and intervals. Not looked at: hidden "
        "confounding, for which hidden_confounding_test, or `confide diagnose`, is the test, and how the trial was "
        "run, which no row shows."
    )
    assert "Promises are averages over people and samples" in text
    assert "whose outcomes arise as they did in the trial" in text
    assert "lost no rows because of their outcomes" in text


def huge_at_first(rows):
    """A weight of 1000 on rows with a covariate above 2.2, of 1 elsewhere."""
    return np.where(rows[:, 0] > 2.2, 1000.0, 1.0)


@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")
@pytest.mark.parametrize(
    ("arm", "study", "words"),
    [
        (Transfer(**FAST), CONFOUNDED, "a reason to run the test for hidden confounding: hidden_confounding_test"),
        (Transfer(**FAST), CONFOUNDED, "The promise does not depend on what it finds."),
        (
            WCP(**FAST),
            CONFOUNDED,
            "wcp do not use outcomes: with confounding do not use it, but transfer.",
        ),
        (WTCPDR(**FAST, ratio=LOGISTIC), CONFOUNDED, "wtcp-dr allows for confounding as far as its ratio is right."),
        (WTCPDR(**FAST, ratio=LOGISTIC), CONFOUNDED, "promises its level minus an unknown error of its weights"),
        (WSCPDR(exact=False, second_stage=LinearRegression(), ratio=LOGISTIC, **FAST), PLAIN, "promises no coverage"),
        (Transfer(**FAST), arms_study(n=100, m=5), "needs 9 trial calibration rows for a finite interval; there are 5"),
        (Transfer(**FAST), arms_study(n=100, m=20), "Calibration rests on 20 rows. The promise is an average"),
        (WTCPDR(**FAST, ratio=OracleRatio(huge_at_first)), PLAIN, "of the weight, more than alpha = 0.1"),
        (PooledDR(**FAST, ratio=LOGISTIC), arms_study(n=400, m=200, shift=9.0), "hardly overlap (0.0"),
        (PooledDR(**FAST, ratio=UNBOUNDED), arms_study(n=400, m=200, shift=9.0), "The ratio is at its limit on"),
        (
            WTCPDR(**FAST, ratio=OracleRatio(lambda rows: np.exp(3 * rows[:, -1]))),
            PLAIN,
            "Declare the outcome's bounds",
        ),
        (
            WSCPDR(**FAST, second_stage=LinearRegression(), ratio=OracleRatio(huge_at_first)),
            PLAIN,
            "The first stage's weights are worth",
        ),
    ],
)
def test_what_is_amiss_is_said(arm, study, words):
    assert words in advice(arm, study)


def test_with_gamma_the_level_in_force_is_told_beside_the_one_asked_for():
    text = advice(Transfer(**FAST), PLAIN, gamma=1.3)
    assert "transfer at alpha = 0.1, computed at level 0.1/1.3 = 0.0769; promised coverage" in text
    assert "promised coverage: ≥ 90 %, because each of its two steps is taken at 0.05/1.3 = 0.0385." in text
    assert "are missed more often than alpha/gamma = 0.0769, and others less often" in text


def test_one_row_is_heavy_against_the_level_in_force():
    """A share of the weight between alpha/gamma and alpha decides widths too."""
    arm = WTCPDR(**FAST, ratio=OracleRatio(lambda rows: np.where(rows[:, 0] > 2.2, 18.0, 1.0)))
    plain = CounterfactualIntervals(arm, random_state=0).fit(*PLAIN)
    share = max(each.largest_share for each in plain.diagnostics_.values())
    assert 0.05 < share < 0.1
    assert "of the weight, more than" not in " ".join(plain.summary().split())
    assert "more than alpha/gamma = 0.05: it alone can set the width." in advice(arm, PLAIN, gamma=2)


@pytest.mark.parametrize(
    ("m", "needs", "computed"),
    [
        (10, "alpha=0.0769231 needs 12 trial", "Intervals are computed at level 0.1/1.3 = 0.0769. That is alpha/gamma"),
        (
            20,
            "effect intervals, alpha=0.0384615 needs 25 trial",
            "Each of an effect's two steps is computed at level 0.05/1.3 = 0.0385. That is arm_alpha/gamma",
        ),
    ],
)
def test_a_shortage_says_which_level_needs_the_rows(m, needs, computed):
    with pytest.warns(InfiniteIntervalWarning) as caught:
        fitted = CounterfactualIntervals(Transfer(**FAST), gamma=1.3, random_state=0).fit(*arms_study(n=100, m=m))
    (said,) = (str(each.message) for each in caught)
    assert needs in said
    assert said.count(f"{computed}: a smaller gamma makes it larger.") == 1
    assert f"{computed}: a smaller gamma makes it larger." in " ".join(fitted.summary().split())


@pytest.mark.filterwarnings("ignore::confide.InfiniteIntervalWarning")
@pytest.mark.parametrize("m", [8, 200])
@pytest.mark.parametrize("shift", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("arm", [Transfer(**FAST), WCP(**FAST)])
def test_the_summary_leaves_hidden_confounding_to_its_test(arm, shift, m):
    """Whatever the test finds, no sentence says that confounding is there, or that all is well."""
    text = advice(arm, arms_study(n=400, m=m, shift=shift)).partition("Before you trust it")[2]
    assert "Not looked at: hidden confounding" in text
    for claim in ("likely", "amiss", "is there", "no sign", "all is well"):
        assert claim not in text


ONE_WIDTH = "All intervals have one width: if errors are larger for some people than for others, people who are hard"


@pytest.mark.parametrize(
    ("arm", "remedy"),
    [
        (Naive(**FAST), "Where that matters, conformity_score='normalised' lets"),
        (Transfer(**FAST), "matters, prognostic lets"),
        (
            Transfer(**FAST, base_on="centred"),
            "matters, prognostic lets",
        ),
        (Transfer(**FAST, base_on="grounded"), "Where that matters, conformity_score='normalised' lets"),
        (PooledDR(**FAST, ratio=LOGISTIC), "pooled-dr with conformity_score='normalised' and base_on='grounded' lets"),
    ],
)
def test_where_misses_fall_is_said_and_what_helps(arm, remedy):
    text = advice(arm, PLAIN)
    assert ONE_WIDTH in text
    assert remedy in text


@pytest.mark.parametrize(
    "arm",
    [
        Transfer(**FAST, conformity_score="normalised"),
        Transfer(base=QuantileRegressor(alpha=0.0), conformity_score="cqr"),
        WCP(**FAST),
        PooledDR(**FAST, ratio=LOGISTIC, solve="transductive"),
        WSCPDR(**FAST, second_stage=LinearRegression(), ratio=LOGISTIC, target="outcome"),
    ],
)
def test_widths_that_differ_are_not_called_one(arm):
    fitted = CounterfactualIntervals(arm, random_state=0).fit(*PLAIN)
    assert np.ptp(fitted.predict_interval(PLAIN[0], treatment=0).width) > 0.01
    assert ONE_WIDTH not in " ".join(fitted.summary().split())


def test_discrete_sets_have_no_width():
    rounded = (PLAIN[0], np.round(PLAIN[1]), *PLAIN[2:])
    assert ONE_WIDTH not in advice(Transfer(**FAST, outcome_values=np.arange(-9, 10)), rounded)


def test_advice_for_one_arm_names_it_and_for_all_arms_is_said_once():
    X, y, treatment, trial = study_arrays(n=600, m=200)
    few = np.r_[
        np.flatnonzero(~trial), np.flatnonzero(trial & (treatment == 0)), np.flatnonzero(trial & (treatment == 1))[:15]
    ]
    text = advice(Transfer(**FAST), (X[few], y[few], treatment[few], trial[few]), alpha=0.2)
    assert "- Treatment 1: Calibration rests on 15 rows." in text
    assert advice(WCP(**FAST), PLAIN).count("wcp promises its level minus") == 1
