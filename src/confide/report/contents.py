"""What the page is made of: the data of its scripts, and the values of its templates."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from confide.diagnostics.advice import advised, described_effect, on_refuted_lot, on_target
from confide.diagnostics.confounding_test import FEW_ROWS, LEAST_P_VALUE, REJECTION_LEVEL
from confide.diagnostics.covariate_balance import CUSTOMARY
from confide.diagnostics.flow import ANSWERED, CALIBRATING, FITTING, READ, SAMPLED, UNUSED
from confide.methods.promise import computed_at, level_in_force
from confide.methods.registry import METHODS
from confide.predict.answer import answer_columns
from confide.predict.levels import why_no_offsets
from confide.report.chosen import bounded, chosen_in_words
from confide.report.columns import fitting
from confide.report.embed import as_json, packed
from confide.report.findings import most_unbalanced
from confide.report.for_maker import for_maker
from confide.report.headline import answers, question, sides, spans
from confide.report.packed_intervals import numbers_of
from confide.report.packed_levels import levels_of
from confide.report.parameters import changed_parameters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from confide.diagnostics import Coverage
    from confide.model import CounterfactualIntervals
    from confide.report.evidence import Evidence
    from confide.report.findings import Findings
    from confide.report.individuals import Individuals
    from confide.report.words import Words
    from confide.typing import Label

# Up to this many values of a discrete outcome are listed one by one.
MOST_LISTED = 10
# The most bytes of the page that numbers and columns of all rows may take together.
MOST_BYTES = 2_250_000
# What the page calls the stages of rows.
STAGES = {
    READ: "read",
    SAMPLED: "in the sample",
    FITTING: "fit the models",
    CALIBRATING: "calibrate",
    UNUSED: "not used",
}


def contents(
    model: CounterfactualIntervals,
    individuals: Individuals,
    findings: Findings,
    evidence: Evidence | None,
    words: Words,
    control: Label | None,
) -> dict[str, Any]:
    """Return the values of the templates, among them the scripts' data as JSON."""
    reason = why_no_offsets(model, individuals.rows)
    held = len(individuals.places)
    numbers, rows = numbers_of(model, individuals, control, reason)
    some = individuals.sampled(rows)
    if len(some) < len(individuals.places):
        individuals = individuals.only(some)
        numbers, rows = numbers_of(model, individuals, control, reason)
    columns, left_out = fitting(individuals.carried, individuals.covariates)
    moved = None
    if reason is not None:
        room = MOST_BYTES - len(as_json(numbers)) - len(as_json(columns).encode("utf-8", "replace"))
        moved = levels_of(model, individuals, control, room)
    arms = list(model.diagnostics_.values())
    values = next(iter(model.arms_.values())).outcome_values
    # Only the difference of two arms has ends that are differences of values.
    discrete_effects = values is not None and model.effect_.arms_at_level() is not None
    arm_alpha = float(model.arm_alpha_) if model._keeps_arm_alpha else None
    randomisation = model.randomisation_
    refuted = on_refuted_lot(randomisation)
    advice = advised(arms, model._effect_shortages(), randomisation, model.whom_, tested=evidence is not None)
    unlike = list(individuals.unlike)
    shared = {"alpha": float(model.alpha_), "rows": rows}
    data = {
        **numbers,
        **(moved or {}),
        **shared,
        "armAlpha": arm_alpha,
        "gamma": float(model.gamma_),
        "side": model.side_,
        "promised": model.effect_promise_.exists,
        "columns": columns,
        "answers": answer_columns(model, control),
        "labels": [words.treatment(label) for label in model.arms_],
        "outcome": words.outcome,
        "measured": words.measured,
        "unit": words.unit,
        "risk": findings.binary,
        "lowerIsBetter": words.lower_is_better,
        "discrete": {"outcomes": values is not None, "effects": discrete_effects},
        "averages": _averages(findings, words),
        "chosen": _chosen(findings, individuals, words),
        **({} if rows == individuals.counted.rows else {"places": packed(individuals.places, "<u4")}),
        "balance": [_balance(each) for each in findings.balance],
        "correlations": _correlations(findings),
        "coverage": _coverage(evidence, words),
        "weights": [_weights(arm, words) for arm in arms],
    }
    return {
        **shared,
        "advice": advice,
        "answers": answers(individuals.counted, findings, words, refuted=bool(refuted)),
        "arm_alpha": arm_alpha,
        "arm_level": "" if arm_alpha is None else level_in_force(arm_alpha, float(model.gamma_)),
        "arms": arms,
        "bounded": bounded(model, individuals, findings, words, rows),
        "by_group": _by_group(evidence, model.method_),
        "changed": changed_parameters(next(iter(model.arms_.values()))),
        "chosen": chosen_in_words(findings, words),
        "computed": computed_at(model.alpha_, float(model.gamma_)),
        "config_hash": model.config_hash_,
        "contrasts": [tuple(map(words.treatment, pair)) for pair in findings.pairs],
        "correlations": {_pair(pair, words): curve for pair, curve in findings.correlations.items()},
        "counted": individuals.counted,
        "customary": CUSTOMARY,
        "data": Markup(as_json(data)),  # noqa: S704  (escaped there)
        "discrete_effects": discrete_effects,
        "effect": model.effect_name_,
        "effect_promise": described_effect(model.effect_promise_, model.arm_alpha_, float(model.gamma_)),
        "evidence": evidence,
        "few_rows": FEW_ROWS,
        "findings": findings,
        "flow": _flow(findings),
        "stages": {stage: STAGES[stage] for stage in _stages(findings)},
        "held": held,
        "gammas": {_pair(pair, words): curve for pair, curve in findings.gammas.items()},
        "least_p_value": LEAST_P_VALUE,
        "left_out": left_out,
        "level": REJECTION_LEVEL,
        "method": METHODS.get(arms[0].method),
        "moved": moved,
        "one_end": "" if model.side_ == "both" else model.side_,
        "outcome_values": _listed(values),
        "own_coverage": _own(evidence, model.method_),
        "promise": model.promise_,
        "question": question(findings, words),
        "randomisation": randomisation,
        "reason": reason,
        "refuted": refuted,
        "seed": next(iter(model.arms_.values())).random_state,  # that of the fit, also if the model's was None
        "spans": spans,
        "sides": sides(individuals.counted, findings, words),
        "target": on_target(arms, model._shift()),
        "to_do": for_maker(
            model, findings, evidence, words, [*unlike, *advice], fixed=reason is not None and moved is None
        ),
        "unbalanced": randomisation and most_unbalanced(randomisation, findings.balance),
        "two_stages": any(arm.first_stage_size is not None for arm in arms),
        "unlike": unlike,
        "whom": model.whom_,
        "words": words,
    }


