"""What speaks for a model: coverage on held-out rows of the trial, and the test for hidden confounding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from confide.confounding import ConfoundingTest, hidden_confounding_test
from confide.diagnostics import name_and_promise
from confide.experiments.held_out import HELD_OUT, Compared, compare, hold_out
from confide.methods.registry import METHODS
from confide.methods.registry import method as method_by_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from confide.counterfactual import CounterfactualIntervals
    from confide.study import Study


@dataclass(frozen=True)
class Evidence:
    """What a study says of a model.

    Attributes
    ----------
    compared : list of Compared
        Methods on held-out rows of the trial.
    held_out : str
        Which rows these are, in words; or why there are none.
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
        tell: Callable[[int], None] = lambda _: None,
    ) -> Evidence:
        """Ask a study. ``tell`` is called with 1 after each method.

        The model's own method is measured with the model's own parameters; the others with the outcome's bounds or
        values that it has, and else with their defaults.
        """
        arm = next(iter(model.arms_.values()))
        name = name_and_promise(arm)[0]
        names = list(dict.fromkeys([name, *(METHODS if methods is None else methods)]))
        outcome = {"outcome_range": arm.outcome_range, "outcome_values": arm.outcome_values}
        estimators = {other: method_by_name(other, **outcome) for other in names if other in METHODS}
        estimators[name] = model.method
        compared = []
        try:
            kept, test = hold_out(study, random_state)
            said = f"On {HELD_OUT:.0%} of the trial's rows ({len(test)}), which no method saw in this comparison."
            for each in compare(kept, test, float(arm.alpha), random_state, names, estimators):
                compared.append(each)
                tell(1)
        except ValueError as error:
            said = f"The comparison is not possible: {error}"
        X, y, treatment, trial = study
        return cls(compared, said, hidden_confounding_test(X, y, treatment, trial, random_state=random_state))
