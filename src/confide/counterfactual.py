"""CounterfactualIntervals: the arms of a study together."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from confide.advice import summarise
from confide.checks import all_or_nothing, examples
from confide.conformal.quantile import check_alpha
from confide.diagnostics import ASKED_ROWS, ArmDiagnostics, ArmSample, diagnose
from confide.effects import Effect, check_effect
from confide.encoding import TableEncoder, kinds_of
from confide.intervals import InfiniteIntervalWarning, Intervals, IntervalSets
from confide.labels import Labelled
from confide.methods.registry import METHODS
from confide.methods.registry import method as method_by_name
from confide.population import Population, PopulationWarning
from confide.splits import Rows, spawn_seeds
from confide.study import Study
from confide.tables import take_rows
from confide.threads import threads_for

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

    from confide.methods._arm import ArmEstimator


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
        where its arms promise 1 - alpha/2: both with "bonferroni", the first label's with "nested-exact".
    encoder : "auto" or transformer
        How covariates become numbers, for all arms alike. "auto": `confide.encoding.TableEncoder`. It is fitted,
        without outcomes, on the rows that calibrate neither an arm nor an effect, so that it treats a calibration row
        as it treats a new one. An encoder of one's own is fitted on the same rows; it must take values that it has not
        seen, and must not have been shaped by calibration rows before.
    random_state : int, RandomState instance or None
        Seed of each arm. None keeps the estimator's own.
    n_jobs : int, default None
        Arms fitted at the same time, as in joblib.

    Attributes
    ----------
    treatments_ : array
        The treatment labels, in order.
    arms_ : dict
        The fitted arm estimator of each label.
    encoder_ : transformer
        The fitted encoder.
    diagnostics_ : dict
        What to look at before trusting an arm, by label: `confide.diagnostics.ArmDiagnostics`. Worked out when
        first asked for; `summary` says it in words.

    Notes
    -----
    Promises are marginal, over calibration and new rows together, for new rows from the trial's population whose
    outcomes arise as they did in the trial. They assume that the trial assigned treatment independently of covariates
    and potential outcomes with a constant probability, that it lost no rows because of their outcomes, that its rows
    and the new ones are independent of each other, and that no unit stands in both tables. New rows that look unlike
    the trial's are answered with a `PopulationWarning`.
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
            _point_out_two_values(arm, study.y)
            self.encoder_ = self._fitted_encoder(study.X, _learning_rows(arm, effect, study))
            encoded = self._encode(study.X)
            fits = Parallel(n_jobs=self.n_jobs)(delayed(_fit_arm)(arm, encoded, study, label) for label in treatments)
            arms, said = zip(*fits, strict=True)
            self.treatments_ = treatments
            self.arms_: dict[Any, ArmEstimator] = dict(zip(treatments.tolist(), arms, strict=True))
            self.n_features_in_ = getattr(self.encoder_, "n_features_in_", encoded.shape[1])
            self.rows_ = _rows_by_arm(encoded, study) if self.effect != "bonferroni" else {}
            self.effect_seed_, self.sample_seed_ = spawn_seeds(arm.random_state, 5)[3:]  # after the arms' own three
            self.effect_ = effect.fit(self.arms_, self.rows_, self.step_alpha(), self.effect_seed_)
            self._keep_for_diagnostics(encoded, study)
        for label, notes in zip(treatments.tolist(), said, strict=True):
            for category, text in notes:
                warnings.warn(f"treatment {label}: {text}", category, stacklevel=2)
        self._warn_of_shortage()
        return self

    def predict(self, X: Any, treatment: Any) -> NDArray[np.float64]:
        """Return point predictions under a treatment: one label, or one label a row."""
        parts, order = self._ask_arms("predict", X, treatment)
        return np.concatenate(parts)[order]

    def predict_interval(self, X: Any, treatment: Any) -> Intervals:
        """Return an interval a row for the outcome under a treatment: one label, or one label a row."""
        parts, order = self._ask_arms("predict_interval", X, treatment)
        return Intervals(*np.concatenate(parts)[order].T)

    def predict_set(self, X: Any, treatment: Any) -> IntervalSets:
        """Return a prediction set a row for the outcome under a treatment: one label, or one label a row."""
        parts, order = self._ask_arms("predict_set", X, treatment)
        return IntervalSets.concatenate(parts).take(order)

    def predict_effect(self, X: Any, treated: Any = None, control: Any = None) -> NDArray[np.float64]:
        """Return point predictions of Y(treated) - Y(control); with two arms the second against the first."""
        treated, control = self._pair(treated, control)
        encoded = self._encode_new(X, stacklevel=3)
        return self.arms_[treated].predict(encoded) - self.arms_[control].predict(encoded)

    def predict_effect_interval(self, X: Any, treated: Any = None, control: Any = None) -> Intervals:
        """Return an interval a row for Y(treated) - Y(control); with two arms the second against the first."""
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
        """Return why a parameter of the arms leaves no room for a level, such as a large floor; None where all do."""
        check_is_fitted(self)
        return next(filter(None, (arm.why_not_at(alpha) for arm in self.arms_.values())), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `confide.load` reads without running code; whole or not at all.

        The file holds rows of the study, as the model does: calibration scores, samples for the diagnostics and, with
        nested effects and methods of two stages, the rows they learn from anew. Handle it as you handle the tables.
        """
        from confide.persistence import save  # noqa: PLC0415  (only who saves needs skops)

        check_is_fitted(self)
        save(self, path)

    @cached_property
    def diagnostics_(self) -> dict[Any, ArmDiagnostics]:
        """What to look at before trusting an arm, by treatment label."""
        check_is_fitted(self)
        return {
            label: diagnose(label, arm, self.samples_[label], self.asked_, self.sample_seed_)
            for label, arm in self.arms_.items()
        }

    def summary(self) -> str:
        """Return the diagnostics in words: method, promise, each arm's numbers, and when not to trust them."""
        return summarise(self.diagnostics_, self.effect, float(self.step_alpha()), self.effect_.shortages())

    def _keep_for_diagnostics(self, encoded: NDArray[np.float64], study: Study) -> None:
        """Keep the little that diagnostics need: samples of rows, and how the trial's covariates are distributed."""
        self.__dict__.pop("diagnostics_", None)
        rows = Rows(encoded, study.y)
        self.samples_ = {
            label: ArmSample.of(rows[mine], study.trial[mine], self.sample_seed_)
            for label in self.arms_
            for mine in [study.treatment == label]
        }
        self.population_ = Population.of(encoded[study.trial], _names(self.encoder_, encoded), self.sample_seed_)
        chosen = np.random.default_rng(self.sample_seed_).permutation(np.flatnonzero(study.trial))
        self.asked_ = encoded[chosen[:ASKED_ROWS]]

    def _arm(self) -> ArmEstimator:
        """Return the unfitted estimator that each arm gets a clone of."""
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
            # One number, so that the rows that calibrate are known before an arm is fitted.
            arm.set_params(random_state=int(check_random_state(arm.random_state).randint(2**31 - 1)))
        return arm

    def step_alpha(self) -> Any:
        """Return the level of each of the two steps inside the effect, exact."""
        if self.arm_alpha is not None:
            return self.arm_alpha
        return check_alpha(next(iter(self.arms_.values())).alpha) / 2

    def _fitted_encoder(self, X: Any, learns: NDArray[np.bool_]) -> Any:
        """Return the encoder, learnt from those rows; what kind each column is, all rows say together."""
        encoder = TableEncoder(kinds_of(X)) if self.encoder == "auto" else clone(self.encoder)
        with threads_for(X):
            return encoder.fit(take_rows(X, learns))

    def encode(self, X: Any) -> NDArray[np.float64]:
        """Return the covariates as the arms take them, as numbers."""
        check_is_fitted(self)
        return self._encode(X)

    def _encode(self, X: Any) -> NDArray[np.float64]:
        try:
            with threads_for(X):
                return _dense(self.encoder_.transform(X))
        except ValueError as error:
            if self.encoder == "auto":
                raise
            raise ValueError(
                f"the encoder does not take these rows: {error} It learns from rows that calibrate nowhere, and must "
                "take values that it has not seen, such as OneHotEncoder(handle_unknown='ignore') does."
            ) from error

    def _encode_new(self, X: Any, stacklevel: int) -> NDArray[np.float64]:
        """Return the covariates as numbers; warn, in the caller's caller's name, if they are unlike the trial's."""
        encoded = self.encode(X)
        if unlike := self.population_.unlike(encoded):
            warnings.warn(unlike, PopulationWarning, stacklevel=stacklevel)
        return encoded

    def _ask_arms(self, question: str, X: Any, treatment: Any) -> tuple[list[Any], NDArray[np.intp]]:
        """Return the arms' answers for their rows, and the order that puts them back into the rows of X."""
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
        """Return both labels of an effect; None is filled in where there are two arms."""
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
        """Warn once where the outcome intervals, or else the effect intervals, are infinite throughout."""
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


