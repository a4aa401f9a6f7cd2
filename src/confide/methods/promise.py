"""What a method promises: an object from which sentences are made. No code reads the sentences back.

It imports nothing heavy, so that promises can be listed without importing an estimator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from confide.typing import Level

TRIAL_POPULATION = "new people from the trial's population"
PARTICIPANTS = "people who were randomised in this trial or one like it, and whose outcome is known"


@dataclass(frozen=True)
class Loss:
    """What a promise loses beyond its level, by an amount that the data do not show.

    Attributes
    ----------
    symbol : str
        The loss as it stands in formulas, such as "Δ".
    meaning : str
        What it is, and when it vanishes.
    """

    symbol: str
    meaning: str = ""


@dataclass(frozen=True)
class Promise:
    """The coverage that intervals promise.

    ``str`` gives the sentence, in which α is the level.

    Attributes
    ----------
    misses : tuple of float or None
        What each step may miss: None for α, or a fixed level. Empty: nothing is promised.
    loss : Loss or None
        What is lost beyond these; None if nothing is.
    searched : bool
        Whether up to 2/(m+1) more is lost, m the number of trial rows, because outcomes are searched over a range of
        which an end was not declared.
    times : float
        How often what is lost beyond the level counts: gamma.
    guard : float or None
        ε of a second promise, 1-α-ε, that holds whatever the loss is; infinite if there may be one, by a parameter.
    large_samples : bool
        Whether it is a promise for large samples only.
    holds : str
        Whatever the method may get wrong without harm to the promise, such as "whatever the confounding".
    assumption : str
        What it assumes beyond `ASSUMPTIONS`.
    whom : str
        For whom it is.
    reason : str
        Why nothing is promised; empty if something is.
    """

    misses: tuple[Level | None, ...] = (None,)
    loss: Loss | None = None
    searched: bool = False
    times: float = 1.0
    guard: float | None = None
    large_samples: bool = False
    holds: str = ""
    assumption: str = ""
    whom: str = TRIAL_POPULATION
    reason: str = ""

    @property
    def exists(self) -> bool:
        """Whether anything is promised."""
        return bool(self.misses)

    @property
    def keeps_level(self) -> bool:
        """Whether 1-α itself is promised, and nothing is lost."""
        return self.misses == (None,) and self.is_known

    @property
    def is_known(self) -> bool:
        """Whether the promise is a number: it exists, and loses nothing unknown."""
        return self.exists and self.loss is None and not self.searched and not self.assumption

    def level(self, alpha: Level) -> float | None:
        """Return the promised coverage at α, before any loss; None if nothing is promised, or no more than 0."""
        from confide.conformal.quantile import check_alpha  # noqa: PLC0415  (heavy)

        if not self.exists:
            return None
        total = sum(check_alpha(alpha if miss is None else miss) for miss in self.misses)
        return float(1 - total) if total < 1 else None

    def shown_at(self, alpha: Level) -> str:
        """Return the promised coverage as a percentage, with the symbol of what is lost; "none" without one."""
        level = self.level(alpha)
        if level is None:
            return "none"
        return f"≥ {100 * level:.10g} %" + ("" if self.loss is None else f" - {self._lost}")

    @property
    def _lost(self) -> str:
        """The symbol of what is lost, with its factor."""
        symbol = "" if self.loss is None else self.loss.symbol
        return symbol if self.times == 1 else f"{self.times:g}·{symbol}"

    def __str__(self) -> str:
        if not self.exists:
            return f"none {self.reason}".rstrip()
        lost = "" if self.loss is None else f"-{self._lost}"
        parts = [f"≥ {_coverage(self.misses)}{lost}", *([self.assumption] if self.assumption else [])]
        if self.large_samples:
            parts.append("for large samples")
        text = " ".join(parts)
        if self.loss is not None and self.loss.meaning:
            text += f", {self.loss.meaning}"
        if self.holds:
            text += f", {self.holds}"
        if self.searched:
            text += f"; without a finite outcome_range up to {2 * self.times:g}/(m+1) less"
        if self.guard is not None:
            epsilon = "ε" if self.guard == float("inf") else f"{self.guard:g}"
            given = "; with floor=ε also" if self.guard == float("inf") else "; also"
            text += f"{given} ≥ {_coverage(self.misses)}-{epsilon}, whatever the ratio"
        return text


@dataclass(frozen=True)
class Whom:
    """The people that promises are for.

    Attributes
    ----------
    carries : tuple of str
        What a study carries: "assignment", "cluster", "target".
    groups : tuple of str
        Columns within each of whose groups the promise holds.
    gamma : float
        How many times as frequent as in the trial people may be, for reasons that are not in the covariates.
    stands_in : bool
        Whether people may have had smaller probabilities of a treatment than the trial's rows tell of: with three or
        more treatments, a row of another one does not tell that of this one.
    """

    carries: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    gamma: float = 1.0
    stands_in: bool = False

    @property
    def people(self) -> str:
        """For whom answers hold, in words."""
        whom = TRIAL_POPULATION
        if "cluster" in self.carries:
            whom = "a new person at random from a new cluster like the trial's"
        if "target" in self.carries:
            whom = "people of the target population"
        if self.groups:
            whom += f", in each group of {' and '.join(self.groups)}"
        if self.gamma > 1:
            whom += f" (or others, if nobody is more than {self.gamma:g} times as frequent among them)"
        return whom

    @property
    def assumptions(self) -> str:
        """What every promise assumes, in words."""
        how = "with the same probability for everybody"
        if "assignment" in self.carries:
            how = "with the probabilities that were stated, which depend on covariates alone"
        rows = "its rows and the new ones are"
        if "cluster" in self.carries:
            rows = "no cluster is in both tables, that its clusters and the new one are"
        arise = "arise as they did in the trial"
        if "target" in self.carries:
            arise = f"{arise} given covariates, the estimated weights being right"
        return (
            f"Promises are averages over people and samples, for {self.people}{',' if self.groups else ''} whose "
            f"outcomes {arise}. They assume "
            f"that the trial assigned treatment at random {how}, that it lost no rows because of their outcomes, that "
            f"{rows} independent of each other, and that nobody is in both tables."
        )

    def promised(self, promise: Promise) -> Promise:
        """Return a promise, which holds at the level divided by gamma for the trial's people, for these people."""
        if not promise.exists or self == Whom():
            return promise
        loss, conditions = promise.loss, [promise.assumption] if promise.assumption else []
        if "target" in self.carries:
            symbol = "E|w-ŵ/Eŵ|" if len(promise.misses) > 1 else "½E|w-ŵ/Eŵ|"
            within = ", both within their group" if self.groups else ""
            loss = Loss(symbol, f"w how much more frequent people are in the target, ŵ estimated{within}")
            conditions.append("if outcomes given covariates arise there as in the trial")
        if self.stands_in:
            conditions.append("if no new person's probability is smaller than the trial's rows tell of, or it is given")
        if self.gamma > 1:
            within = "within their group" if self.groups else "in the trial"
            whose = " of the weighted trial" if "target" in self.carries and self.groups else ""
            conditions.append(f"if nobody asked about is more than {self.gamma:g} times as frequent as {within}{whose}")
        return replace(
            promise,
            misses=tuple(None if miss is None else float(miss) * self.gamma for miss in promise.misses),
            loss=loss,
            times=self.gamma,
            guard=None if promise.guard is None else promise.guard * self.gamma,
            assumption=" and ".join(conditions),
            whom=self.people,
        )


