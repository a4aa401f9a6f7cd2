"""The National Supported Work trial with controls from a survey: hardly any overlap, one arm only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from confide.datasets.dataset import Dataset, bundled, check_trial_size, rows

if TYPE_CHECKING:
    from confide.typing import RandomState

FEWEST, MOST = 10, 400


def load_nsw(trial_size: int = 300, random_state: RandomState = 0) -> Dataset:
    """Return the National Supported Work trial of job training, with survey respondents as observational controls.

    The hard case: no gain over the trial alone is to be expected here. The observational table holds untrained
    people only: for the treated arm the default takes their prognostic score, and other methods refuse or fall back on
    the trial. Its people are unlike the trial's: older, more often married, with several times the earnings before the
    trial. Their earnings of 1978 are cut off at 25,565 dollars, the trial's are not.

    Parameters
    ----------
    trial_size : int, default 300
        Number of trial rows in both arms together, from 10 to 400; the others are the test part.
    random_state : int, RandomState instance or None, default 0
        Decides which rows of the trial are held out.

    Returns
    -------
    Dataset
        Treatment ``"treated"`` (1: offered the training), outcome ``"earnings"`` (of 1978, in dollars). Covariates:
        ``age``, ``education`` (years), ``black``, ``hispanic``, ``married``, ``no_degree``, ``earnings_1974`` and
        ``earnings_1975``. Trial and test rows are the sample of Dehejia and Wahba, observational rows LaLonde's
        comparison group CPS-1.

    References
    ----------
    R. J. LaLonde (1986). Evaluating the econometric evaluations of training programs with experimental data.
    American Economic Review 76, 604-620.

    R. H. Dehejia and S. Wahba (1999). Causal effects in nonexperimental studies: reevaluating the evaluation of
    training programs. Journal of the American Statistical Association 94, 1053-1062.
    """
    people = bundled("nsw")
    size = check_trial_size(trial_size, FEWEST, MOST, f"{len(people)} people")
    trial, test = np.split(check_random_state(random_state).permutation(len(people)), [size])
    return Dataset(bundled("cps"), rows(people, trial), rows(people, test), "treated", "earnings")