def _learning_rows(arm: ArmEstimator, effect: Effect, study: Study) -> NDArray[np.bool_]:
    """Return which rows calibrate neither an arm nor an effect."""
    learns = np.zeros(len(study), dtype=bool)
    for place, label in enumerate(np.unique(study.treatment)):
        mine = study.treatment == label
        with _naming(label, study):
            learns[mine] = arm.learning_rows(study.trial[mine])
        if effect.calibrates_on_trial(place):
            learns &= ~(mine & study.trial)
    return learns


@contextmanager
def _naming(label: Any, study: Study) -> Iterator[None]:
    """Say of which treatment an error is, and which treatments each table has."""
    try:
        yield
    except ValueError as error:
        tables = {"observational": ~study.trial, "trial": study.trial}
        found = "; ".join(f"{name} {examples(np.unique(study.treatment[rows]))}" for name, rows in tables.items())
        raise ValueError(f"treatment {label}: {error} Treatments by table: {found}.") from error


def _fit_arm(
    arm: ArmEstimator, encoded: NDArray[np.float64], study: Study, label: Any
) -> tuple[ArmEstimator, list[tuple[type[Warning], str]]]:
    """Return a clone of the arm fitted on the rows of one treatment, and what it warned of."""
    rows = study.treatment == label
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", InfiniteIntervalWarning)  # the caller warns once for all arms
        with _naming(label, study):
            fitted: ArmEstimator = clone(arm).fit(
                encoded[rows], study.y[rows], trial=study.trial[rows], population=encoded[~study.trial]
            )
    return fitted, [(each.category, str(each.message)) for each in caught]