def _coverage(misses: Sequence[Level | None]) -> str:
    """Return 1-α, 1-2α, or 1 minus the fixed levels."""
    own = sum(miss is None for miss in misses)
    text = "1" if not own else f"1-{'' if own == 1 else own}α"
    return text + "".join(f"-{float(miss):g}" for miss in misses if miss is not None)


def level_in_force(alpha: Level, gamma: float) -> str:
    """Return the level that intervals are computed at, alpha/gamma, in numbers: "0.1", or "0.1/1.3 = 0.0769"."""
    told = f"{float(alpha):g}"
    return told if gamma == 1 else f"{told}/{float(gamma):g} = {float(alpha) / float(gamma):.3g}"


def computed_at(alpha: Level, gamma: float) -> str:
    """Return the words for the level that intervals are computed at; empty where it is alpha itself."""
    return "" if gamma == 1 else f", computed at level {level_in_force(alpha, gamma)}"


# The assumptions of every promise.
ASSUMPTIONS = Whom().assumptions
NOT_STATED = Promise(misses=(), reason="stated")
NONE = Promise(misses=())
# Split conformal prediction on the trial: Eq. 7 of the paper.
KEPT = Promise()
KEPT_UNDER_CONFOUNDING = Promise(holds="whatever the confounding")
# The clipped quantile: a floor below the level where the trial is too small for it, which the fitted arm states.
KEPT_WITH_ENOUGH_ROWS = Promise(holds="whatever the confounding; with too few trial rows for that, ≥ a/(m+1)")
PROPENSITY = Promise(
    loss=Loss("½E|w-ŵ/Eŵ|"),
    assumption="only without hidden confounding and if covariates are distributed alike in both tables",
)
DELTA = Loss("Δ", "Δ the error of r̂")


def weakest(promises: Iterable[Promise], alpha: Level) -> Promise:
    """Return the promise with the least level at α: that of arms together; the first of several."""
    return min(promises, key=lambda each: each.level(alpha) or 0.0)


def ratio_promise(ratio_on: str = "xy", *, all_rows: bool = False, searched: bool = True) -> Promise:
    """Return the promise of calibration weighted by a density ratio, which is learnt from what ``ratio_on`` names."""
    if all_rows:
        return Promise(misses=(), reason="proved with ratio_rows='all'")
    meanings = {
        "x": "where Δ does not vanish under hidden confounding",
        "y": f"{DELTA.meaning}, which vanishes only if X ⟂ source given Y",
    }
    return Promise(loss=replace(DELTA, meaning=meanings.get(ratio_on, DELTA.meaning)), searched=searched)


def two_stage_promise(
    form: str, ratio_on: str = "xy", *, refit: bool = False, levels: tuple[Level | None, Level | None] = (None, None)
) -> Promise:
    """Return the promise of a two-stage method: "inexact", "exact" or "calibrated", its stages at these levels."""
    if form == "inexact":
        return NONE
    if form == "calibrated":
        return Promise(misses=levels[1:], holds="whatever the ratio")
    if refit:
        return Promise(misses=(), reason="proved with refit=True")
    return replace(ratio_promise(ratio_on, searched=False), misses=levels)


def pooled_promise(*, searched: bool = False, guard: float | None = float("inf")) -> Promise:
    """Return the promise of pooled calibration by exact permutation weights."""
    loss = Loss("Δ_pool", "Δ_pool the error of r̂ in the pooled weights")
    return Promise(loss=loss, large_samples=True, searched=searched, guard=guard)
