"""When not to trust a fitted arm, and what to do instead: plain sentences from its diagnostics."""

from __future__ import annotations

import html
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from confide.base.advice import Advice
from confide.base.notebook import html_table
from confide.base.validation import examples
from confide.conformal.quantile import effective_sample_size
from confide.methods.promise import computed_at, level_in_force, weakest
from confide.methods.weighted import weighs_outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from confide.diagnostics.randomisation import Randomisation
    from confide.diagnostics.records import ArmDiagnostics
    from confide.methods.base import ArmEstimator
    from confide.methods.promise import Promise, Whom
    from confide.typing import Label, Level
    from confide.weights.arm_weights import ArmWeights

# With an effective sample size below this, the achieved coverage may be far from the level.
FEW_ROWS = 30
# Methods with one width for all, instead of which `prognostic` is advised.
PROGNOSTIC_INSTEAD = ("transfer", "transfer-centred")
# With an overlap of the sources below this, their density ratio is a guess.
LITTLE_OVERLAP = 0.2
# If the outcome lowers the log loss by this many standard errors, the test for hidden confounding is advised.
CLEAR_GAIN = 2.0
# With a p-value of the test of randomisation up to this, the trial's assignment is questioned.
UNBALANCED = 0.005
COLUMNS = 100
TRUST = "Before you trust it"


def give_advice(record: ArmDiagnostics, arm: ArmEstimator) -> tuple[Advice, ...]:
    """Return sentences on when not to trust the arm, and what to do; empty if no number is a reason for concern."""
    said = []
    if shortage := arm._shortage():
        computed = on_level("Intervals are", "alpha", record.alpha, record.gamma)
        said.append(Advice.joined([shortage, *computed]).capitalised())
    else:
        said += [*_on_calibration(record, arm), *_on_misses(record, arm)]
    weighted = arm.weights_ is not None and arm.weights_.target is not None
    return (*said, *([] if weighted else _on_promise(record)), *_on_ratio(record, arm), *_on_confounding(record, arm))


def _on_calibration(record: ArmDiagnostics, arm: ArmEstimator) -> list[Advice]:
    said = []
    level, rows, size, weights = record.level, record.calibration, record.effective_size, arm.weights_
    small = {} if weights is None else _small_groups(weights)
    if weights is not None and small:
        listed = examples([f"{name} ({worth:.0f})" for name, worth in small.items()])
        few = Advice.of(
            f"In some groups calibration rests on few {weights.units}, by their weight: {listed}. The promise is an "
            "average over samples; with this one the coverage of the smallest may well be "
            f"{_spread(level, min(small.values())):.0%} more or less (two standard deviations).",
            f"Use more {weights.units}, or fewer groups.",
        )
        said.append(few)
    elif rows and size < FEW_ROWS:
        worth = f"{rows} rows" if round(size, 6) == rows else f"{rows} rows worth {size:.1f} of equal weight"
        few = Advice.of(
            f"Calibration rests on {worth}. The promise is an average over samples; with this one the coverage may "
            f"well be {_spread(level, size):.0%} more or less (two standard deviations).",
            "Use more rows.",
        )
        said.append(few)
    if record.largest_share > level and round(size, 6) < rows:
        remedy = "or use a method with bounded weights (pooled-dr, transfer)"
        if weights is not None and weights.target is not None:
            remedy = "and ask about people more like the trial's"
        heavy = Advice.of(
            f"One calibration row carries {record.largest_share:.0%} of the weight, more than {_named(record)}: it "
            "alone can set the width.",
            f"Look at that row, {remedy}.",
        )
        said.append(heavy)
    if record.first_stage_size is not None and record.first_stage_size < FEW_ROWS:
        noise = Advice.of(
            f"The first stage's weights are worth {record.first_stage_size:.0f} rows: its intervals are little more "
            "than noise.",
            "Use another ratio, pooled-dr or transfer.",
        )
        said.append(noise)
    if record.infinite and weights is None:
        infinite = f"{record.infinite:.0%} of the intervals at the trial's covariates are infinite."
        said.append(Advice.of(infinite, "Use a larger alpha, more rows, or transfer."))
    if record.at_edge:
        edge = Advice.of(
            f"{record.at_edge:.0%} of the sets reach the edge of the searched outcomes, and nothing beyond it was "
            "searched.",
            "Declare the outcome's bounds (outcome_range=), or use transfer.",
        )
        said.append(edge)
    return said


