"""The evidence for a model: coverage on held-out rows of the trial, and the test for hidden confounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide.base.advice import Advice
from confide.base.validation import examples
from confide.compare import Compared, compare, held_out_rows, hold_out
from confide.data.arrow import is_frame, read_frame
from confide.diagnostics.confounding_test import ConfoundingTest, hidden_confounding_test
from confide.exceptions import RefusalError
from confide.methods.registry import METHODS
from confide.methods.registry import method as method_by_name
from confide.model import CounterfactualIntervals

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from confide.data.study import Study

# What is measured beside the model's own method: those that keep their level at the cost of one or two models, and two
# that rest on observational rows. `confide compare` measures all.
MEASURED = ("naive", "transfer", "transfer-centred", "prognostic", "pooled-dr", "wcp")


def measured_methods(model: CounterfactualIntervals, methods: Sequence[str] | None = None) -> list[str]:
    """Return the methods that a report on the model measures: its own, then these, or the usual ones if None."""
    asked = [methods] if isinstance(methods, str) else MEASURED if methods is None else methods
    return list(dict.fromkeys([model.method_, *asked]))


@dataclass(frozen=True)
class Evidence:
    """The evidence that a study gives for a model.

    Attributes
    ----------
    compared : list of Compared
        Methods on held-out rows of the trial.
    held_out : str
        A sentence: which rows these are, or why there are none.
    tests : list of ConfoundingTest
        The test for hidden confounding, arm by arm.
    """

    compared: list[Compared]
    held_out: str
    tests: list[ConfoundingTest]

    @classmethod
    def of(
        cls,
        model: CounterfactualIntervals,
        study: Study,
        random_state: int = 0,
        methods: Sequence[str] | None = None,
        report_progress: Callable[[int], None] = lambda _: None,
        by: Any = None,
    ) -> Evidence:
        """Measure methods on a study (None: `MEASURED`). ``report_progress`` is called with 1 after each method.

        The model's own method is measured with all of the model's parameters, also by its groups, or by those of the
        columns ``by`` if it has none. The others get its encoder, its groups, side and gamma, and its bounds or values
        of the outcome, and their defaults for the rest. All are fitted again.

        Raises a ValueError if the study's covariates are not those that the model was fitted on.
        """
        check_covariates(model, study)
        arm = next(iter(model.arms_.values()))
        name = model.method_
        names = measured_methods(model, methods)
        outcome = {"outcome_range": arm.outcome_range, "outcome_values": arm.outcome_values}
        alike = {each: getattr(model, each) for each in ("encoder", "groups", "side", "gamma")}
        models = {
            other: CounterfactualIntervals(method_by_name(other, **outcome), **alike)
            for other in names
            if other in METHODS
        }
        models[name] = model
        compared = []
        said: str
        try:
            _check_carried(model, study)
            kept, test = hold_out(study, random_state)
        except RefusalError as error:
            said = Advice.joined([error.args[0]]).after("The comparison is not possible: ")
        else:
            said = (
                f"{held_out_rows(study)} ({len(test)} rows): each method, this report's too, was fitted again without "
                "them."
            )
            groups = by if model.groups is None else model.groups
            for each in compare(kept, test, model.alpha_, random_state, names, models, groups):
                compared.append(each)
                report_progress(1)
        tests = hidden_confounding_test(study.X, study.y, study.treatment, study.trial, random_state=random_state)
        return cls(compared, said, tests)


def _check_carried(model: CounterfactualIntervals, study: Study) -> None:
    """Raise if the study does not carry what the model was fitted with: without it a method is another one."""
    if sorted(study.carries) != sorted(model.carries_):
        with_, read = (examples(each) or "nothing beyond them" for each in (model.carries_, study.carries))
        raise RefusalError(
            Advice.of(
                f"the model was fitted on both tables with {with_}, and these were read with {read}.",
                "Name the same columns (--assignment, --cluster) and target (--target).",
            )
        )


def check_covariates(model: CounterfactualIntervals, study: Study) -> None:
    """Refuse a study with other columns than the model's: a model fitted on it is another model."""
    remedy = "Give the tables that the model was fitted on, and name columns that identify rows (--id)."
    names = getattr(model.encoder_, "feature_names_in_", None)
    if names is None:
        count, given_count = getattr(model.encoder_, "n_features_in_", None), study.X.shape[1]
        if count is not None and given_count != count:
            raise ValueError(f"the study has {given_count} covariates, the model {count}. {remedy}")
        return
    if not is_frame(study.X):
        raise ValueError(f"the study is an array, and the model was fitted on named columns. {remedy}")
    read, given = [str(name) for name in names], read_frame(study.X).columns
    parts = {
        "the model does not read": [name for name in given if name not in read],
        "the study lacks": [name for name in read if name not in given],
    }
    differ = "; ".join(f"{what} {examples(map(repr, columns))}" for what, columns in parts.items() if columns)
    if differ:
        raise ValueError(f"the study's covariates are not the model's: {differ}. {remedy}")
