"""A cross-fitted density ratio: for features that are themselves learnt from outcomes, as those of users and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from confide.base.cache import fit_once
from confide.base.validation import check_count
from confide.data.splits import spawn_seeds
from confide.models.fitting import seeded
from confide.ratio.base import DensityRatio
from confide.ratio.classifier import ClassifierRatio
from confide.recommend.factorization import MatrixFactorization

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from confide.typing import RandomState


class CrossFittedRatio(DensityRatio):
    """A density ratio on out-of-fold features: each row's features come from an embedding not trained on that row.

    An embedding overfits the rows it was trained on, and these are all observational. A ratio on in-sample features
    would therefore separate the two sources even where their distributions are equal. So observational and trial rows
    are split into folds at random. For each fold, an embedding is trained on the observational rows of the *other*
    folds, and gives the features of this fold's rows, observational and trial. One ratio is then trained on the
    features and outcomes of all rows.

    For new rows, r̂ is the mean of this ratio over the embeddings of all folds. Calibration rows and new rows are unseen
    by every embedding, as the rows of its own fold were in training. So their features are as accurate, and rest on as
    many rows, as those that the ratio was trained on. Features of one embedding trained on all rows, or features
    averaged over embeddings, would not be. The ratio is one fixed function of (x, y), as the promises need. At the
    observational rows that it was fitted on, r̂ is not reliable, because all embeddings but one were trained on them.
    So methods reject it with ``base_on="weighted"`` and with ``ratio_rows="all"``, which need r̂ at these rows.

    Trial outcomes do not enter the embedding; with ``on="x"`` they are not used at all.

    Parameters
    ----------
    embedding : estimator, default None
        Has ``fit(X, y)`` and ``transform(X)``. The columns that ``transform`` returns must mean the same in every fit;
        raw factors do not, because they are unique up to rotation only. None: `MatrixFactorization`, and the covariates
        must be user and item.
    ratio : density ratio, default None
        The ratio trained on the features and the outcome. None: `ClassifierRatio`. Its ``on`` is set to this ``on``.
    folds : int, default 5
        Number of folds, and of embeddings.
    on : {"xy", "x", "y"}
        What the ratio is a function of: features and outcome, the features alone, or the outcome alone.
    random_state : int, RandomState instance or None
        Decides the folds, and seeds the embedding and the ratio if they have no seed of their own.

    Attributes
    ----------
    embeddings_ : list
        One per fold, trained on the other folds.
    ratio_ : density ratio
        Fitted on the features.
    """

    unseen_only = True

    def __init__(
        self,
        embedding: Any = None,
        ratio: Any = None,
        folds: int = 5,
        on: str = "xy",
        *,
        random_state: RandomState = None,
    ) -> None:
        self.embedding = embedding
        self.ratio = ratio
        self.folds = folds
        self.on = on
        self.random_state = random_state

    def _columns(self) -> slice:
        super()._columns()  # checks ``on``; the columns are selected later, among the features
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
        """Return the embedding trained on the rows of the other folds."""
        return fit_once(seeded(embedding, seed), rows[others, :-1], rows[others, -1])

    def _out_of_fold(self, rows: NDArray[np.float64], fold: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return each row's out-of-fold features (of the embedding not trained on its fold), then its outcome."""
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
