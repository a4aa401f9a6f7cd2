"""Density ratios on features that were learnt from outcomes: of users and items, for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from confide.checks import check_count
from confide.learners import seeded
from confide.ratio.base import DensityRatio
from confide.ratio.classifier import ClassifierRatio
from confide.recommend import MatrixFactorization
from confide.sharing import fit_once
from confide.splits import spawn_seeds

if TYPE_CHECKING:
    from numpy.typing import NDArray


class CrossFittedRatio(DensityRatio):
    """A density ratio on features that an embedding learns from outcomes, none of which has seen its own row's.

    An embedding that has seen a row's outcome fits it too well, and only observational rows are so favoured: a ratio
    on such features tells the sources apart where there is nothing to tell. So observational and trial rows are dealt
    into folds at random; for each fold an embedding learns from the observational rows of the *other* folds, and gives
    the fold's rows of both sources their features. One ratio is then learnt from all rows' features and outcomes.

    For new rows r̂ is the mean of this ratio over the embeddings of all folds. To each of them calibration rows and new
    rows are what the rows of its own fold were: rows of the same tables that it has not seen. So the ratio meets
    features as it has learnt from, in accuracy and in counts, which features of one embedding of all rows, or averages
    of features, would not be. It is one fixed function of (x, y), as the promises need. Only at the observational rows
    that it was fitted on is r̂ not to be relied on: all embeddings but one have seen their outcomes. So methods refuse
    it with ``base_on="weighted"`` and with ``ratio_rows="all"``, which ask for it there.

    Trial outcomes do not enter the embedding, so that with ``on="x"`` they enter nothing.

    Parameters
    ----------
    embedding : estimator, default None
        Has ``fit(X, y)`` and ``transform(X)``; columns of the latter must mean the same in every fit, which factors do
        not. None: `MatrixFactorization`; the covariates are then user and item.
    ratio : density ratio, default None
        What is learnt on the features and the outcome. None: `ClassifierRatio`. Its ``on`` is set to this one's.
    folds : int, default 5
        Number of folds, and of embeddings.
    on : {"xy", "x", "y"}
        What the ratio looks at; "x" the features alone.
    random_state : int, RandomState instance or None
        Decides the folds, and seeds the parts where they have no seeds of their own.

    Attributes
    ----------
    embeddings_ : list
        One a fold, which has not seen it.
    ratio_ : density ratio
        Fitted on the features.
    """

    unseen_only = True

    def __init__(
        self, embedding: Any = None, ratio: Any = None, folds: int = 5, on: str = "xy", *, random_state: Any = None
    ) -> None:
        self.embedding = embedding
        self.ratio = ratio
        self.folds = folds
        self.on = on
        self.random_state = random_state

    def _columns(self) -> slice:
        super()._columns()  # ``on`` must be known; what it leaves out is left out of the features
        return slice(None)

    def _fit(self, numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> None:
        folds = check_count("folds", self.folds, 2)
        embedding, ratio = self._check_parts(denominator)
        fold_seed, embedding_seed, ratio_seed = spawn_seeds(self.random_state, 3)
        rng = np.random.default_rng(fold_seed)
        count = min(folds, len(denominator))
        # Observational rows first: their folds, and so the embeddings, do not depend on the trial's rows.
        fold, trial_fold = (rng.permutation(len(rows)) % count for rows in (denominator, numerator))
        self.embeddings_ = [self._embed(embedding, denominator, fold != each, embedding_seed) for each in range(count)]
        self.ratio_ = seeded(ratio, ratio_seed).fit(
            self._out_of_fold(numerator, trial_fold), self._out_of_fold(denominator, fold)
        )
        self.limits_ = self.ratio_.limits_

    def _embed(self, embedding: Any, rows: NDArray[np.float64], others: NDArray[np.bool_], seed: int) -> Any:
        """Return the embedding learnt from the rows of the other folds."""
        return fit_once(seeded(embedding, seed), rows[others, :-1], rows[others, -1])

    def _out_of_fold(self, rows: NDArray[np.float64], fold: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return each row's features by the embedding that has not seen its fold, then its outcome."""
        parts = [_features(self.embeddings_[number], rows[fold == number]) for number in np.unique(fold)]
        by_fold = np.concatenate(parts)
        features = np.empty_like(by_fold)
        features[np.argsort(fold, kind="stable")] = by_fold
        return features

    def _ratio(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        ratios = [self.ratio_.predict(_features(each, rows)) for each in self.embeddings_]
        return np.asarray(np.mean(ratios, axis=0))

    def _check_parts(self, denominator: NDArray[np.float64]) -> tuple[Any, Any]:
        """Return the embedding and the ratio on its features."""
        if len(denominator) < 2:
            raise ValueError(f"cross-fitting needs at least 2 observational rows to fit on, got {len(denominator)}.")
        embedding = MatrixFactorization() if self.embedding is None else self.embedding
        if isinstance(embedding, type) or not all(hasattr(embedding, name) for name in ("fit", "transform")):
            raise ValueError(f"embedding must be an unfitted estimator with fit and transform, got {embedding!r}.")
        ratio = ClassifierRatio() if self.ratio is None else self.ratio
        if not isinstance(ratio, DensityRatio) or "on" not in ratio.get_params():
            raise ValueError(f"ratio must be a density ratio with a parameter `on`, got {ratio!r}.")
        return embedding, clone(ratio).set_params(on=self.on)


def _features(embedding: Any, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the embedding's features of the covariates, then the outcome."""
    return np.column_stack([embedding.transform(rows[:, :-1]), rows[:, -1]])