def _point_out_two_values(arm: ArmEstimator, y: NDArray[np.float64]) -> None:
    """Warn of an outcome of 0 and 1 that was not declared so: a declaration the data cannot make."""
    if arm.outcome_values is None and arm.outcome_range is None and np.array_equal(np.unique(y), [0, 1]):
        warnings.warn(
            "the outcome is 0 or 1 in every row and is taken for a number: intervals may lie between and beyond. If it "
            "can be nothing else, give outcome_values=[0, 1] (--outcome-values 0,1) to the method.",
            stacklevel=4,
        )


def _rows_by_arm(encoded: NDArray[np.float64], study: Study) -> dict[Any, tuple[Rows, Rows]]:
    """Return each arm's observational and trial rows."""
    rows = Rows(encoded, study.y)
    return {
        label: (rows[mine & ~study.trial], rows[mine & study.trial])
        for label in np.unique(study.treatment).tolist()
        for mine in [study.treatment == label]
    }


def _names(encoder: Any, encoded: NDArray[np.float64]) -> list[str]:
    """Return a name for each encoded column, as far as the encoder knows one."""
    if hasattr(encoder, "get_feature_names_out"):
        return [str(name) for name in encoder.get_feature_names_out()]
    return [f"column {index}" for index in range(encoded.shape[1])]


def _dense(matrix: Any) -> NDArray[np.float64]:
    """Return an encoder's output as a matrix of floats."""
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return np.asarray(dense, dtype=np.float64)
