"""The four-arm within-study comparison: a real trial, and people who got the training that they had chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from confide.datasets.dataset import Dataset, bundled, check_trial_size, rows

if TYPE_CHECKING:
    from confide.typing import RandomState

TEST = 500
FEWEST, MOST = 10, 1000
TREATMENT, CHOICE, OUTCOME = "mathGrp", "mathSel", "mathPost"
# What drives the choice and the outcome, and may be left out of the covariates.
DRIVERS = ("mathLike", "AMAS", "MCS", "calc")


def load_within_study(
    trial_size: int = 60, random_state: RandomState = 0, *, hidden: bool = True, choice: bool = False
) -> Dataset:
    """Return the within-study comparison of mathematics and vocabulary training: a real trial and real preferences.

    2,200 people took baseline measures, said which of two trainings they would choose, and got one of them by lot.
    Every outcome is measured, none is simulated. The three parts are drawn from these people:

    - *Test*: 500 people at random, whatever they chose.
    - *Trial*: `trial_size` others at random, whatever they chose, as many from each training.
    - *Observational*: of the rest, those whose lot agrees with their choice. They got what they wanted, as in a table
      of people who choose for themselves. The others of the rest are left out.

    People who like mathematics and are sure of it choose the mathematics training, and do better at the post-test
    whatever training they get. So the observational table flatters the mathematics training and belittles the other,
    also among people of the same covariates, since the covariates do not hold what drives the choice.

    With the same `random_state` the test people stay the same whatever the other arguments are, and a larger trial
    contains the smaller one.

    Parameters
    ----------
    trial_size : int, default 60
        Number of trial people in both arms together, from 10 to 1,000. Half of them have each training; of an odd
        number one more has the vocabulary training.
    random_state : int, RandomState instance or None, default 0
        Decides everything.
    hidden : bool, default True
        Leave out the covariates that drive the choice: ``mathLike`` (likes mathematics), ``AMAS`` (anxiety of
        mathematics), ``MCS`` (confidence in it) and ``calc`` (took a course in calculus). False: keep them; what
        remains hidden is small.
    choice : bool, default False
        Keep what each person would choose, the column ``"mathSel"`` (1: mathematics), in all three tables: to ask
        about people who would choose a training. It is no covariate.

    Returns
    -------
    Dataset
        Treatment ``"mathGrp"`` (1: mathematics training, 0: vocabulary training), outcome ``"mathPost"`` (mathematics
        post-test, whole numbers from 0 to 15). Covariates: 21 numbers (25 with ``hidden=False``) under the names of
        the source, which ``datasets/data/README.md`` explains. The strongest is the pre-test ``mathPre``. The choice
        itself is in no table unless it is asked for.

    Notes
    -----
    The lot gave the mathematics training to 1,064 of the 2,200 people, a share that the test part keeps. Within an
    arm, trial and test people are drawn at random from the same people.

    A ridge regression on the 21 covariates explains about 60 % of the variance of the outcome in either arm. Among
    people of the same 21 covariates, those who got what they chose have outcomes 0.8 points higher with the
    mathematics training, and 1.0 lower with the vocabulary training, than those who did not (standard errors 0.16 and
    0.15). With all 25 covariates 0.4 and -0.3 remain. A trial holds both kinds of people, so that a regression learnt
    from the observational table is biased by less: about 0.5 points with the mathematics training and -0.3 with the
    vocabulary training, where the outcome's standard deviation is 3.6. A trial of 60 is too small to detect this.

    References
    ----------
    B. Keller, V. C. Wong, S. Park, J. Zhang, P. Sheehan and P. M. Steiner (2025). A new four-arm within-study
    comparison: design, implementation, and data. Observational Studies 11(2), 153-188.
    https://doi.org/10.1353/obs.2025.a963647
    """
    people = bundled("within_study")
    size = check_trial_size(trial_size, FEWEST, MOST, f"{len(people)} people")
    lot, chosen = (people[name].to_numpy() for name in (TREATMENT, CHOICE))
    test, others = np.split(check_random_state(random_state).permutation(len(people)), [TEST])
    # One of each training in turn, so that a larger trial begins with the smaller one.
    most = np.column_stack([others[lot[others] == label][: MOST // 2] for label in (0, 1)]).ravel()
    trial = most[:size]
    rest = others[~np.isin(others, trial)]
    observational = rest[lot[rest] == chosen[rest]]
    shown = people.drop_columns([*(() if choice else [CHOICE]), *(DRIVERS if hidden else ())])
    return Dataset(rows(shown, observational), rows(shown, trial), rows(shown, test), TREATMENT, OUTCOME)