def on_level(what: str, name: str, alpha: Level, gamma: float) -> list[Advice]:
    """Return what explains the level in a shortage, and the remedy that gamma is; empty without gamma."""
    if gamma == 1:
        return []
    told = f"{what} computed at level {level_in_force(alpha, gamma)}."
    return [Advice.of(told, f"That is {name}/gamma: a smaller gamma makes it larger.")]


def _named(record: ArmDiagnostics) -> str:
    """Return the level that an arm's intervals are computed at, and what it is."""
    return f"alpha = {record.alpha:g}" if record.gamma == 1 else f"alpha/gamma = {record.level:.3g}"


def _spread(alpha: float, size: float) -> float:
    """Return two standard deviations of one sample's coverage with so many calibration rows of equal weight."""
    return float(2 * np.sqrt(alpha * (1 - alpha) / (size + 2)))


def _small_groups(weights: ArmWeights) -> dict[str, float]:
    """Return what the rows of groups are worth, in rows of equal weight, where it is less than `FEW_ROWS`."""
    found = {}
    for number, name in enumerate(weights.groups):
        ranked = weights.marks.weights(number)
        size = effective_sample_size(ranked) if ranked.any() else 0.0
        if size < FEW_ROWS:
            found[name] = size
    return found


def _on_misses(record: ArmDiagnostics, arm: ArmEstimator) -> list[Advice]:
    """Return whom the intervals miss more often, if all have one width."""
    if not arm._has_one_width():
        return []
    remedy = "conformity_score='normalised'"
    if getattr(arm, "base_on", None) in ("observational", "centred"):
        # Error sizes in the large table do not include its bias, so people who are easy to predict would be missed.
        grounded = f"{record.method} with {remedy} and base_on='grounded'"
        # A clipped quantile is for trials that are too small for any other method.
        instead = record.method in PROGNOSTIC_INSTEAD and getattr(arm, "clipped", None) is None
        remedy = "prognostic" if instead else grounded
    told = (
        "All intervals have one width: if errors are larger for some people than for others, people who are hard "
        f"to predict are missed more often than {_named(record)}, and others less often."
    )
    return [Advice.of(told, f"Where that matters, {remedy} lets widths follow the size of errors.")]


def _on_promise(record: ArmDiagnostics) -> list[Advice]:
    measure = "Measure its coverage on held-out trial rows (coverage_report)"
    if not record.promise.exists:
        return [Advice.of(f"{record.method} promises no coverage.", f"{measure}, or use transfer.")]
    if record.promise.loss is not None:
        short = f"{record.method} promises its level minus an unknown error of its weights."
        return [Advice.of(short, f"{measure}; use transfer where the level must hold.")]
    return []


def _on_ratio(record: ArmDiagnostics, arm: ArmEstimator) -> list[Advice]:
    said = []
    if getattr(arm, "ratio_", None) is not None and record.overlap is not None and record.overlap < LITTLE_OVERLAP:
        guesses = Advice.of(
            f"Trial and observational rows hardly overlap ({record.overlap:.2f} of 1): the weights are guesses where "
            "one of the two is missing.",
            "Use transfer or naive, which need no overlap.",
        )
        said.append(guesses)
    if record.clipped:
        clipped = f"The ratio is at its limit on {record.clipped} rows: they are almost surely of one source."
        said.append(Advice.of(clipped, "Check for a covariate that gives the source away, or use transfer."))
    return said


def _on_confounding(record: ArmDiagnostics, arm: ArmEstimator) -> list[Advice]:
    if record.log_loss is None or record.log_loss_without_outcome is None or record.log_loss_error is None:
        return []
    if record.log_loss_without_outcome - record.log_loss <= CLEAR_GAIN * record.log_loss_error:
        return []
    if arm.promise.is_known:  # what may be lost for whom is asked about, or assumed of them, is no confounding
        then = "The promise does not depend on what it finds."
    elif getattr(arm, "ratio_", None) is None:
        then = f"Whether {record.method} allows for what it may find is not known."
    elif weighs_outcome(arm.ratio_):
        then = f"{record.method} allows for confounding as far as its ratio is right."
    else:
        then = f"The weights of {record.method} do not use outcomes: with confounding do not use it, but transfer."
    told = (
        "The outcome helps to separate trial from observational rows (held-out log loss), a reason to run the test for "
        "hidden confounding"
    )
    return [Advice.of(f"{told}. {then}", HOW_TO_TEST, f"{told}: {TEST}. {then}")]


