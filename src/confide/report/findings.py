"""What the page says beside the individuals: average effects, whom to choose, balance, and what would tip the answers.

Each part comes from the function that owns it; where one refuses, its reason is kept.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.diagnostics.correlation import AtCorrelation, correlation_curve
from confide.diagnostics.covariate_balance import Balance, balance
from confide.diagnostics.flow import RowFlow, row_flow
from confide.diagnostics.tipping import AtGamma, gamma_curve
from confide.effects.averages import AverageEffect, averages_by_each
from confide.effects.selection import Selection, select
from confide.effects.wording import plain
from confide.exceptions import InfiniteIntervalWarning, PopulationWarning, RefusalError
from confide.predict.answer import contrasts
from confide.report.evidence import check_covariates
from confide.report.words import MINUS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from confide.data.study import Study
    from confide.diagnostics.randomisation import Randomisation
    from confide.model import CounterfactualIntervals
    from confide.report.individuals import Individuals
    from confide.typing import Label

# Rates at which people are chosen, beside the one that is asked for.
RATES = (0.05, 0.1, 0.2, 0.3)
NO_TABLES = "a saved model does not contain the tables"


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
class Findings:
    """What a model, new rows and the study say together.

    Attributes
    ----------
    pairs : list of (treated, control)
        The effects that are reported.
    averages : dict
        By pair, the average effects: everybody, then the groups of each column that was named.
    selections : list of Selection
        Whom to choose, by rate; ``rate`` is the one that was asked for.
    balance, flow
        Records of `confide.diagnostics.balance` and `row_flow`.
    correlations, gammas : dict
        By pair, records of `correlation_curve` and of `gamma_curve`.
    binary : bool
        Whether outcomes are 0 and 1, and means are risks.
    refused : dict
        By the name of a part that is missing, why.
    """

    pairs: list[tuple[Label, Label]]
    averages: dict[tuple[Label, Label], list[AverageEffect]] = field(default_factory=dict)
    selections: list[Selection] = field(default_factory=list)
    rate: float | None = None
    balance: list[Balance] = field(default_factory=list)
    flow: list[RowFlow] = field(default_factory=list)
    correlations: dict[tuple[Label, Label], list[AtCorrelation]] = field(default_factory=dict)
    gammas: dict[tuple[Label, Label], list[AtGamma]] = field(default_factory=dict)
    binary: bool = False
    refused: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: CounterfactualIntervals,
        individuals: Individuals,
        study: Study | None = None,
        *,
        control: Label | None = None,
        by: Sequence[str | Sequence[str]] = (),
        choice: Choice | None = None,
    ) -> Findings:
        """Return everything that can be said; each of ``by`` makes groups by itself: a column, or several crossed.

        The model's own groups come first. Raises a ValueError if a column is not a covariate, or makes too many groups.
        """
        if study is None and by:
            raise ValueError("groups of average effects need the study: give the tables that the model was fitted on.")
        if study is not None:
            check_covariates(model, study)
        pairs = contrasts(model, control)
        refused: dict[str, str] = {}
        found: dict[str, Any] = {}

        def ask(part: str, work: Callable[[], Any]) -> None:
            try:
                found[part] = work()
            except RefusalError as error:
                refused[part] = error.args[0]

        with warnings.catch_warnings():
            # Individuals have told both.
            warnings.simplefilter("ignore", InfiniteIntervalWarning)
            warnings.simplefilter("ignore", PopulationWarning)
            if choice is not None:
                ask("selections", lambda: _selections(model, individuals, choice, pairs))
            if study is None:
                refused |= dict.fromkeys(("averages", "balance", "flow"), NO_TABLES)
            else:
                columns = [*([] if model.groups is None else [model.groups]), *by]
                ask("averages", lambda: {pair: averages_by_each(model, study, *pair, columns) for pair in pairs})
                ask("flow", lambda: row_flow(model, study, individuals.counted.rows))
                found["balance"] = balance(study, individuals.X, control=pairs[0][1])
            if model.side_ == "both":
                curves = {
                    pair: correlation_curve(model, individuals.rows, treated=pair[0], control=pair[1]) for pair in pairs
                }
                found["correlations"] = curves
            else:
                refused["correlations"] = "intervals have one end"
            ask(
                "gammas",
                lambda: {
                    pair: gamma_curve(model, individuals.rows, treated=pair[0], control=pair[1]) for pair in pairs
                },
            )
        values = next(iter(model.arms_.values())).outcome_values if study is None else study.y
        binary = values is not None and bool(np.isin(np.asarray(list(values), dtype=np.float64), (0, 1)).all())
        rate = None if choice is None else float(choice.fdr)
        return cls(pairs, **found, rate=rate, binary=binary, refused=refused)

    @property
    def chosen(self) -> Selection | None:
        """Whom to choose at the rate that was asked for; None if nobody asked."""
        return next((each for each in self.selections if each.fdr == self.rate), None)


def most_unbalanced(found: Randomisation, records: Sequence[Balance]) -> str:
    """Return what differs most between the treatments of the trial: whose difference, and how large.

    It is the largest that the table of balance has for the covariate; without one there, that of the test.
    """
    sizes = [
        (each.comparison, each.smd if each.smd_weighted is None else each.smd_weighted)
        for each in records
        if each.comparison.startswith("trial: ") and each.covariate == found.covariate and not isnan(each.smd)
    ]
    rest = f"trial: {found.treatment} against the rest", found.difference
    whose, size = max(sizes, key=lambda each: abs(each[1]), default=rest)
    return f"{found.covariate} ({whose}, {plain(size, MINUS)} standard deviations)"


def _selections(
    model: CounterfactualIntervals, individuals: Individuals, choice: Choice, pairs: Sequence[tuple[Label, Label]]
) -> list[Selection]:
    """Return whom to choose at each rate, in order."""
    under = pairs[0][0] if choice.under is None else choice.under
    value = {"above": choice.above, "below": choice.below}
    rates = sorted({*RATES, float(choice.fdr)})
    return [select(model, individuals.X, under, **value, fdr=rate) for rate in rates]
