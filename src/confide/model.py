"""CounterfactualIntervals, the main estimator: intervals for outcomes under each treatment, and for effects."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Hashable
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from confide.base.state import Labelled
from confide.base.threads import threads_for
from confide.base.validation import all_or_nothing, examples
from confide.conformal.intervals import Intervals, IntervalSets
from confide.conformal.quantile import check_alpha
from confide.data.arrow import take_rows
from confide.data.encoding import TableEncoder, dense, encoded_names, kinds_of
from confide.data.splits import Rows, spawn_seeds
from confide.data.study import Study
from confide.diagnostics.advice import summarise
from confide.diagnostics.covariate_shift import Population
from confide.diagnostics.records import ASKED_ROWS, ArmDiagnostics, ArmSample, diagnose
from confide.effects.registry import check_effect
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning
from confide.methods.registry import METHODS
from confide.methods.registry import method as method_by_name

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from confide.methods.base import ArmEstimator
from confide.methods.study_arms import fit_arm, learning_rows, point_out_two_values, rows_by_arm


class CounterfactualIntervals(Labelled, BaseEstimator):
    """Prediction intervals for the outcome under each treatment, and for individual treatment effects.

    Parameters
    ----------
    method : str or arm estimator, default "transfer-centred"
        A name in ``METHODS``, or an unfitted arm estimator, which is cloned for each arm.
    alpha : float, default None
        Miscoverage level of the outcome intervals and of the effect intervals. None keeps the estimator's own
        level (0.1 for a name).
    effect : {"bonferroni", "nested-exact", "nested-inexact"}
        How the arms' intervals become an interval for the effect: their difference; effects at treated rows
        regressed on the covariates and calibrated on the trial; or the same without calibration, which
        promises nothing.
    arm_alpha : float, default None
        Level of each of the two steps inside the effect. None: alpha/2, so that the effect promises 1 - alpha
        where its arms promise 1 - alpha/2: both with "bonferroni", the earlier label's with "nested-exact".
    encoder : "auto" or transformer
        How covariates become numbers, for all arms alike. "auto": `confide.data.encoding.TableEncoder`. It is fitted,
        without outcomes, on the rows that calibrate neither an arm nor an effect, so that it treats a calibration row
        as it treats a new one. A custom encoder is fitted on the same rows; it must accept unseen values, and must
        not have been fitted on calibration rows before.
    random_state : int, RandomState instance or None
        Seed of each arm. None keeps the estimator's own.
    n_jobs : int, default None
        Number of arms fitted in parallel, as in joblib.

    Attributes
    ----------
    treatments_ : array
        The treatment labels, in order.
    arms_ : dict
        The fitted arm estimator of each label.
    encoder_ : transformer
        The fitted encoder.
    diagnostics_ : dict
        What to check before trusting an arm, by label: `confide.diagnostics.records.ArmDiagnostics`. Computed at first
        use; `summary` gives it as text.

    Notes
    -----
    Promises are marginal, over calibration and new rows together, for new rows from the trial's population whose
    outcomes arise as they did in the trial. They assume that the trial assigned treatment independently of covariates
    and potential outcomes with a constant probability, that it lost no rows because of their outcomes, that its rows
    and the new ones are independent of each other, and that no unit is in both tables. If many new rows, or one far
    out, are clearly unlike the trial's, there is a `PopulationWarning`; no warning is not evidence that they are alike.
    """

    _by_label: ClassVar = ("arms_", "rows_", "samples_")

    def __init__(
        self,
        method: Any = "transfer-centred",
        alpha: float | None = None,
        effect: str = "bonferroni",
        arm_alpha: float | None = None,
        encoder: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.alpha = alpha
        self.effect = effect
        self.arm_alpha = arm_alpha
        self.encoder = encoder
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, treatment: Any, trial: Any) -> Self:
        """Fit every arm.

        Parameters
        ----------
        X : frame or (n, d) array
            Covariates: any data frame that narwhals reads, or an array.
        y : (n,) array
            Outcomes.
        treatment : (n,) array
            Treatment labels, any number of them.
        trial : (n,) boolean array
            True for rows of the randomised trial.
        """
        with all_or_nothing(self):
            study = Study(X, y, treatment, trial)
            arm = self._arm()
            effect = check_effect(self.effect)
            treatments = np.unique(study.treatment)
            point_out_two_values(arm, study.y)
            self.encoder_ = self._fitted_encoder(study.X, learning_rows(arm, effect, study))
            encoded = self._encode(study.X)
            fits = Parallel(n_jobs=self.n_jobs)(delayed(fit_arm)(arm, encoded, study, label) for label in treatments)
            arms, said = zip(*fits, strict=True)
            self.treatments_ = treatments
            self.arms_: dict[Any, ArmEstimator] = dict(zip(treatments.tolist(), arms, strict=True))
            self.n_features_in_ = getattr(self.encoder_, "n_features_in_", encoded.shape[1])
            self.rows_ = rows_by_arm(encoded, study) if self.effect != "bonferroni" else {}
            self.effect_seed_, self.sample_seed_ = spawn_seeds(arm.random_state, 5)[3:]  # after the arms' own three
            self.effect_ = effect.fit(self.arms_, self.rows_, self.step_alpha(), self.effect_seed_)
            self._keep_for_diagnostics(encoded, study)
        for label, notes in zip(treatments.tolist(), said, strict=True):
            for category, text in notes:
                warnings.warn(f"treatment {label}: {text}", category, stacklevel=2)
        self._warn_of_shortage()
        return self

    def predict(self, X: Any, treatment: Any) -> NDArray[np.float64]:
        """Return point predictions under a treatment: one label, or one label per row."""
        parts, order = self._ask_arms("predict", X, treatment)
        return np.concatenate(parts)[order]

    def predict_interval(self, X: Any, treatment: Any) -> Intervals:
        """Return one interval per row for the outcome under a treatment: one label, or one label per row."""
        parts, order = self._ask_arms("predict_interval", X, treatment)
        return Intervals(*np.concatenate(parts)[order].T)

    def predict_set(self, X: Any, treatment: Any) -> IntervalSets:
        """Return one prediction set per row for the outcome under a treatment: one label, or one label per row."""
        parts, order = self._ask_arms("predict_set", X, treatment)
        return IntervalSets.concatenate(parts).take(order)

    def predict_effect(self, X: Any, treated: Any = None, control: Any = None) -> NDArray[np.float64]:
        """Return point predictions of Y(treated) - Y(control); with two arms the second against the first."""
        treated, control = self._pair(treated, control)
        encoded = self._encode_new(X, stacklevel=3)
        return self.arms_[treated].predict(encoded) - self.arms_[control].predict(encoded)

    def predict_effect_interval(self, X: Any, treated: Any = None, control: Any = None) -> Intervals:
        """Return one interval per row for Y(treated) - Y(control); with two arms the second against the first."""
        treated, control = self._pair(treated, control)
        return self.effect_.predict_interval(self._encode_new(X, stacklevel=3), treated, control)

    def with_alpha(self, alpha: float) -> Self:
        """Return a copy at another level: base models and ratios are kept."""
        check_is_fitted(self)
        check_alpha(alpha)
        other = copy.copy(self)
        other.__dict__.pop("diagnostics_", None)
        other.alpha = alpha
        other.arms_ = {label: arm.at(alpha) for label, arm in self.arms_.items()}
        other.effect_ = check_effect(self.effect).fit(
            other.arms_,
            self.rows_,
            other.step_alpha(),
            self.effect_seed_,
        )
        other._warn_of_shortage()  # noqa: SLF001
        return other

    def why_not_at(self, alpha: float) -> str | None:
        """Return why the arms do not support this level, for instance because of a large floor; None if they do."""
        check_is_fitted(self)
        return next(filter(None, (arm.why_not_at(alpha) for arm in self.arms_.values())), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `confide.load` reads without running code; complete or not at all.

        The file contains data of the study, as the model does: calibration scores, samples for the diagnostics and,
        with nested effects and two-stage methods, the rows they are refitted on. Protect it as you protect the tables.
        """
        from confide.io.model_file import save  # noqa: PLC0415  (skops is needed only to save)

        check_is_fitted(self)
        save(self, path)

    @cached_property
    def diagnostics_(self) -> dict[Any, ArmDiagnostics]:
        """What to check before trusting an arm, by treatment label."""
        check_is_fitted(self)
        return {
            label: diagnose(label, arm, self.samples_[label], self.asked_, self.sample_seed_)
            for label, arm in self.arms_.items()
        }

    def summary(self) -> str:
        """Return the diagnostics as text: method, promise, each arm's numbers, and when not to trust them."""
        return summarise(self.diagnostics_, self.effect, float(self.step_alpha()), self.effect_.shortages())

    def _keep_for_diagnostics(self, encoded: NDArray[np.float64], study: Study) -> None:
        """Store what diagnostics need: samples of rows, and the distribution of the trial's covariates."""
        self.__dict__.pop("diagnostics_", None)
        rows = Rows(encoded, study.y)
        self.samples_ = {
            label: ArmSample.of(rows[mine], study.trial[mine], self.sample_seed_)
            for label in self.arms_
            for mine in [study.treatment == label]
        }
        self.population_ = Population.of(encoded[study.trial], encoded_names(self.encoder_, encoded), self.sample_seed_)
        chosen = np.random.default_rng(self.sample_seed_).permutation(np.flatnonzero(study.trial))
        self.asked_ = encoded[chosen[:ASKED_ROWS]]

    def _arm(self) -> ArmEstimator:
        """Return the unfitted estimator that is cloned for each arm."""
        if self.alpha is not None:
            check_alpha(self.alpha)
        if self.arm_alpha is not None:
            check_alpha(self.arm_alpha, "arm_alpha")
        if isinstance(self.method, type) or not (isinstance(self.method, str) or hasattr(self.method, "predict_set")):
            raise ValueError(
                f"method must be a name ({', '.join(METHODS)}) or an unfitted arm estimator such as Transfer(), "
                f"got {self.method!r}."
            )
        if self.encoder != "auto" and not (hasattr(self.encoder, "fit") and hasattr(self.encoder, "transform")):
            raise ValueError(f"encoder must be 'auto' or a scikit-learn transformer, got {self.encoder!r}.")
        arm: ArmEstimator = method_by_name(self.method) if isinstance(self.method, str) else clone(self.method)
        if self.alpha is not None:
            arm.set_alpha(self.alpha)
        if self.random_state is not None:
            arm.set_params(random_state=self.random_state)
        if not isinstance(arm.random_state, Integral):
            # A fixed number, so that the calibration rows are known before an arm is fitted.
            arm.set_params(random_state=int(check_random_state(arm.random_state).randint(2**31 - 1)))
        return arm

    def step_alpha(self) -> Any:
        """Return the level of each of the two steps inside the effect, exact."""
        if self.arm_alpha is not None:
            return self.arm_alpha
        return check_alpha(next(iter(self.arms_.values())).alpha) / 2

    def _fitted_encoder(self, X: Any, learns: NDArray[np.bool_]) -> Any:
        """Return the encoder fitted on the rows of the mask; the kind of each column is decided by all rows."""
        encoder = TableEncoder(kinds_of(X)) if self.encoder == "auto" else clone(self.encoder)
        with threads_for(X):
            return encoder.fit(take_rows(X, learns))

    def encode(self, X: Any) -> NDArray[np.float64]:
        """Return the covariates encoded as numbers, for the arms."""
        check_is_fitted(self)
        return self._encode(X)

    def _encode(self, X: Any) -> NDArray[np.float64]:
        try:
            with threads_for(X):
                return dense(self.encoder_.transform(X))
        except ValueError as error:
            if self.encoder == "auto":
                raise
            raise ValueError(
                f"the encoder does not accept these rows: {error} It is fitted on rows that do not calibrate, and must "
                "accept unseen values, as OneHotEncoder(handle_unknown='ignore') does."
            ) from error

    def _encode_new(self, X: Any, stacklevel: int) -> NDArray[np.float64]:
        """Return the covariates as numbers; warn, at the caller's caller, if they are unlike the trial's."""
        encoded = self.encode(X)
        if unlike := self.population_.unlike(encoded):
            warnings.warn(unlike, PopulationWarning, stacklevel=stacklevel)
        return encoded

    def _ask_arms(self, question: str, X: Any, treatment: Any) -> tuple[list[Any], NDArray[np.intp]]:
        """Return the arms' predictions for their rows, and the order that sorts them into the rows of X."""
        encoded = self._encode_new(X, stacklevel=4)
        labels = np.asarray(treatment)
        if labels.ndim and labels.shape != (len(encoded),):
            raise ValueError(f"treatment must be one label or {len(encoded)} labels, got shape {labels.shape}.")
        chosen = list(dict.fromkeys(np.atleast_1d(labels).tolist()))
        if not chosen:
            chosen, labels = list(self.arms_)[:1], np.asarray(next(iter(self.arms_)))
        rows = [np.flatnonzero(np.broadcast_to(labels == label, len(encoded))) for label in chosen]
        answers = [
            getattr(self._known_arm(label), question)(encoded[index]) for label, index in zip(chosen, rows, strict=True)
        ]
        return answers, np.argsort(np.concatenate(rows))

    def _known_arm(self, label: Any) -> ArmEstimator:
        if not isinstance(label, Hashable) or label not in self.arms_:
            raise ValueError(f"treatment {label!r} is unknown; there are: {examples(map(repr, self.arms_), 20)}.")
        return self.arms_[label]

    def _pair(self, treated: Any, control: Any) -> tuple[Any, Any]:
        """Return both labels of an effect; None is replaced if there are two arms."""
        check_is_fitted(self)
        labels = list(self.arms_)
        if (treated is None or control is None) and len(labels) != 2:
            raise ValueError(
                f"there are {len(labels)} treatments ({examples(labels)}): name both treated= and control=."
            )
        if treated is None:
            treated = labels[1] if control is None or control == labels[0] else labels[0]
        if control is None:
            control = labels[0] if treated == labels[1] else labels[1]
        for label in (treated, control):
            self._known_arm(label)
        if treated == control:
            raise ValueError(f"treated and control must differ, got {treated!r} for both.")
        return treated, control

    def _warn_of_shortage(self) -> None:
        """Warn once if all outcome intervals, or else all effect intervals, are infinite."""
        outcomes = {label: text for label, arm in self.arms_.items() if (text := arm.shortage())}
        for what, found in (("", outcomes), ("effect intervals, ", self.effect_.shortages())):
            by_text: dict[str, list[str]] = {}
            for label, text in found.items():
                by_text.setdefault(text, []).append(str(label))
            if by_text:
                message = " ".join(f"treatment {' and '.join(who)}: {what}{text}" for text, who in by_text.items())
                warnings.warn(message, InfiniteIntervalWarning, stacklevel=3)
                return

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags
