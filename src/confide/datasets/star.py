"""Project STAR: a real trial, part of which is made observational by an outcome-tilted selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from confide.datasets.dataset import Dataset, bundled, check_trial_size, rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.typing import RandomState

TEST = 1000
FEWEST, MOST = 10, 2000
SCHOOL = "school_id"
# With whole schools: those of the test part and of the trial; the others are observational.
TEST_SCHOOLS, TRIAL_SCHOOLS = 15, 40


def load_star(
    confounding: float = 1.2, trial_size: int = 400, random_state: RandomState = 0, *, by_school: bool = False
) -> Dataset:
    """Return Project STAR, grade 1: small class against regular class, with hidden confounding of known strength.

    The pupils and their scores are real; hidden confounding is created by the selection of pupils. Of all pupils, 1,000
    at random are the test part and `trial_size` others the trial. Of the rest, a pupil whose score is z standard
    deviations above the mean of all pupils enters the observational table with probability
    1/(1 + exp(-confounding·z)) from a small class, and 1/(1 + exp(confounding·z)) from a regular class. So the
    observational table flatters small classes, and no covariate explains by how much. Within an arm the density
    ratio of trial to observational rows is 1 + exp(-confounding·z) (small) or 1 + exp(confounding·z) (regular),
    up to a factor.

    With the same `random_state` the test pupils stay the same whatever the other arguments are, and a larger
    trial contains the smaller one.

    Parameters
    ----------
    confounding : float, default 1.2
        Strength of the selection, at least 0; at 0 half of the remaining pupils are taken at random.
    trial_size : int, default 400
        Number of trial pupils in both arms together, from 10 to 2,000.
    random_state : int, RandomState instance or None, default 0
        Decides everything.
    by_school : bool, default False
        Draw whole schools: 15 of the 75 are the test part, the trial's pupils are of 40 others, and no school is in two
        tables, which then have the column ``"school_id"``. It is a cluster, not a covariate.

    Returns
    -------
    Dataset
        Treatment ``"small"`` (1: small class, 0: regular class; classes with an aide are left out), outcome
        ``"score"`` (mean of the reading and the mathematics score at the end of grade 1). Covariates: ``gender``,
        ``ethnicity``, ``birth``, ``lunch``, ``school``, ``degree``, ``ladder``, ``experience`` and
        ``teacher_ethnicity``, with text and missing values; ``datasets/data/README.md`` says what each is.

    Notes
    -----
    Kindergarten scores are left out although they predict well: most pupils were assigned to a class type on
    entering kindergarten, so that these scores already bear its effect. Identifiers of schools are left out unless
    ``by_school`` asks for them, since an interval should be for a pupil of any school. Some pupils changed class type
    after kindergarten, and not at random, so that the contrast of the arms is not exactly that of the assignment.
    Coverage on the test part does not depend on this: trial and test pupils of an arm are drawn at random from the same
    pupils, or with ``by_school`` trial and test schools from the same schools. A fifth to a quarter of the variance of
    scores is between schools.

    References
    ----------
    C. M. Achilles et al. (2008). Tennessee's Student Teacher Achievement Ratio (STAR) project. Harvard Dataverse.
    https://doi.org/10.7910/DVN/SIWH9F
    """
    strength = _check_confounding(confounding)
    pupils = bundled("star")
    size = check_trial_size(trial_size, FEWEST, MOST, f"{len(pupils)} pupils")
    rng = check_random_state(random_state)
    order, luck = rng.permutation(len(pupils)), rng.uniform(size=len(pupils))
    if by_school:
        test, trial, rest = _of_whole_schools(pupils[SCHOOL].to_numpy(), order, size, rng)
    else:
        test, trial, rest = np.split(order, [TEST, TEST + size])

    score, small = pupils["score"].to_numpy(), pupils["small"].to_numpy()
    z = (score - score.mean()) / score.std()
    # tanh rather than exp: it does not overflow however strong the confounding is.
    kept = luck < (1 + np.tanh(strength * np.where(small == 1, z, -z) / 2)) / 2
    observational = rest[kept[rest]]
    shown = pupils if by_school else pupils.drop_columns([SCHOOL])
    return Dataset(rows(shown, observational), rows(shown, trial), rows(shown, test), "small", "score")


def _of_whole_schools(
    school: NDArray[np.int64], order: NDArray[np.intp], size: int, rng: np.random.RandomState
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the pupils of the test's schools, some of the trial's, and of the others, in the given order."""
    names = rng.permutation(np.unique(school))
    test, trial, rest = (
        order[np.isin(school[order], some)] for some in np.split(names, [TEST_SCHOOLS, TEST_SCHOOLS + TRIAL_SCHOOLS])
    )
    return test, trial[:size], rest


def _check_confounding(confounding: Any) -> float:
    """Return the strength as a float; raise unless it is finite and at least 0."""
    try:
        strength = float(confounding)
    except (TypeError, ValueError) as error:
        raise ValueError(f"confounding must be a number of at least 0, got {confounding!r}.") from error
    if not (np.isfinite(strength) and strength >= 0):
        raise ValueError(
            f"confounding must be finite and at least 0, got {confounding!r}. Use 0 for none; the direction is fixed."
        )
    return strength
