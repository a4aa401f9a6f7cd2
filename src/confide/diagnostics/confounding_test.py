"""A test, arm by arm, of whether outcomes differ between the sources at equal covariates."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import StratifiedKFold

from confide.base.notebook import Records, ShownRecord
from confide.base.progress import part
from confide.conformal.permutation import draw_conditional_poisson
from confide.data.arrow import take_rows
from confide.data.encoding import TableEncoder, kinds_of
from confide.data.splits import Rows, spawn_seeds
from confide.data.study import Study
from confide.models.comparison import FOLDS, compare
from confide.models.preprocessing import logistic_on_splines, prepared, ridge_on_splines

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from confide.typing import Labels, RandomState, Table

# Two rows a fold of each source: with fewer, nothing about the sources can be cross-validated.
LEAST_ROWS = 2 * FOLDS
# The test looks at so many observational rows of an arm per trial row, and at no fewer and no more than these: the
# trial's rows are what limits it. With 10 per trial row the statistic has 91 % of the information of endless ones.
ROWS_PER_TRIAL_ROW = 10
LEAST_SAMPLE, MOST_SAMPLE = 2500, 20_000
# With fewer rows of a source than this, sources are drawn anew, so many times, to see what the statistic may be.
FEW_ROWS = 1000
DRAWS = 1999
# No p-value of drawn sources is less: twice the share of the observed statistic among all.
LEAST_P_VALUE = 2 / (1 + DRAWS)
# Below this p-value the test is said to see a difference.
REJECTION_LEVEL = 0.05


@dataclass(frozen=True)
class ConfoundingTest(ShownRecord):
    """Whether, in one arm, being in the trial is independent of the outcome given the covariates.

    Attributes
    ----------
    treatment : label
        The arm.
    statistic : float
        About standard normal where the two are independent and rows are many; above 0 where observational outcomes are
        higher.
    p_value : float
        Two-sided: twice the probability, if the two are independent, of a statistic as far out on its side. Where a
        source has fewer than 1,000 rows of the arm it is a multiple of 1/1000, and never less.
    bias : float
        Observational minus trial outcomes at equal covariates, in units of the outcome, averaged with more weight where
        both sources are present.
    """

    treatment: Labels
    statistic: float
    p_value: float
    bias: float


def hidden_confounding_test(
    X: Table, y: ArrayLike, treatment: Labels, trial: ArrayLike, random_state: RandomState = 0
) -> list[ConfoundingTest]:
    """Test, arm by arm, whether outcomes differ between trial and observational rows of equal covariates.

    The generalised covariance measure (Shah and Peters, 2020): the residual of the outcome on the covariates times that
    of the source on the covariates, both cross-fitted over the arm's pooled rows, has mean zero if the source says
    nothing of the outcome that the covariates do not. Each regression is the best by cross-validated loss of a
    constant, splines and boosting. The statistic is the mean of these products over its standard error.

    Of an arm with many observational rows a random sample is looked at: 10 per trial row, at least 2,500 and at most
    20,000. How often the test rejects without confounding does not depend on it. With n observational and m trial rows
    a statistic has n/(n + m) of the information of one with endless observational rows: the sample has 91 % of it.

    Where both sources have 1,000 rows of the arm or more, the p-value is that of a standard normal statistic. With
    fewer rows and skewed outcomes that rejects too often. There the sources are drawn anew 1,999 times, each row's from
    its cross-fitted probability given the covariates, with as many rows of each source as there are; outcomes,
    covariates and both regressions stay. The p-value is twice the share of statistics, the observed one among them,
    that are at least as far out on the observed one's side. But for the folds, which are stratified by source, it is
    exact, whatever the outcome's distribution, if these probabilities are right; where no covariate tells the sources
    apart it is that of a permutation test. Else it is as good as the regressions: the product of their errors must be
    small, as for the normal distribution (Niu and others, 2024, show that the two agree for large samples). A dozen
    trial rows give probabilities that are too even: where covariates move both the source and the size of the noise a
    great deal, the test may then reject somewhat too often. docs/confounding.md says how often it rejects.

    A rejection means hidden confounding **or** that something else moves the outcome between the two populations, such
    as an effect modifier that is not among the covariates. No rejection is not evidence of no confounding: the
    measure averages, so that a bias which changes sign with the covariates can go unseen, and a small trial sees only
    a large bias. There is one test per arm: with many arms, mind how many.

    Parameters
    ----------
    X : frame or (n, d) array
        Covariates.
    y : (n,) array
        Outcomes.
    treatment : (n,) array
        Treatment labels.
    trial : (n,) boolean array
        True for rows of the randomised trial.
    random_state : int, RandomState instance or None
        Decides the folds and the sources drawn.

    Returns
    -------
    list of ConfoundingTest
        One record per arm; its numbers are NaN, with a warning, where a source has fewer than 10 rows of the arm.
    """
    study = Study(X, y, treatment, trial)
    kinds = kinds_of(study.X)
    seed, thinning_seed = spawn_seeds(random_state, 2)
    records: Records[ConfoundingTest] = Records()
    for number, label in enumerate(study.arms):
        mine = study.treatment == label
        in_trial, others = np.flatnonzero(mine & study.trial), np.flatnonzero(mine & ~study.trial)
        short = {name: len(rows) for name, rows in (("trial", in_trial), ("observational", others))}
        lacking = [f"{count} {name} rows" for name, count in short.items() if count < LEAST_ROWS]
        if lacking:
            warnings.warn(
                f"treatment {label}: the test needs {LEAST_ROWS} rows of each source; there are "
                f"{' and '.join(lacking)}. Its numbers are NaN.",
                stacklevel=2,
            )
            records.append(ConfoundingTest(label, np.nan, np.nan, np.nan))
            continue
        most = int(np.clip(ROWS_PER_TRIAL_ROW * len(in_trial), LEAST_SAMPLE, MOST_SAMPLE))
        others = others[np.random.default_rng(thinning_seed).permutation(len(others))[:most]]
        chosen = np.concatenate([others, in_trial])
        with part(number, len(study.arms)):
            encoded = TableEncoder(kinds).fit_transform(take_rows(study.X, chosen))
            measured = _covariance_test(encoded, study.y[chosen], ~study.trial[chosen], seed)
        records.append(ConfoundingTest(label, *measured))
    return records


def _covariance_test(
    X: NDArray[np.float64], y: NDArray[np.float64], observational: NDArray[np.bool_], seed: int
) -> tuple[float, float, float]:
    """Return statistic, p-value and bias of one arm."""
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, observational))
    boosting = {"max_leaf_nodes": 8, "max_iter": 50, "random_state": seed}
    outcome_models = {
        "constant": DummyRegressor(),
        "splines": ridge_on_splines(),
        "boosting": prepared(HistGradientBoostingRegressor(**boosting)),
    }
    source_models = {
        "constant": DummyClassifier(),
        "splines": logistic_on_splines(),
        "free splines": logistic_on_splines(C=10),
        "boosting": prepared(HistGradientBoostingClassifier(**boosting)),
    }
    of_outcome = y - best_out_of_fold(outcome_models, X, y, folds, squared_errors)
    expected = best_out_of_fold(source_models, X, observational, folds, log_losses)
    of_source = observational - expected
    products = of_outcome * of_source
    statistic = float(_studentised(products.sum(), products @ products, len(y)))
    if np.bincount(observational).min() < FEW_ROWS:
        drawn = _statistics_of_drawn_sources(of_outcome, expected, observational, seed)
        slack = 1e-9 * abs(statistic)  # what differs by rounding alone is as far out
        farther = min(int(np.sum(drawn >= statistic - slack)), int(np.sum(drawn <= statistic + slack)))
        p_value = min(2 * (1 + farther) / (1 + DRAWS), 1.0)
    else:
        p_value = float(2 * norm.sf(abs(statistic)))
    information = float(of_source @ of_source)
    bias = float(products.sum() / information) if information > 0 else 0.0
    return statistic, p_value, bias


def _studentised(total: Any, squares: Any, count: int) -> NDArray[np.float64]:
    """Return the mean over its standard error, from the sum of so many products and of their squares; 0 if none varies.

    A variance that is nothing but rounding counts as none.
    """
    mean, square = np.asarray(total) / count, np.asarray(squares) / count
    variance = square - mean**2
    varies = variance > 1e-12 * square
    statistics: NDArray[np.float64] = np.where(varies, np.sqrt(count / np.where(varies, variance, 1.0)) * mean, 0.0)
    return statistics


def _statistics_of_drawn_sources(
    of_outcome: NDArray[np.float64], expected: NDArray[np.float64], observational: NDArray[np.bool_], seed: int
) -> NDArray[np.float64]:
    """Return the statistic for sources drawn from their expectations, as many rows of each source as there are."""
    rare = bool(observational.sum() <= len(observational) / 2)  # whether observational rows are the fewer
    chance = np.clip(expected if rare else 1 - expected, 1e-6, 1 - 1e-6)
    size = int(np.sum(observational == rare))
    chosen = draw_conditional_poisson(chance / (1 - chance), size, DRAWS, np.random.default_rng(seed))
    of_rare, of_common = (of_outcome * (source - expected) for source in (rare, not rare))
    total, squares = (
        common.sum() + (other - common)[chosen].sum(axis=1)
        for other, common in ((of_rare, of_common), (of_rare**2, of_common**2))
    )
    return _studentised(total, squares, len(of_outcome))


def best_out_of_fold(
    models: Mapping[str, Any], X: NDArray[np.float64], target: NDArray[Any], folds: list[Any], losses: Any
) -> NDArray[np.float64]:
    """Return each row's prediction by a model that has not seen it, of the kind with the smallest mean loss.

    Kinds that are clearly behind are not fitted in further folds (`confide.models.comparison`).
    """
    found = compare(models, Rows(X, target), folds, _predicted, losses)
    answers: NDArray[np.float64] = found.answers[np.argsort(found.places)]
    return answers


def _predicted(model: Any, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probability of True by a classifier, or a regressor's prediction."""
    return np.asarray(model.predict_proba(X)[:, 1] if hasattr(model, "predict_proba") else model.predict(X))


def squared_errors(predicted: NDArray[np.float64], target: NDArray[Any]) -> NDArray[np.float64]:
    """Return each row's squared error."""
    errors: NDArray[np.float64] = (target - predicted) ** 2
    return errors


def log_losses(predicted: NDArray[np.float64], target: NDArray[Any]) -> NDArray[np.float64]:
    """Return each row's log loss; a probability of 0 or 1 is as good as one in a million."""
    probability = np.clip(predicted, 1e-6, 1 - 1e-6)
    return -np.log(np.where(target, probability, 1 - probability))
