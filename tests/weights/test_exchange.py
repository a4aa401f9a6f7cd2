"""Exchange a calibration row with the new one, with weights, groups and clusters: nothing may tell them apart.

`tests/test_swap.py` does so where every row stands for one person. Here each row of the bag is made the new one in turn
too. Given the bag, the new one is row i with a probability in proportion to its weight: so the weights of the rows that
are members of their own sets must add up to 1-α of all.
"""

import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.linear_model import Ridge

from confide import CounterfactualIntervals, Intervals, RefusalError, Study
from confide.data.splits import spawn_seeds, split_places
from confide.effects.base import difference

pytestmark = pytest.mark.filterwarnings(
    "ignore::confide.exceptions.InfiniteIntervalWarning", "ignore::confide.exceptions.PopulationWarning"
)
SEED = 3
ALPHA = 0.2
METHODS = ["transfer", "transfer-centred", "naive", pytest.param("prognostic", marks=pytest.mark.slow)]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}


def people(count, seed, arms=2):
    """Rows of a trial: covariates, treatment, outcome, and the probability of the treatment received."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=count), rng.integers(2, size=count)])
    chance = 0.5 + 0.35 * np.tanh(2 * X[:, 0])
    left = np.repeat(((1 - chance) / (arms - 1))[:, None], arms, axis=1)
    left[:, 1] = chance
    t = (rng.random(count)[:, None] > left.cumsum(axis=1)).sum(axis=1)
    y = X[:, 0] + t + np.exp(X[:, 0]) * rng.normal(size=count)
    return X, t, y, left[np.arange(count), t]


class Bag:
    """The calibrating rows of arm 1 and one more; `fitted` learns with one of them left out."""

    def __init__(self, model, *, assigned, half=False, trial=60):
        self.model, self.assigned = model, assigned
        self.others, mine = people(100, 1), people(trial, 2)
        extra = [part[people(40, 4)[1] == 1][:1] for part in people(40, 4)]
        rows = [np.concatenate(each) for each in zip(mine, extra, strict=True)]
        places = np.flatnonzero(rows[1][:-1] == 1)
        if half:
            places = places[split_places(len(places), 0.5, spawn_seeds(SEED, 3)[0])[1]]
        self.rows, self.places = rows, np.append(places, trial)
        self.X, _, self.y, self.chance = (part[self.places] for part in rows)

    def __len__(self):
        return len(self.places)

    def fitted(self, new):
        order = np.arange(len(self.rows[2]) - 1)
        order[self.places[:-1]] = np.delete(self.places, new)
        X, t, y, chance = (np.concatenate([a, b[order]]) for a, b in zip(self.others, self.rows, strict=True))
        trial = np.arange(len(y)) >= len(self.others[2])
        study = Study(X, y, t, trial, assignment=np.where(trial, chance, np.nan) if self.assigned else None)
        return clone(self.model).fit(study)


def model(method, **params):
    return CounterfactualIntervals(method, base=Ridge(), random_state=SEED, **{"alpha": ALPHA, **params})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.slow
def test_known_probabilities(method):
    bag = Bag(model(method), assigned=True, half=method == "naive")
    weight, known, unknown = 1 / bag.chance, [], []
    for new in range(len(bag)):
        fitted = bag.fitted(new)
        marks = fitted.arms_[1].weights_.marks
        assert np.isin(np.delete(weight, new).round(9), marks.weight.round(9)).all()
        row, y = bag.X[[new]], bag.y[new]
        known.append(bool(fitted.predict_set(row, 1, assignment=bag.chance[[new]]).contains(y)[0]))
        unknown.append(bool(fitted.predict_set(row, 1).contains(y)[0]))
    assert weight @ known >= (1 - ALPHA) * weight.sum()
    # The bag's heaviest row is the one that no other row tells of.
    assert weight @ unknown >= (1 - ALPHA) * weight.sum() - weight.max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.slow
def test_groups(method):
    bag = Bag(model(method, groups=[1]), assigned=False, half=method == "naive")
    members = [bool(bag.fitted(new).predict_set(bag.X[[new]], 1).contains(bag.y[new])[0]) for new in range(len(bag))]
    for group in (0, 1):
        mine = bag.X[:, 1] == group
        assert np.sum(np.array(members)[mine]) >= math.ceil((1 - ALPHA) * mine.sum() - 1e-9)


@pytest.mark.parametrize("side", ["lower", pytest.param("upper", marks=pytest.mark.slow)])
def test_one_side(side):
    bag = Bag(model("transfer", side=side), assigned=False)
    members = [bool(bag.fitted(new).predict_set(bag.X[[new]], 1).contains(bag.y[new])[0]) for new in range(len(bag))]
    assert sum(members) >= math.ceil((1 - ALPHA) * len(bag) - 1e-9)


def test_whole_clusters():
    """A new person is any of a new cluster: of each cluster the share of members counts, and they add up to 1-α."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, 14)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(cluster), 1))
    # Small clusters vary more.
    y = X[:, 0] + 4 * rng.normal(size=len(sizes))[cluster] / sizes[cluster] + rng.normal(size=len(cluster))
    others, controls = rng.normal(size=(100, 1)), rng.normal(size=(20, 1))
    shares = []
    for new in range(len(sizes)):
        kept = cluster != new
        rows = np.concatenate([others, controls, X[kept]])
        outcome = np.concatenate([others[:, 0] + rng.normal(size=100), controls[:, 0], y[kept]])
        t = np.repeat([0, 1, 0, 1], [50, 50, 20, kept.sum()])
        trial = np.arange(len(t)) >= 100
        labels = np.concatenate([np.full(100, -1), 100 + np.arange(20), cluster[kept]])
        fitted = model("transfer").fit(Study(rows, outcome, t, trial, cluster=labels))
        assert fitted.arms_[1].calibration_.total == pytest.approx(len(sizes) - 1)
        shares.append(fitted.predict_set(X[~kept], 1).contains(y[~kept]).mean())
    assert sum(shares) >= (1 - ALPHA) * len(sizes) - 1e-9