def _pair(pair: tuple[Label, Label], words: Words) -> tuple[str, str]:
    return words.treatment(pair[0]), words.treatment(pair[1])


def _finite(value: float | None) -> float | None:
    """Return a number as JSON has it; None for one that it lacks."""
    return float(value) if value is not None and isfinite(value) else None


def _averages(findings: Findings, words: Words) -> list[dict[str, Any]]:
    """Return what the chart of average effects shows, in percentage points for risks."""
    scale = 100 if findings.binary else 1
    ends = ("effect", "low", "high", "unadjusted", "unadjusted_low", "unadjusted_high")
    return [
        {
            "treated": words.treatment(record.treated),
            "group": record.group,
            "n": record.n,
            **{end: _finite(scale * getattr(record, end)) for end in ends},
            **spans(record, scale),
        }
        for records in findings.averages.values()
        for record in records
    ]


def _chosen(findings: Findings, individuals: Individuals, words: Words) -> dict[str, Any] | None:
    """Return whom to choose at each rate: for each row the number of the smallest rate, and its p-value."""
    if not individuals.listed:
        return None
    first = np.sum([~each.selected for each in individuals.listed], axis=0)
    levels, places = np.unique(individuals.listed[0].p_values, return_inverse=True)
    return {
        "rates": chosen_in_words(findings, words),
        "first": packed(first, "<u1"),
        "pValues": packed(levels),
        "places": packed(places, "<u2" if len(levels) <= np.iinfo(np.uint16).max else "<u4"),
    }


def _balance(record: Any) -> dict[str, Any]:
    return {
        "covariate": record.covariate,
        "comparison": record.comparison,
        "smd": _finite(record.smd),
        "weighted": _finite(record.smd_weighted),
    }


def _correlations(findings: Findings) -> list[list[dict[str, float | None]]]:
    """Return what the chart over correlations shows, one list per pair of treatments."""
    return [
        [
            {"rho": each.correlation, "width": _finite(each.median), "above": each.above, "below": each.below}
            for each in curve
        ]
        for curve in findings.correlations.values()
    ]


def _flow(findings: Findings) -> list[dict[str, Any]]:
    """Return the flow of rows as lines of a table: the numbers at each stage, by treatment and source."""
    lines: dict[tuple[Label, str], dict[str, int]] = {}
    for each in findings.flow:
        if each.stage != ANSWERED:
            lines.setdefault((each.treatment, each.source), {})[each.stage] = each.rows
    return [
        {"treatment": treatment, "source": source, "rows": [stages.get(stage) for stage in _stages(findings)]}
        for (treatment, source), stages in lines.items()
    ]


def _stages(findings: Findings) -> list[str]:
    """Return the stages that are columns of that table: a sample only where a table was sampled."""
    met = {each.stage for each in findings.flow}
    return [stage for stage in STAGES if stage != SAMPLED or stage in met]


def _coverage(evidence: Evidence | None, words: Words) -> list[dict[str, Any]]:
    """Return what the chart of coverage shows."""
    if evidence is None:
        return []
    return [
        {
            "method": each.method,
            "arm": words.treatment(arm.treatment),
            "coverage": arm.coverage,
            "low": arm.low,
            "high": arm.high,
        }
        for each in evidence.compared
        for arm in each.arms
    ]


def _weights(arm: Any, words: Words) -> dict[str, Any]:
    return {
        "arm": words.treatment(arm.treatment),
        "rows": arm.calibration,
        "worth": arm.effective_size,
        "overlap": arm.overlap,
    }


def _own(evidence: Evidence | None, method: str) -> list[Coverage]:
    """Return the coverage of the report's own method; empty without evidence."""
    compared = [] if evidence is None else evidence.compared
    return next((each.arms for each in compared if each.method == method), [])


def _by_group(evidence: Evidence | None, method: str) -> list[Coverage]:
    """Return the coverage by group of the report's own method; empty if there are no groups, or no evidence."""
    compared = [] if evidence is None else evidence.compared
    return next((each.by_group for each in compared if each.method == method), [])


def _listed(values: Iterable[float] | None) -> str:
    """Return the values of an outcome as text, only the first and the last if there are many; empty without any."""
    shown = [] if values is None else [f"{value:.12g}".replace("-", "−") for value in sorted(map(float, values))]
    if len(shown) > MOST_LISTED:
        shown = [*shown[:3], "…", shown[-1]]
    return ", ".join(shown)
