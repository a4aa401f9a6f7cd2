"""What the page calls the outcome and the treatments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from confide.base.validation import suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confide.model import CounterfactualIntervals
    from confide.typing import Label


MINUS = "−"


@dataclass(frozen=True)
class Words:
    """Names for readers; answers do not depend on them.

    Attributes
    ----------
    outcome : str
        What the outcome is called.
    unit : str
        Its unit; empty without one.
    treatments : mapping
        What treatments are called, by their labels as text; others are called by their label.
    lower_is_better : bool or None
        Whether a smaller outcome is better; None: nobody said which direction is, and nothing is called better.
    """

    outcome: str = "outcome"
    unit: str = ""
    treatments: Mapping[str, str] = field(default_factory=dict)
    lower_is_better: bool | None = None

    @classmethod
    def of(
        cls,
        model: CounterfactualIntervals,
        outcome: str | None,
        unit: str,
        treatments: Mapping[str, str],
        *,
        lower_is_better: bool | None,
    ) -> Words:
        """Return checked names; an outcome without one is called as its column was when the model was fitted."""
        words = cls(outcome or model.outcome_column_ or cls.outcome, unit, treatments, lower_is_better)
        words.check(model)
        return words

    def check(self, model: CounterfactualIntervals) -> None:
        """Raise if a name is no text, there are names for treatments that the model does not have, or two alike."""
        for what, name in (("outcome_label", self.outcome), ("unit", self.unit), *self.treatments.items()):
            if not isinstance(name, str):
                raise ValueError(f"the name given for {what} must be text, got {name!r}.")  # noqa: TRY004
        labels = [str(label) for label in model.arms_]
        for given in self.treatments:
            if given not in labels:
                raise ValueError(f"a name is given to treatment {given!r}, which is unknown; {suggest(given, labels)}")
        names = [self.treatment(label) for label in labels]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two treatments would be called {twice!r}. Give each a name of its own.")

    def treatment(self, label: Label) -> str:
        """Return what a treatment is called."""
        return self.treatments.get(str(label), str(label))

    @property
    def measured(self) -> str:
        """The outcome with its unit, unless its name already has it."""
        named = self.unit.lower() in self.outcome.lower().split()
        return f"{self.outcome} ({self.unit})" if self.unit and not named else self.outcome