class Counted(TransformerMixin, BaseEstimator):
    """A cluster's number as the count of rows that were learnt from: 0 for a new one."""

    def fit(self, X, y=None):  # noqa: ARG002
        self.values_, self.counts_ = np.unique(X, return_counts=True)
        return self

    def transform(self, X):
        return (np.asarray(X) == self.values_).astype(float) @ self.counts_[:, None]


def test_an_encoder_learns_nothing_of_a_cluster_that_calibrates_in_any_arm():
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(10, 70), rng.integers(1, 6, 60))
    t, X = rng.integers(2, size=len(cluster)), cluster[:, None].astype(float)
    study = Study(X, rng.normal(size=len(t)), t, np.ones(len(t), dtype=bool), cluster=cluster)
    assert study.clusters_divided
    fitted = model("naive", encoder=Counted()).fit(study)
    learnt = []
    for label in (0, 1):
        mine = X[t == label]
        learns, calibrates = split_places(len(mine), 0.5, spawn_seeds(SEED, 3)[0], study.cluster[t == label])
        assert (fitted.encode(mine[calibrates]) == 0).all()  # as that of a new cluster
        learnt.append(fitted.encode(mine[learns]).max())
    assert max(learnt) > 0


def test_nested_effects_of_three_arms_with_known_probabilities_are_refused():
    """A row does not tell the probability with which it would have been a control."""
    X, t, y, chance = people(100, 1, arms=3)
    study = Study(X, y, t, np.ones(100, dtype=bool), assignment=chance)
    with pytest.raises(RefusalError, match=r"nested effects of three or more treatments .* Use effect='bonferroni'"):
        model("naive", effect="nested-exact").fit(study)
    same = Study(X, y, t, np.ones(100, dtype=bool), assignment=np.bincount(t)[t] / 100)
    assert model("naive", effect="nested-exact").fit(same).effect_promise_.exists


def test_nested_effects_with_known_probabilities():
    """The control's sets are one function of a row, whichever row is new: its own probability is known."""
    bag = Bag(model("transfer", effect="nested-exact", alpha=2 * ALPHA), assigned=True)
    table = []
    # Among them the row that would have been a control with the smallest probability.
    for new in (0, 1, int(bag.chance.argmax())):
        fitted = bag.fitted(new)
        pair, control = fitted.effect_.pairs_[1, 0], fitted.effect_.controls_[0]
        truth = difference(Intervals(bag.y, bag.y), control.predict_interval(control._new_rows(bag.X, 1 - bag.chance)))
        scores = pair.ends.miss(bag.X, truth)
        np.testing.assert_allclose(np.sort(pair.scores["both"]), np.sort(np.delete(scores, new)), **CLOSE)
        table.append(scores)
    assert np.isfinite(table[0]).mean() > 0.5
    np.testing.assert_allclose(np.array(table), np.broadcast_to(table[0], np.shape(table)), **CLOSE)