# The last sentence of all advice. The test for hidden confounding looks at more rows and takes longer; readers must not
# mistake the diagnostics above for its result, which may differ.
TEST = "hidden_confounding_test, or `confide diagnose`"
HOW_TO_TEST = f"The test for hidden confounding is {TEST}."
NOT_LOOKED_AT = (
    "Not looked at: hidden confounding, for which {} the test, and how the trial was run, which no row shows."
)
# The same where the test's result stands beside it.
TESTED = "Not looked at: how the trial was run, which no row shows. The test for hidden confounding stands by itself."


def summarise(
    arms: Mapping[Label, ArmDiagnostics],
    effect: str,
    effect_promise: str,
    control: Label,
    effect_shortages: Mapping[Label, str],
    *,
    whom: Whom,
    shift: tuple[str, float] | None = None,
    randomisation: Randomisation | None = None,
) -> Summary:
    """Return the diagnostics of all arms as text.

    Parameters
    ----------
    arms, effect, effect_promise, control
        The arms' diagnostics, and what there is to say about effects.
    effect_shortages : mapping
        Those of the fitted effect.
    whom : Whom
        The people that promises are for.
    shift : (str, float), default None
        The covariate by which the target differs most from the trial, in standard deviations.
    randomisation : Randomisation, default None
        The test of randomisation.
    """
    records = list(arms.values())
    first = records[0]
    promise = weakest((record.promise for record in records), first.alpha)
    asked_for = f"alpha = {first.alpha:g}{computed_at(first.alpha, first.gamma)}"
    opening = [
        f"{first.method} at {asked_for}; promised coverage of an outcome: {promise}.",
        f"Effects against {control} (the control) by {effect}; promised coverage: {effect_promise}.",
        whom.assumptions,
        *on_target(records, shift),
    ]
    asked = "the trial's" if shift is None else "the target's"
    numbers = {record.treatment: _describe(record, asked) for record in records}
    return Summary.of(opening, numbers, advised(records, effect_shortages, randomisation, whom))


class Summary(str):
    """What `summarise` returns: text, which a notebook shows as sentences, a table of the arms, and a list."""

    __slots__ = ("html",)

    html: str

    @classmethod
    def of(cls, opening: Sequence[str], numbers: Mapping[Label, Mapping[str, str]], advice: Sequence[str]) -> Summary:
        """Return the text and the HTML of the same sentences."""
        parts = [*opening, ""]
        for label, lines in numbers.items():
            parts += [f"Treatment {label}", *(f"  {name}: {text}" for name, text in lines.items())]
        parts += ["", TRUST, *(f"- {text}" for text in advice)]
        made = cls("\n".join(map(_wrap, parts)))
        names = dict.fromkeys(name for lines in numbers.values() for name in lines)
        head = ["", *(f"Treatment {label}" for label in numbers)]
        rows = [[name, *(lines.get(name) for lines in numbers.values())] for name in names]
        said = "".join(f"<p>{html.escape(text)}</p>" for text in opening)
        listed = "".join(f"<li>{html.escape(text)}</li>" for text in advice)
        made.html = f"{said}{html_table(head, rows)}<p><strong>{TRUST}</strong></p><ul>{listed}</ul>"
        return made

    def _repr_html_(self) -> str:
        return self.html


def on_target(records: Sequence[ArmDiagnostics], shift: tuple[str, float] | None) -> list[str]:
    """Return how far the target is from the trial, what that costs, and for how many there is no finite answer."""
    if shift is None:
        return []
    sizes = ", ".join(f"{record.treatment} {record.effective_size:.0f} of {record.calibration}" for record in records)
    infinite = f"{max(record.infinite for record in records):.0%}"
    remedy = "" if infinite == "0%" else " If that covariate does not matter for the outcome, leave it out."
    return [
        (
            f"The target differs from the trial most by {shift[0]}: {shift[1]:+.1f} standard deviations. Calibration "
            f"rows worth as many of equal weight: {sizes}. For {infinite} of the target's people there are too few "
            f"people like them in the trial, and their intervals are infinite.{remedy}"
        )
    ]


