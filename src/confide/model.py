"""CounterfactualIntervals, the main estimator: intervals for outcomes under each treatment, and for effects.

It is longer than other modules because it is one class, the public contract, and a third of it is its documentation.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from confide.base.advice import Advice
from confide.base.cache import make_once
from confide.base.state import Labelled
from confide.base.validation import all_or_nothing
from confide.conformal.intervals import Intervals, IntervalSets
from confide.conformal.quantile import check_alpha
from confide.data.arrow import origin_of
from confide.data.encoding import EncodedRows, encoded_by, encoded_table, fitted_encoder, kinds_of
from confide.data.splits import spawn_seeds
from confide.data.study import Study, as_study
from confide.diagnostics.advice import described_effect, on_level, summarise
from confide.diagnostics.covariate_shift import NOTHING, Population, farthest_apart
from confide.diagnostics.kept import sampled_arms, sampled_people, sampled_trial
from confide.diagnostics.randomisation import Randomisation, randomisation_test
from confide.diagnostics.records import ArmDiagnostics, diagnose
from confide.diagnostics.strange_values import fitted_ends, unknown_categories
from confide.effects.participants import (
    check_participants,
    check_received,
    participant_effects,
    participant_promise,
)
from confide.effects.registry import check_effect, check_for_whom
from confide.exceptions import InfiniteIntervalWarning, NoAttributeError, PopulationWarning, RefusalError
from confide.methods.promise import Whom, weakest
from confide.methods.study_arms import (
    at_gamma,
    check_control,
    check_gamma,
    check_known,
    check_pair,
    fit_arm,
    learning_rows,
    point_out_two_values,
    rows_by_arm,
    said_once,
    unfitted_arm,
)
from confide.models.scores import check_side
from confide.weights.arm_weights import check_probabilities
from confide.weights.groups import Groups
from confide.weights.people import (
    People,
    probabilities_in,
    probabilities_of_both,
    told_of_probabilities,
    used_probabilities,
)
from confide.weights.weighing import point_out_probabilities, target_rows, weights_by_arm

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from confide.effects.base import Effect
    from confide.methods.base import ArmEstimator
    from confide.methods.new_rows import NewRows
    from confide.methods.promise import Promise
    from confide.typing import (
        Floats,
        Label,
        Labels,
        Level,
        Places,
        RandomState,
        Regressor,
        Table,
        Transformer,
    )


class CounterfactualIntervals(Labelled, BaseEstimator):
    """Prediction intervals for the outcome under each treatment, and for individual treatment effects.

    Parameters
    ----------
    method : str or arm estimator, default "prognostic"
        A name in ``METHODS``, or an unfitted arm estimator, which is cloned for each arm.
    alpha : float, default None
        Miscoverage level of the outcome intervals and of the effect intervals. None keeps the estimator's own
        level (0.1 for a name). `fit` freezes it as ``alpha_``, and `with_alpha` is the one way to another level.
        ``alpha``, ``base`` and ``random_state`` may be given here or to the arm estimator; given in both places, they
        must be the same.
    effect : {"bonferroni", "nested-exact", "nested-inexact"}
        How the arms' intervals become an interval for the effect: their difference; effects at treated rows
        regressed on the covariates and calibrated on the trial; or the same without calibration, which
        promises nothing.
    arm_alpha : float, default None
        Level of each of the two steps inside the effect. None: alpha/2, so that the effect promises 1 - alpha
        where its arms promise 1 - alpha/2: both with "bonferroni", the control's with "nested-exact".
    base : regressor or name, default None
        Base model of the arms: a scikit-learn regressor, or a name in `confide.models.base_model.BASES`. None keeps
        the estimator's own, which is the automatic one for a name.
    control : label, default None
        Treatment that effects are reported against. None: the first in order, which `summary` names.
    side : {"both", "lower", "upper"}
        Which ends intervals have. With one, the other is infinite, or the end of the outcome's declared range, and the
        end is nearer than that of an interval with two: always for one candidate, on average where "prognostic" chooses
        (it chooses anew for the side). A lower bound of an effect is the treated arm's lower bound minus the control's
        upper one, each at arm_alpha.
    groups : str or sequence of str, default None
        Columns of X, or comparisons such as "age > 70", crossed, within each of whose groups the promise is to hold:
        new rows are ranked among trial rows of their own group. At most 20 groups. A group without trial rows has
        infinite intervals, with a warning.
    gamma : float, default 1.0
        How many times as frequent as in the trial people may be among those asked about, for reasons that are not in X.
        Intervals are those of the level alpha/gamma, with every method and effect.
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
    control_ : label
        The treatment that effects are reported against.
    alpha_, arm_alpha_ : float
        The levels in force: of all intervals, and of each of the two steps inside the effect.
    method_ : str
        The method's name, or the class of the estimator if it has none.
    arms_ : dict
        The fitted arm estimator of each label.
    encoder_ : transformer
        The fitted encoder.
    side_, gamma_ : str, float
        What is in force, frozen by `fit`.
    groups_ : Groups or None
        The groups that the trial has.
    config_hash_ : str or None
        SHA-256 of the options that decide the answers, if `confide run` fitted the model (see its --save-config). None
        for a model that Python fitted, and for a copy at another level or gamma.
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

    A study may carry more (`stack`): ``assignment``, known probabilities that differ between people; ``cluster``, rows
    that depend on each other; ``target``, covariates of other people than the trial's. Calibration rows then have
    weights (`confide.conformal.marks`), and the promise, which `promise_` states, is for those people.
    """

    _by_label: ClassVar = ("arms_", "rows_", "samples_")
    config_hash_: str | None = None

    def __init__(
        self,
        method: str | ArmEstimator = "prognostic",
        alpha: Level | None = None,
        effect: str = "bonferroni",
        arm_alpha: Level | None = None,
        base: Regressor | str | None = None,
        control: Label | None = None,
        side: str = "both",
        groups: Any = None,
        gamma: float = 1.0,
        encoder: Transformer | str = "auto",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.alpha = alpha
        self.effect = effect
        self.arm_alpha = arm_alpha
        self.base = base
        self.control = control
        self.side = side
        self.groups = groups
        self.gamma = gamma
        self.encoder = encoder
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Table | Study,
        y: ArrayLike | None = None,
        treatment: Labels = None,
        trial: ArrayLike | None = None,
        *,
        assignment: ArrayLike | None = None,
        cluster: Labels = None,
        target: Table | str | None = None,
    ) -> Self:
        """Fit every arm.

        Parameters
        ----------
        X : Study, or frame or (n, d) array
            A study, from `stack`, and nothing else; or covariates: any data frame that narwhals reads, or an array.
        y : (n,) array
            Outcomes.
        treatment : (n,) array
            Treatment labels, any number of them.
        trial : (n,) boolean array
            True for rows of the randomised trial.
        assignment : (n,) array, default None
            The probability of the treatment received, of the trial's rows; None: the same for everybody.
        cluster : (n,) array, default None
            What the trial's rows share, such as a school; None: rows are independent.
        target : frame, (k, d) array or "observational", default None
            Covariates of the people asked about; None: people like the trial's.
        """
        with all_or_nothing(self):
            self.__dict__.pop("config_hash_", None)
            study = as_study(X, y, treatment, trial, assignment=assignment, cluster=cluster, target=target)
            arm = unfitted_arm(self.method, alpha=self.alpha, base=self.base, random_state=self.random_state)
            effect = check_effect(self.effect)
            if self.arm_alpha is not None:
                check_alpha(self.arm_alpha, "arm_alpha")
            treatments = study.labels
            control = check_control(self.control, treatments.tolist())
            point_out_two_values(arm, study.y)
            self.side_, self.gamma_ = check_side(self.side), check_gamma(self.gamma)
            check_for_whom(arm, effect, study, side=self.side_, groups=self.groups)
            point_out_probabilities(study, stacklevel=2)
            alpha = arm._level()
            arm = at_gamma(arm, self.gamma_)
            learns = learning_rows(arm, effect, study, control)
            self.encoder_ = fitted_encoder(self.encoder, study.X, learns, study.beyond)
            encoded = EncodedRows(self.encoder_, study.X, own=self.encoder != "auto")
            self.groups_ = (
                None if self.groups is None else Groups.of(self.groups, study.X, study.trial, kinds_of(study.X))
            )
            group = None if self.groups_ is None else self.groups_.codes(study.X)
            given = None if study.target is None or isinstance(study.target, str) else self._encode(study.target)
            own_seed = spawn_seeds(arm.random_state, 1)[0]
            self.target_ = target_rows(study, encoded, given, own_seed)
            weights = weights_by_arm(study, own_seed, encoded, self.target_, group, self.groups_)
            fits = Parallel(n_jobs=self.n_jobs)(
                delayed(fit_arm)(arm, encoded, study, label, weights[label]) for label in treatments.tolist()
            )
            arms, said = zip(*fits, strict=True)
            self.treatments_ = treatments
            self.arms_: dict[Label, ArmEstimator] = dict(zip(treatments.tolist(), arms, strict=True))
            self.control_ = control
            self.method_ = self.method if isinstance(self.method, str) else arm.method_name
            self.alpha_ = alpha
            self.carries_ = tuple(study.carries)
            self.assignment_column_ = study.assignment_column
            self.outcome_column_ = study.outcome_column
            self._keeps_arm_alpha = self.arm_alpha is not None
            self.arm_alpha_ = check_alpha(self.alpha_) / 2 if self.arm_alpha is None else self.arm_alpha
            self.n_features_in_ = getattr(self.encoder_, "n_features_in_", arms[0].n_features_in_)
            self.rows_ = rows_by_arm(encoded, study, weights, group) if self.effect != "bonferroni" else {}
            self.effect_seed_, self.sample_seed_ = spawn_seeds(arm.random_state, 5)[3:]  # after the arms' own three
            self.effect_name_ = self.effect
            self.effect_ = self._fitted_effect(effect)
            self._keep_for_diagnostics(encoded, study)
        for label, notes in zip(treatments.tolist(), said, strict=True):
            for category, text in notes:
                warnings.warn(f"treatment {label}: {text}", category, stacklevel=2)
        self._warn_of_shortage()
        return self

    def predict(self, X: Table, treatment: Labels) -> Floats:
        """Return point predictions under a treatment: one label, or one label per row."""
        parts, order = self._ask_arms("predict", X, treatment)
        return np.concatenate(parts)[order]

    def predict_interval(self, X: Table, treatment: Labels, *, assignment: ArrayLike | None = None) -> Intervals:
        """Return one interval per row for the outcome under a treatment: one label, or one label per row.

        ``assignment`` is the probability with which the trial would have assigned that treatment to each row, if it
        assigned with probabilities that differ. Without it the smallest one stands in: intervals are wider than needed.
        """
        parts, order = self._ask_arms("predict_interval", X, treatment, assignment)
        lower, upper = np.concatenate(parts)[order].T
        return Intervals(lower, upper, origin_of(X))

    def predict_set(self, X: Table, treatment: Labels, *, assignment: ArrayLike | None = None) -> IntervalSets:
        """Return one prediction set per row for the outcome under a treatment; arguments as in `predict_interval`."""
        parts, order = self._ask_arms("predict_set", X, treatment, assignment)
        return IntervalSets.concatenate(parts).take(order)

    def predict_effect(self, X: Table, treated: Label | None = None, control: Label | None = None) -> Floats:
        """Return point predictions of Y(treated) - Y(control).

        ``control`` is ``control_`` if it is not given; with two arms ``treated`` need not be given either.
        """
        treated, control = self._pair(treated, control)
        encoded = self._encode_new(X, stacklevel=3)
        return self.arms_[treated].predict(encoded) - self.arms_[control].predict(encoded)

    def predict_effect_interval(
        self,
        X: Table,
        treated: Label | None = None,
        control: Label | None = None,
        *,
        assignment: Any = None,
        received: Labels = None,
        outcome: ArrayLike | None = None,
    ) -> Intervals:
        """Return one interval per row for Y(treated) - Y(control).

        Parameters
        ----------
        X : frame or (n, d) array
            Covariates.
        treated, control : label, default None
            The arms, as in `predict_effect`.
        assignment : (n,) array or mapping of labels to such arrays, default None
            The probability with which the trial would have assigned the treated arm to each row, if there are two arms,
            or those of both labels (see `predict_interval`).
        received, outcome : (n,) arrays, default None
            For people who were randomised in this trial or one like it: the treatment that each received, one of the
            two, and the outcome. Their other outcome alone is uncertain, and intervals are about half as wide. Not for
            people of an observational table: their intervals would not keep any promise. ``participant_promise_``
            says what is promised.
        """
        pair = self._pair(treated, control)
        encoded = self._encode_new(X, stacklevel=3)
        people = People(encoded, self._groups_of(X, stacklevel=3), self._both(assignment, pair))
        if received is None and outcome is None:
            lower, upper = self.effect_.predict_interval(self._new_rows(people, pair), *pair)
        else:
            check_participants(self.arms_, self.whom_)
            known = check_received(received, outcome, pair, len(people))
            lower, upper = participant_effects(self.arms_, people, pair, *known, self.side_)
        return Intervals(lower, upper, origin_of(X))

    def score(
        self, X: Table, y: ArrayLike | None = None, treatment: Labels = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return R² of the point predictions under the treatment that each row received.

        For cross-validation, which must pass the treatment on (scikit-learn's metadata routing:
        ``set_score_request(treatment=True)``). It says how well points predict, not whether intervals keep their
        promise: that is `confide.diagnostics.coverage_report`. A method chosen by trial rows that then calibrate it
        keeps its promise only approximately.
        """
        if isinstance(X, Study):
            X, y, treatment = X.X, X.y, X.treatment
        if treatment is None:
            raise ValueError("score needs each row's treatment: call set_score_request(treatment=True), and pass it.")
        return float(r2_score(y, self.predict(X, treatment), sample_weight=sample_weight))

    def with_alpha(self, alpha: Level) -> Self:
        """Return a copy at another level: base models and ratios are kept."""
        check_is_fitted(self)
        check_alpha(alpha)
        return self._recalibrated(alpha, self.gamma_)

    def with_gamma(self, gamma: float) -> Self:
        """Return a copy for people who are at most so many times as frequent as in the trial; the models are kept."""
        check_is_fitted(self)
        other = self._recalibrated(self.alpha_, check_gamma(gamma))
        other.gamma = gamma
        return other

    def _recalibrated(self, alpha: Level, gamma: Fraction) -> Self:
        """Return a copy at another level and gamma; warn, at the caller's caller, if all its intervals are infinite."""
        other = copy.copy(self)
        other.__dict__.pop("diagnostics_", None)
        if (alpha, gamma) != (self.alpha_, self.gamma_):
            other.__dict__.pop("config_hash_", None)
        other.alpha = other.alpha_ = alpha
        other.gamma_ = gamma
        other.arms_ = {label: arm._at(other._inner(alpha)) for label, arm in self.arms_.items()}
        if type(self.method) is type(next(iter(self.arms_.values()))):
            # A refit of the copy must mean the same level: what the estimator itself was given moves too.
            moved = at_gamma(next(iter(other.arms_.values())).fitted_as_, 1 / gamma).get_params(deep=False)
            given = {name: moved[name] for name in ("alpha", "levels") if getattr(self.method, name, None) is not None}
            other.method = clone(self.method).set_params(**{**given, **({"alpha": alpha} if "alpha" in given else {})})
        if not self._keeps_arm_alpha:
            other.arm_alpha_ = check_alpha(alpha) / 2
        other.effect_ = other._fitted_effect(copy.copy(self.effect_))
        other._warn_of_shortage(stacklevel=4)
        return other

    def _why_not_at(self, alpha: Level) -> str | None:
        """Return why the arms do not support this level, for instance because of a large floor; None if they do."""
        check_is_fitted(self)
        return next(filter(None, (arm._why_not_at(self._inner(alpha)) for arm in self.arms_.values())), None)

    def _inner(self, alpha: Level) -> Level:
        """Return the level of the arms: alpha, or alpha/gamma."""
        return alpha if self.gamma_ == 1 else check_alpha(alpha) / self.gamma_

    def _fitted_effect(self, effect: Effect) -> Effect:
        """Return the effect fitted on the arms in force."""
        return effect.fit(
            self._control_first(), self.rows_, self._inner(self.arm_alpha_), self.effect_seed_, self.side_
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `confide.load` reads without running code; complete or not at all.

        The file contains data of the study, as the model does: calibration scores, outcomes of the trial, samples for
        the diagnostics and, with nested effects and two-stage methods, the rows they are refitted on. Protect it as you
        protect the tables.
        """
        from confide.io.model_file import save  # noqa: PLC0415  (skops is needed only to save)

        check_is_fitted(self)
        save(self, path)

    @cached_property
    def diagnostics_(self) -> dict[Label, ArmDiagnostics]:
        """What to check before trusting an arm, by treatment label."""
        check_is_fitted(self)
        asked = self._new_rows(self.asked_, self.arms_)
        told: dict[str, Any] = {"method": self.method_, "alpha": float(self.alpha_), "whom": self.whom_}
        return {
            label: diagnose(label, arm, self.samples_[label], asked[label], self.sample_seed_, **told)
            for label, arm in self.arms_.items()
        }

    @cached_property
    def randomisation_(self) -> Randomisation | None:
        """Whether treatment in the trial depends on covariates beyond what was stated.

        None for clusters, and for stated probabilities of more than two treatments.
        """
        check_is_fitted(self)
        if self.trial_ is None:
            return None
        X, arm, assignment = self.trial_
        found = randomisation_test(X, arm, assignment, self.population_.names, self.sample_seed_)
        return None if found is None else replace(found, treatment=list(self.arms_)[found.treatment])

    def summary(self) -> str:
        """Return the diagnostics as text: method, promise, each arm's numbers, and when not to trust them."""
        check_is_fitted(self)
        promised = described_effect(self.effect_promise_, self.arm_alpha_, float(self.gamma_))
        return summarise(
            self.diagnostics_,
            self.effect_name_,
            promised,
            self.control_,
            self._effect_shortages(),
            whom=self.whom_,
            shift=self._shift(),
            randomisation=self.randomisation_,
        )

    def _shift(self) -> tuple[str, float] | None:
        """Return the covariate by which the target differs most from the trial, in standard deviations."""
        if self.target_ is None:
            return None
        trial = np.concatenate([sample.trial.X for sample in self.samples_.values()])
        return farthest_apart(self.target_, trial, self.population_.names)

    @property
    def promise_(self) -> Promise:
        """The coverage that intervals of outcomes promise."""
        check_is_fitted(self)
        stated = weakest((arm.promise for arm in self.arms_.values()), self._inner(self.alpha_))
        return self.whom_.promised(stated)

    @property
    def whom_(self) -> Whom:
        """The people that promises are for."""
        check_is_fitted(self)
        weighted = any(arm.weights_ is not None and arm.weights_.largest is not None for arm in self.arms_.values())
        groups = () if self.groups_ is None else self.groups_.columns
        return Whom(self.carries_, groups, float(self.gamma_), stands_in=weighted and len(self.arms_) > 2)

    @property
    def effect_promise_(self) -> Promise:
        """The coverage that intervals of effects promise."""
        check_is_fitted(self)
        inner = self._inner(self.arm_alpha_)
        arms = (arm._promise_at(inner) for arm in self.arms_.values())
        return self.whom_.promised(self.effect_.promise(weakest(arms, inner), inner))

    @property
    def participant_promise_(self) -> Promise:
        """The coverage that intervals of effects promise people whose outcome under one treatment is known."""
        check_is_fitted(self)
        try:
            check_participants(self.arms_, self.whom_)
        except RefusalError as refusal:
            raise NoAttributeError(str(refusal)) from refusal
        return participant_promise(self.promise_)

    def _keep_for_diagnostics(self, encoded: EncodedRows, study: Study) -> None:
        """Store what diagnostics need: samples of rows, and the distribution of the trial's covariates."""
        self.__dict__.pop("diagnostics_", None)
        self.__dict__.pop("randomisation_", None)
        self.samples_ = make_once(sampled_arms, self.encoder_, study, self.encoder != "auto", self.sample_seed_)
        known, whose = (encoded[study.trial], "trial") if self.target_ is None else (self.target_, "target")
        ends = make_once(fitted_ends, self.encoder_, study)
        self.population_ = make_once(Population.encoded_by, self.encoder_, known, self.sample_seed_, whose, ends)
        rng = np.random.default_rng(self.sample_seed_)
        self.trial_ = sampled_trial(encoded, study, rng)
        asked = sampled_people(study, rng)
        self.asked_ = People(self._encode(asked), None if self.groups_ is None else self.groups_.codes(asked), {})

    def _control_first(self) -> dict[Label, ArmEstimator]:
        """Return the arms, the control first."""
        others = {label: arm for label, arm in self.arms_.items() if label != self.control_}
        return {self.control_: self.arms_[self.control_], **others}

    def _arm(self, label: Label) -> ArmEstimator:
        """Return an arm whose intervals have the ends that are asked for."""
        return self.arms_[label]._on_side(self.side_)

    def _new_rows(self, people: People, labels: Iterable[Label]) -> dict[Label, NewRows]:
        """Return new rows for each of these arms: each base model predicts them once."""
        return {
            label: self.arms_[label]._new_rows(people.X, people.assignment.get(label), people.group) for label in labels
        }

    def read(self, X: Table, assignment: Mapping[Label, ArrayLike] | None = None) -> People:
        """Return new rows as the arms take them: covariates as numbers, groups, and probabilities of treatments.

        Rows may come in batches, so nothing is said here of groups that the trial does not have (`Groups.unseen`).
        """
        check_is_fitted(self)
        group = None if self.groups_ is None else self.groups_.codes(X)
        return People(self.encode(X), group, self._checked(assignment or {}))

    def assignment_in(self, table: pa.Table) -> dict[Label, Any]:
        """Return the probabilities of treatments in a table of new rows, if it has columns for them.

        They are named after the trial's column, "_" and the treatment. One of two is enough.
        """
        check_is_fitted(self)
        return probabilities_in(table, self.assignment_column_, list(self.arms_))

    def told_of_assignment(self, names: Sequence[str], covariates: Sequence[str]) -> str:
        """Return which of new rows' columns are read as probabilities, and which only look so; nothing without any."""
        check_is_fitted(self)
        return told_of_probabilities(names, self.assignment_column_, list(self.arms_), covariates)

    def _groups_of(self, X: Table, stacklevel: int) -> NDArray[np.intp] | None:
        """Return the number of each row's group; warn, at the caller's caller, of rows without one."""
        if self.groups_ is None:
            return None
        return self.groups_.codes_of_new(X, stacklevel)

    def _checked(self, assignment: Mapping[Label, ArrayLike]) -> dict[Label, Any]:
        """Return probabilities of treatments by label; raise if the study does not use them."""
        return used_probabilities(assignment, self.carries_)

    def _both(self, assignment: Any, pair: tuple[Label, Label]) -> dict[Label, Any]:
        """Return the probabilities of both arms of an effect."""
        return self._checked(probabilities_of_both(assignment, pair, list(self.arms_)))

    def encode(self, X: Table) -> Floats:
        """Return the covariates encoded as numbers, for the arms."""
        check_is_fitted(self)
        return self._encode(X)

    def _encode(self, X: Table) -> Floats:
        return encoded_by(self.encoder_, X, own=self.encoder != "auto")

    def _encode_new(self, X: Table, stacklevel: int) -> Floats:
        """Return the covariates as numbers; warn, at the caller's caller, if they are unlike the trial's."""
        check_is_fitted(self)
        # Of a user's own encoder the matrix may be the user's own too, which must stay writable.
        encoded: Floats = make_once(encoded_table, self.encoder_, X) if self.encoder == "auto" else self._encode(X)
        # By its identity, what was said of it is found again.
        unknown = make_once(unknown_categories, self.encoder_, X) or NOTHING
        if unlike := make_once(Population.unlike, self.population_, encoded, unknown):
            warnings.warn(unlike, PopulationWarning, stacklevel=stacklevel)
        return encoded

    def _ask_arms(
        self, question: str, X: Table, treatment: Labels, assignment: ArrayLike | None = None
    ) -> tuple[list[Any], Places]:
        """Return the arms' predictions for their rows, and the order that sorts them into the rows of X."""
        encoded = self._encode_new(X, stacklevel=4)
        group = self._groups_of(X, stacklevel=4)
        known = None if assignment is None else check_probabilities(assignment, len(encoded))
        labels = np.asarray(treatment)
        if labels.ndim and labels.shape != (len(encoded),):
            raise ValueError(f"treatment must be one label or {len(encoded)} labels, got shape {labels.shape}.")
        if not labels.ndim:
            check_known(labels.item(), self.arms_)
        chosen = list(dict.fromkeys(np.atleast_1d(labels).tolist()))
        if not chosen:
            chosen, labels = list(self.arms_)[:1], np.asarray(next(iter(self.arms_)))
        rows = [np.flatnonzero(np.broadcast_to(labels == label, len(encoded))) for label in chosen]
        answers = []
        for label, index in zip(chosen, rows, strict=True):
            check_known(label, self.arms_)
            told = self._checked({} if known is None else {label: known[index]})
            people = People(encoded[index], None if group is None else group[index], told)
            answers.append(getattr(self._arm(label), question)(self._new_rows(people, [label])[label]))
        return answers, np.argsort(np.concatenate(rows))

    def _pair(self, treated: Label | None, control: Label | None) -> tuple[Label, Label]:
        """Return both labels of an effect; a control that is None is ``control_``, or the other one of two arms."""
        check_is_fitted(self)
        return check_pair(treated, control, list(self.arms_), self.control_)

    def _warn_of_shortage(self, stacklevel: int = 3) -> None:
        """Warn once if all outcome intervals, or else all effect intervals, are infinite."""
        outcomes = {label: text for label, arm in self.arms_.items() if (text := arm._shortage())}
        computed = on_level("Intervals are", "alpha", self.alpha_, float(self.gamma_))
        for what, found, level in (
            ("", outcomes, computed),
            ("effect intervals, ", self.effect_.shortages(), self._on_step()),
        ):
            if found:
                text = " ".join([said_once(found, what), *level])
                warnings.warn(text, InfiniteIntervalWarning, stacklevel=stacklevel)
                return

    def _effect_shortages(self) -> dict[Label, str]:
        """Return why all effect intervals are infinite, by treatment, and the level that they are computed at."""
        return {label: Advice.joined([text, *self._on_step()]) for label, text in self.effect_.shortages().items()}

    def _on_step(self) -> list[Advice]:
        """Return at which level each step of an effect is computed, if gamma makes it another than arm_alpha."""
        return on_level("Each of an effect's two steps is", "arm_alpha", self.arm_alpha_, float(self.gamma_))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags
