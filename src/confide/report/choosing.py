"""Whom to choose among all rows that are asked about, counted as they come: the page shows some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from confide.conformal.quantile import check_alpha
from confide.conformal.selection import last_chosen
from confide.effects.selection import Rule, Told, rate_in_force
from confide.exceptions import RefusalError
from confide.predict.answer import contrasts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from confide.methods.new_rows import NewRows
    from confide.model import CounterfactualIntervals
    from confide.typing import Booleans, Floats, Label

# Rates at which people are chosen, beside the one that is asked for.
RATES = (0.05, 0.1, 0.2, 0.3)


@dataclass(frozen=True)
class Choice:
    """Whom to choose: people whose outcome under a treatment, by default the first that is not the control, is so.

    ``above``, ``below`` and ``fdr`` are those of `confide.select`.
    """

    above: float | None = None
    below: float | None = None
    fdr: float = 0.1
    under: Label | None = None


@dataclass(frozen=True)
class Listed(Told):
    """Whom to choose at one rate: `confide.select` of all rows, with the arrays of the rows that are held.

    Attributes
    ----------
    selected, p_values : (held,) arrays
        Of the rows that are held, as in `Selection`.
    people, count : int
        How many people were asked about, all rows, and how many of them are chosen.
    treatment, side, value, fdr, gamma, rows, reached
        Those of `Selection`.
    """

    selected: Booleans
    p_values: Floats
    people: int
    count: int
    treatment: Label
    side: str
    value: float
    fdr: float
    gamma: float
    rows: int
    reached: int

    def __len__(self) -> int:
        return self.people


@dataclass
class Choosing:
    """The p-values of rows as they come: of each row its own, of all rows only how many have each value.

    Attributes
    ----------
    choice : Choice
        What was asked.
    rule : Rule or None
        How people are chosen; None if that is refused.
    refused : str
        Why nobody can be; empty if they can.
    counts : array
        How many rows have the numerator 0, 1, 2, …
    """

    choice: Choice
    rule: Rule | None
    refused: str
    counts: NDArray[np.intp]

    @classmethod
    def of(cls, model: CounterfactualIntervals, choice: Choice, control: Label | None) -> Choosing:
        """Return the start; raise a ValueError if what was asked is not understood."""
        check_alpha(choice.fdr, "fdr")
        under = contrasts(model, control)[0][0] if choice.under is None else choice.under
        try:
            rule = Rule.of(model, under, choice.above, choice.below)
        except RefusalError as error:
            return cls(choice, None, error.args[0], np.zeros(0, dtype=np.intp))
        return cls(choice, rule, "", np.zeros(len(rule.trial) + 2, dtype=np.intp))

    def add(self, rows: Mapping[Label, NewRows]) -> NDArray[np.intp] | None:
        """Count the next rows, as the arms have taken them; return their numerators, None if choosing is refused."""
        if self.rule is None:
            return None
        numerator = self.rule.numerators(rows[self.rule.treatment])
        self.counts += np.bincount(numerator, minlength=len(self.counts))
        return numerator

    def listed(self, held: NDArray[np.intp] | None) -> list[Listed]:
        """Return whom to choose at each rate, in order; ``held`` are the numerators of the rows that are held."""
        if self.rule is None or held is None:
            return []
        return [self._at(self.rule, held, fdr) for fdr in sorted({*RATES, float(self.choice.fdr)})]

    def _at(self, rule: Rule, held: NDArray[np.intp], fdr: float) -> Listed:
        facts = rule.facts(fdr)
        last = last_chosen(self.counts, facts["rows"], rate_in_force(fdr, rule.gamma))
        return Listed(
            selected=held <= last,
            p_values=held / (facts["rows"] + 1),
            people=int(self.counts.sum()),
            count=int(self.counts[: last + 1].sum()),
            **facts,
        )
