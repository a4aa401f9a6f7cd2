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
    from confide.report.choosing import Listed
    from confide.report.individuals import Individuals
    from confide.typing import Label

NO_TABLES = "a saved model does not contain the tables"


@dataclass(frozen=True)
class Findings:
    """What a model, new rows and the study say together.

    Attributes
    ----------
    pairs : list of (treated, control)
        The effects that are reported.
    averages : dict
        By pair, the average effects: everybody, then the groups of each column that was named.
    selections : list of Listed
        Whom to choose among all rows, by rate; ``rate`` is the one that was asked for.
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
    selections: list[Listed] = field(default_factory=list)
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
        if individuals.refused:
            refused["selections"] = individuals.refused
        return cls(pairs, selections=individuals.listed, rate=individuals.rate, **found, binary=binary, refused=refused)

    @property
    def chosen(self) -> Listed | None:
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
