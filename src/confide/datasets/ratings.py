"""Simulated ratings that are missing not at random, of the size of Yahoo! R3."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from confide.base.validation import check_count
from confide.data.splits import spawn_seeds
from confide.datasets.rating_files import HIGHEST, LOWEST, as_dataset

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.datasets.dataset import Dataset
    from confide.typing import RandomState

# Yahoo! R3's: a user has 24 self-selected ratings on average and ten random ones, two fifths of these in the trial.
SELECTED_A_USER = 129_179 / 5_400
TRIAL_SHARE = 0.4
# The latent liking: its mean, and the standard deviations of its parts.
MEAN, USER, ITEM, TASTE, HIDDEN, NOISE = 2.0, 0.5, 0.5, 0.6, 0.8, 0.6
# On the logarithmic scale: spread of the users' activity and of the items' popularity, and the pull of quality.
ACTIVITY, POPULARITY, QUALITY = 0.7, 0.8, 1.0


def simulate_ratings(
    n_users: int = 5400,
    n_items: int = 1000,
    *,
    n_observational: int | None = None,
    random_per_user: int = 10,
    trial_size: int | None = None,
    dimensions: int = 4,
    confounding: float = 1.0,
    random_state: RandomState = 0,
) -> Dataset:
    """Return ratings from 1 to 5, most of them self-selected by a liking that is in no column.

    The liking of user u for item i is 2 + b_u + c_i + p_u·q_i + 0.8·H + 0.6·ε: b and c normal with standard deviation
    0.5, the tastes p_u·q_i of the given dimension with 0.6, H and ε standard normal and new for each pair. The rating
    is the liking, rounded and cut to 1 to 5. H is the hidden confounder, say a recommendation by a friend: it is in no
    column, and cannot be inferred from user or item.

    Every user rates some items at random: the trial and the test part, exactly of the population of all pairs. Of the
    other pairs the self-selected ones are drawn without replacement with weights
    exp(0.7·a_u + 0.8·g_i + c_i + confounding·H), a and g standard normal: active users, popular and good items, and
    what is liked for hidden reasons. At confounding 0 ratings are missing at random given user and item.

    Parameters
    ----------
    n_users, n_items : int
        Numbers of users and items; the defaults are those of Yahoo! R3.
    n_observational : int, default None
        Number of self-selected ratings. None: as many per user as in Yahoo! R3, 129,179 by default.
    random_per_user : int, default 10
        Number of random ratings per user.
    trial_size : int, default None
        Number of random ratings in the trial; the others are the test part. None: two fifths of them, as the paper.
    dimensions : int, default 4
        Dimension of the tastes.
    confounding : float, default 1.0
        Strength of the hidden confounding, at least 0.
    random_state : int, RandomState instance or None, default 0
        Decides everything random. All likings are drawn first; with the same numbers of users and items they do not
        depend on the other parameters.

    Returns
    -------
    Dataset
        No treatment, outcome ``"rating"``. Covariates: ``user`` and ``item``, numbered from 0.
    """
    users, items = check_count("n_users", n_users), check_count("n_items", n_items)
    dimension = check_count("dimensions", dimensions)
    each = _at_most("random_per_user", random_per_user, items - 1, "n_items - 1")
    left = users * (items - each)
    asked = min(round(SELECTED_A_USER * users), left) if n_observational is None else n_observational
    selected = _at_most("n_observational", asked, left, "the pairs that are not in the random part")
    if not (isinstance(confounding, Real) and 0 <= float(confounding) < np.inf):
        raise ValueError(f"confounding must be a number of at least 0, got {confounding!r}. Use 0 for none.")
    if trial_size is None:
        trial_size = max(round(TRIAL_SHARE * users * each), 1)

    world, random_seed, chosen_seed, split_seed = spawn_seeds(random_state, 4)
    rng = np.random.default_rng(world)
    liking, quality = _expected_liking(rng, users, items, dimension)
    hidden = rng.standard_normal((users, items))
    liking += HIDDEN * hidden + NOISE * rng.standard_normal((users, items))
    ratings = np.clip(np.rint(liking), LOWEST, HIGHEST).astype(np.int64)

    random = np.zeros((users, items), dtype=bool)
    luck = np.random.default_rng(random_seed).random((users, items))
    np.put_along_axis(random, np.argpartition(luck, each - 1, axis=1)[:, :each], values=True, axis=1)
    rng = np.random.default_rng(chosen_seed)
    weight = ACTIVITY * rng.standard_normal((users, 1)) + POPULARITY * rng.standard_normal(items) + QUALITY * quality
    # Largest logarithm of weight plus Gumbel noise: draws without replacement, each by weight among those left.
    keys = weight + float(confounding) * hidden + rng.gumbel(size=(users, items))
    keys[random] = -np.inf
    chosen = np.zeros(users * items, dtype=bool)
    chosen[np.argpartition(keys.ravel(), -selected)[-selected:]] = True
    parts = (_rows(ratings, mask) for mask in (chosen.reshape(users, items), random))
    return as_dataset(*parts, trial_size=trial_size, random_state=split_seed)


def rating_probabilities(
    user: NDArray[np.int64],
    item: NDArray[np.int64],
    n_users: int = 5400,
    n_items: int = 1000,
    *,
    dimensions: int = 4,
    random_state: RandomState = 0,
) -> NDArray[np.float64]:
    """Return the probabilities of the ratings 1 to 5 at pairs of `simulate_ratings`, the hidden confounder unknown.

    The other parameters must be those of the simulation; an instance of RandomState would have moved on in between.
    """
    world = spawn_seeds(random_state, 4)[0]
    liking, _ = _expected_liking(np.random.default_rng(world), n_users, n_items, dimensions)
    between = np.arange(LOWEST, HIGHEST) + 0.5  # where the rating changes
    below = norm.cdf((between - liking[user, item][:, None]) / np.hypot(HIDDEN, NOISE))
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def _expected_liking(
    rng: np.random.Generator, users: int, items: int, dimension: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each pair's expected liking, without H and ε, and the quality of items."""
    quality = ITEM * rng.standard_normal(items)
    liking = MEAN + USER * rng.standard_normal((users, 1)) + quality
    scale = np.sqrt(TASTE) * dimension**-0.25
    liking += (scale * rng.standard_normal((users, dimension))) @ (scale * rng.standard_normal((dimension, items)))
    return liking, quality


def _rows(ratings: NDArray[np.int64], mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the pairs of the mask, one row (user, item, rating) each."""
    user, item = np.nonzero(mask)
    return np.column_stack([user, item, ratings[user, item]])


def _at_most(name: str, value: Any, most: int, available: str) -> int:
    """Return the number; raise unless it is a whole number from 1 to ``most``."""
    if check_count(name, value) > most:
        raise ValueError(f"{name} must be at most {most:,}, {available}, got {value!r}. Choose fewer.")
    return int(value)