def on_randomisation(found: Randomisation | None, whom: Whom) -> list[Advice]:
    """Return what the test of randomisation says, if that is a reason for concern, or that it could not be made."""
    if found is None and whom.stands_in:
        told = (
            "Whether the trial kept to the stated probabilities is not tested: with three or more treatments only "
            "that of the treatment received is known. Look whether the arms' covariates agree after weighting."
        )
        return [Advice.of(told, "That is shown by balance, or `confide diagnose`.")]
    return on_refuted_lot(found)


def on_refuted_lot(found: Randomisation | None) -> list[Advice]:
    """Return that the trial's lot is refuted, if the test of randomisation says so."""
    if found is None or found.p_value > UNBALANCED:
        return []
    told = (
        f"Treatment in the trial depends on covariates more than chance allows (p = {found.p_value:.3f}, most on "
        f"{found.covariate}: treatment {found.treatment} against the rest of the trial {found.difference:+.1f} "
        "standard deviations). If it was assigned with probabilities that differ, no promise holds without them. "
        "If it was not, the trial has a fault."
    )
    return [Advice.of(told, "State probabilities that differ (assignment=, --assignment).")]


def described_effect(promise: Promise, arm_alpha: Level, gamma: float) -> str:
    """Return the promise of an effect, whose steps are at ``arm_alpha``/gamma, as a percentage with its reason."""
    if not promise.exists:
        return str(promise)
    taken = level_in_force(arm_alpha, gamma)
    return f"{promise.shown_at(arm_alpha)}, because each of its two steps is taken at {taken}"


def advised(
    records: Sequence[ArmDiagnostics],
    effect_shortages: Mapping[Label, str],
    randomisation: Randomisation | None,
    whom: Whom,
    *,
    tested: bool = False,
) -> list[Advice]:
    """Return the advice on arms and effects, each sentence once; it names the arms if not all are meant.

    ``tested``: the result of the test for hidden confounding is shown too.
    """
    by_advice: dict[Advice, list[str]] = {}
    for record in records:
        for text in record.advice:
            by_advice.setdefault(text, []).append(str(record.treatment))
    for label, shortage in effect_shortages.items():
        by_advice.setdefault(Advice.joined([shortage]).after("Effect intervals: "), []).append(str(label))
    return [
        *on_randomisation(randomisation, whom),
        *(
            text.after("" if len(labels) == len(records) else f"Treatment {' and '.join(labels)}: ")
            for text, labels in by_advice.items()
        ),
        _last(tested=tested),
    ]


def _last(*, tested: bool) -> Advice:
    """Return what was looked at, and what was not."""
    looked = "Looked at for this: rows, weights, overlap and intervals."
    if tested:
        return Advice.of(f"{looked} {TESTED}")
    says, text = (f"{looked} {NOT_LOOKED_AT.format(each)}" for each in ("there is", f"{TEST}, is"))
    return Advice.of(says, HOW_TO_TEST, text)


def _wrap(text: str) -> str:
    """Return a paragraph of at most `COLUMNS` columns; names are not broken at hyphens."""
    indent = " " * (len(text) - len(text.lstrip(" -")))
    return textwrap.fill(text, COLUMNS, subsequent_indent=indent, break_on_hyphens=False)


def _describe(record: ArmDiagnostics, asked: str) -> dict[str, str]:
    """Return an arm's numbers as a few named lines; ``asked`` is whose covariates sets were computed at."""
    calibrate = f"{record.calibration} calibrate"
    if record.calibration:
        calibrate += f" (n_eff {record.effective_size:.1f}, heaviest row {record.largest_share:.1%} of the weight)"
    if record.first_stage_size is not None:
        calibrate += f"; first stage n_eff {record.first_stage_size:.1f}"
    base = record.base
    if record.base_r2 is not None:
        base += f"; R² {record.base_r2:.2f} on the calibration rows, which it has not learnt from"
    lines = {
        "rows": f"{record.observational} observational, {record.trial} trial; {calibrate}",
        "base model": base,
    }
    if record.overlap is not None:
        lines["sources"] = (
            f"overlap {record.overlap:.2f} of 1; held-out log loss {record.log_loss:.4f} with the outcome, "
            f"{record.log_loss_without_outcome:.4f} without (standard error of the difference "
            f"{record.log_loss_error:.4f})"
        )
    sets = f"{record.infinite:.1%} infinite"
    if record.at_edge is not None:
        sets += f", {record.at_edge:.1%} at the edge of the searched outcomes"
    if record.clipped is not None:
        sets += f"; ratio at its limits on {record.clipped} rows of fit"
    return {**lines, f"intervals at {asked} covariates": sets}
