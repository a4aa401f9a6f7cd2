"""A ratio on learnt features must not tell by them which rows they were learnt from."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.neural_network import MLPClassifier

from confide import WSCPDR, WTCPDR, CounterfactualIntervals, PooledDR, load
from confide.base.cache import sharing_fits
from confide.datasets import simulate_ratings
from confide.models.preprocessing import standardised
from confide.ratio import ClassifierRatio, KernelRatio, NaiveBayesRatio, ratio_on
from confide.recommend import CrossFittedRatio, MatrixFactorization
from decision import assert_covers

pytestmark = pytest.mark.slow

EMBEDDING = MatrixFactorization(8, 2.0, 2.0)
STARS = [1, 2, 3, 4, 5]


def rows(table):
    return np.column_stack([table[name] for name in ("user", "item", "rating")]).astype(float)


def alike(seed, trial_size=1000):
    """Trial and observational rows of one distribution: all pairs were drawn at random."""
    data = simulate_ratings(
        120, 80, random_per_user=30, n_observational=1, trial_size=trial_size, confounding=0, random_state=seed
    )
    return rows(data.trial), rows(data.test)


def confounded(seed):
    data = simulate_ratings(200, 60, random_per_user=15, n_observational=4000, confounding=1.5, random_state=seed)
    return rows(data.trial), rows(data.observational), rows(data.test)


class Leaking(CrossFittedRatio):
    """What must not be: every embedding has seen all observational rows."""

    def _embed(self, embedding, rows, others, seed):
        return super()._embed(embedding, rows, np.ones_like(others), seed)


class Remembering(ClassifierRatio):
    """Keep the features."""

    def fit(self, numerator, denominator):
        self.seen_ = numerator, denominator
        return super().fit(numerator, denominator)


def features(kind, trial, observational, seed=0, embedding=EMBEDDING):
    return kind(embedding, Remembering(), random_state=seed).fit(trial, observational).ratio_.seen_


def held_out_auc(trial, observational):
    """How well rows that a classifier has not seen are told apart; 0.5 is not at all."""
    rows, label = np.concatenate([observational, trial]), np.repeat([0, 1], [len(observational), len(trial)])
    classifier = standardised(MLPClassifier(max_iter=500, early_stopping=True, random_state=0))
    probability = cross_val_predict(classifier, rows, label, cv=3, method="predict_proba")[:, 1]
    return roc_auc_score(label, probability)


def test_features_do_not_tell_the_sources_apart_unless_they_leak():
    found = {kind: [] for kind in (CrossFittedRatio, Leaking)}
    for seed in range(4):
        trial, observational = alike(seed)
        for kind, aucs in found.items():
            aucs.append(held_out_auc(*features(kind, trial, observational, seed, MatrixFactorization(8))))
    # One area has a standard deviation of about 0.012 by chance.
    assert abs(np.mean(found[CrossFittedRatio]) - 0.5) < 4 * 0.012 / 2
    assert np.mean(found[Leaking]) > 0.6


def test_where_the_sources_are_alike_the_ratio_is_about_one_and_coverage_nominal():
    spread, coverage = {}, {}
    for kind in (CrossFittedRatio, Leaking):
        spread[kind], coverage[kind] = [], []
        for seed in range(10):
            trial, observational = alike(seed, 1500)
            trial, new = trial[:500], trial[500:]
            X = np.concatenate([observational, trial])
            arm = WTCPDR(base=EMBEDDING, ratio=kind(EMBEDDING), outcome_values=STARS, alpha=0.2, random_state=seed)
            arm.fit(X[:, :2], X[:, 2], trial=np.repeat([False, True], [len(observational), len(trial)]))
            ratio = arm.ratio_.predict(new)
            spread[kind].append(np.abs(ratio / ratio.mean() - 1).mean() / 2)
            coverage[kind].append(arm.predict_set(new[:, :2]).contains(new[:, 2]).mean())
    assert np.mean(spread[CrossFittedRatio]) < 0.15 < np.mean(spread[Leaking])
    # Ratings are few values, so that coverage comes in steps: a set may cover a little more than it must.
    assert_covers({"cross-fitted": (coverage[CrossFittedRatio], 0.78)}, {"cross-fitted": 0.84})
    assert np.mean(coverage[Leaking]) > 0.9


def test_under_hidden_confounding_it_weighs_towards_the_trial():
    trial, observational, new = confounded(0)
    half = len(observational) // 2
    ratio = CrossFittedRatio(MatrixFactorization(8), random_state=0).fit(trial, observational[:half])
    fresh = observational[half:]
    weights = ratio.predict(fresh)
    target, before = new[:, 2].mean(), fresh[:, 2].mean()
    after = np.average(fresh[:, 2], weights=weights)
    assert before - target > 0.5
    assert abs(after - target) < 0.3 * (before - target)


def test_no_row_has_seen_its_own_outcome():
    trial, observational, _ = confounded(1)
    observational = observational[:300]
    one = features(CrossFittedRatio, trial, observational)
    for row in (0, 7, 100):
        moved = observational.copy()
        moved[row, 2] += 100
        two = features(CrossFittedRatio, trial, moved)
        np.testing.assert_array_equal(two[1][row, :-1], one[1][row, :-1])
        assert not np.array_equal(two[1], one[1])
        assert not np.array_equal(
            features(Leaking, trial, moved)[1][row], features(Leaking, trial, observational)[1][row]
        )
    moved = trial.copy()
    moved[:, 2] += 100
    np.testing.assert_array_equal(features(CrossFittedRatio, moved, observational)[0][:, :-1], one[0][:, :-1])


def test_a_fold_s_rows_of_both_sources_have_the_same_embedding():
    class Numbering(MatrixFactorization):
        """The number of rows it learnt from is the feature."""

        def transform(self, X):
            return np.full((len(X), 1), float(self.user_count_.sum()))

    trial, observational, _ = confounded(0)
    observational = observational[:103]
    numerator, denominator = features(CrossFittedRatio, trial, observational, embedding=Numbering(1, np.inf))
    # 103 rows in 5 folds: three of 21 rows and two of 20, whose embeddings learnt from 82 and 83.
    for part in (numerator, denominator):
        assert set(np.unique(part[:, 0])) == {82.0, 83.0}
    assert np.sum(denominator[:, 0] == 82) == 63
    assert np.mean(numerator[:, 0] == 82) == pytest.approx(0.6, abs=0.01)


def test_predictions_are_the_mean_over_embeddings_and_one_function_of_the_row():
    trial, observational, new = confounded(2)
    ratio = CrossFittedRatio(EMBEDDING, folds=3, random_state=0).fit(trial, observational)
    assert len(ratio.embeddings_) == 3
    each = [
        ratio.ratio_.predict(np.column_stack([embedding.transform(new[:, :2]), new[:, 2]]))
        for embedding in ratio.embeddings_
    ]
    np.testing.assert_allclose(ratio.predict(new), np.mean(each, axis=0))
    np.testing.assert_allclose(ratio.predict(new[::-1])[::-1], ratio.predict(new))
    np.testing.assert_allclose(ratio.predict(new[:1]), ratio.predict(new)[:1])
    assert ratio.limits_ == ratio.ratio_.limits_


@pytest.mark.parametrize("inner", [None, KernelRatio(0.1), ClassifierRatio(standardised(LogisticRegression()))])
@pytest.mark.parametrize("on", ["x", "y", "xy"])
def test_on_selects_features_or_outcome(inner, on):
    trial, observational, new = confounded(0)
    ratio = ratio_on(CrossFittedRatio(EMBEDDING, inner, random_state=0), on).fit(trial[:200], observational[:600])
    rows = new[:5]
    same = ratio.predict(rows)
    assert np.array_equal(ratio.predict(rows + [0, 0, 1]), same) == ("y" not in on)  # noqa: RUF005
    assert np.array_equal(ratio.predict(rows[:, [0, 0, 2]]), same) == ("x" not in on)
    if on == "x":
        assert np.array_equal(ratio.predict(rows * [1, 1, np.nan]), same)
        trial = trial * [1, 1, np.nan]
        blind = clone(ratio).fit(trial[:200], observational[:600])
        np.testing.assert_array_equal(blind.predict(rows), same)


def test_the_seed_decides_and_few_trial_rows_leave_folds_empty():
    trial, observational, new = confounded(0)
    one, two, other = (
        CrossFittedRatio(EMBEDDING, random_state=seed).fit(trial[:2], observational[:200]).predict(new)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)
    assert np.isfinite(CrossFittedRatio().fit(trial[:3], observational[:2]).predict(new)).all()


@pytest.mark.parametrize("kind", [WTCPDR, WSCPDR, PooledDR])
def test_methods_take_it(kind):
    trial, observational, new = confounded(3)
    X = np.concatenate([observational, trial])
    arm = kind(base=EMBEDDING, ratio=CrossFittedRatio(EMBEDDING), outcome_values=STARS, random_state=0)
    arm.fit(X[:, :2], X[:, 2], trial=np.repeat([False, True], [len(observational), len(trial)]))
    assert arm.predict_set(new[:, :2]).contains(new[:, 2]).mean() > 0.8


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (
            WTCPDR(ratio_rows="all", outcome_values=STARS),
            "ratio_rows='all' needs the ratio at rows.*Use ratio_rows='fit'",
        ),
        (PooledDR(base_on="weighted"), "base_on='weighted' needs the ratio at rows.*Use base_on='grounded'"),
    ],
)
def test_it_is_not_asked_for_rows_that_it_has_seen(estimator, message):
    trial, observational, _ = confounded(0)
    X = np.concatenate([observational, trial])
    estimator.set_params(base=LinearRegression(), ratio=CrossFittedRatio(EMBEDDING))
    with pytest.raises(ValueError, match=message):
        estimator.fit(X[:, :2], X[:, 2], trial=np.arange(len(X)) >= len(observational))


def test_a_model_with_it_saves_and_loads_without_trust(tmp_path):
    trial, observational, new = confounded(4)
    X = np.concatenate([observational, trial])
    model = CounterfactualIntervals(
        WTCPDR(base=EMBEDDING, ratio=CrossFittedRatio(MatrixFactorization(4)), outcome_values=STARS), random_state=0
    )
    model.fit(X[:, :2], X[:, 2], (X[:, 0] % 2).astype(int), np.repeat([False, True], [len(observational), len(trial)]))
    model.save(tmp_path / "model.confide")
    again = load(tmp_path / "model.confide")
    for treatment in (0, 1):
        one, two = (each.predict_interval(new[:50, :2], treatment=treatment) for each in (model, again))
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"folds": 1}, "folds must be a whole number of at least 2, got 1"),
        ({"folds": 2.5}, r"folds must be a whole number of at least 2, got 2\.5"),
        ({"embedding": LogisticRegression()}, "embedding must be an unfitted estimator with fit and transform, got"),
        ({"embedding": MatrixFactorization}, "embedding must be an unfitted estimator with fit and transform, got"),
        ({"ratio": "classifier"}, "ratio must be a density ratio with a parameter `on`, got 'classifier'"),
        ({"ratio": NaiveBayesRatio()}, "ratio must be a density ratio with a parameter `on`, got NaiveBayes"),
        ({"on": "z"}, "on='z' is unknown"),
    ],
)
def test_bad_parameters(params, message):
    trial, observational, _ = confounded(0)
    with pytest.raises(ValueError, match=message):
        CrossFittedRatio(**params).fit(trial[:50], observational[:50])
    with pytest.raises(ValueError, match="needs at least 2 observational rows to fit on, got 1"):
        CrossFittedRatio().fit(trial[:50], observational[:1])


def test_embeddings_do_not_depend_on_the_trial_and_are_shared():
    """Equal embeddings are learnt once for all methods of a study, however many trial rows their ratios take."""
    trial, observational, _ = confounded(0)

    ratios = [CrossFittedRatio(EMBEDDING, KernelRatio(), on=on, random_state=3) for on in ("xy", "x")]
    with sharing_fits():
        fitted = [ratio.fit(rows, observational) for ratio, rows in zip(ratios, (trial, trial[:50]), strict=True)]
    for one, other in zip(*(each.embeddings_ for each in fitted), strict=True):
        assert one is other
    alone = CrossFittedRatio(EMBEDDING, KernelRatio(), random_state=3).fit(trial[:90], observational)
    np.testing.assert_array_equal(alone.embeddings_[2].user_bias_, fitted[0].embeddings_[2].user_bias_)
