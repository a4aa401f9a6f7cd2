"""The page itself: a model's predictions, its promise and the evidence, in one file."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from confide import __version__
from confide.base.atomic import atomic_write
from confide.diagnostics.advice import advised, described_effect, on_target
from confide.diagnostics.confounding_test import FEW_ROWS, LEAST_P_VALUE, REJECTION_LEVEL
from confide.methods.registry import METHODS
from confide.predict.answer import answer_columns, contrasts
from confide.predict.levels import why_no_offsets
from confide.report.columns import fitting
from confide.report.embed import as_json
from confide.report.evidence import Evidence
from confide.report.individuals import Individuals
from confide.report.packed_intervals import numbers_of
from confide.report.parameters import changed_parameters

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from confide.data.study import Study
    from confide.diagnostics import Coverage
    from confide.model import CounterfactualIntervals
    from confide.predict.batches import Answered
    from confide.typing import Label, Table

# Up to this many values of a discrete outcome are listed one by one.
MOST_LISTED = 10
SCRIPTS = ("vendor/d3.min.js", "vendor/plot.umd.min.js", "page.js")
LICENCES = {
    "D3": "vendor/LICENSE.d3.txt",
    "Observable Plot": "vendor/LICENSE.plot.txt",
    "interval-tree-1d": "vendor/LICENSE.interval-tree-1d.txt",
    "binary-search-bounds": "vendor/LICENSE.binary-search-bounds.txt",
    "isoformat": "vendor/LICENSE.isoformat.txt",
}


def write_report(
    path: str | os.PathLike[str],
    model: CounterfactualIntervals,
    X_new: Table,
    *,
    study: Study | None = None,
    control: Label | None = None,
    lower_is_better: bool = False,
    methods: Sequence[str] | None = None,
    random_state: int = 0,
) -> Answered:
    """Write a report on a fitted model and new rows: one HTML file that needs no network.

    The file is written completely or not at all. It contains the rows' own columns and predictions: handle it with the
    same care as the table.

    Parameters
    ----------
    path : path
        Where the page is written.
    model : CounterfactualIntervals
        Fitted.
    X_new : frame or (n, d) array
        New rows, at least one. Columns of a frame that are not covariates identify the rows and are carried through.
        The page contains at most the first 10,000 rows, and counts over all.
    study : Study, default None
        What the model was fitted on. With it the page has coverage on held-out rows of the trial, for which every
        method is fitted again, and the test for hidden confounding.
    control : label, default None
        Treatment that the others are compared with; None: the model's own.
    lower_is_better : bool, default False
        Whether a smaller outcome is better. It decides who benefits and who is harmed.
    methods : sequence of str, default None
        Methods that are measured on the held-out rows beside the model's own; None: all.
    random_state : int
        Decides which rows are held out, and the folds of the test.

    Returns
    -------
    Answered
        The number of rows, and on which side of 0 their effect intervals lie.
    """
    individuals = Individuals.of_table(model, X_new, control)
    evidence = None if study is None else Evidence.of(model, study, random_state, methods)
    write_page(path, model, individuals, evidence, control=control, lower_is_better=lower_is_better)
    return individuals.counted


def write_page(
    path: str | os.PathLike[str],
    model: CounterfactualIntervals,
    individuals: Individuals,
    evidence: Evidence | None = None,
    *,
    control: Label | None = None,
    lower_is_better: bool = False,
) -> None:
    """Write the page of individuals, with the evidence for the model if it is given."""
    reason = why_no_offsets(model, individuals.rows)
    numbers, rows = numbers_of(model, individuals, control, reason)
    columns, left_out = fitting(individuals.carried.slice(0, rows), individuals.covariates)
    alpha = float(model.alpha_)
    arms = list(model.diagnostics_.values())
    values = next(iter(model.arms_.values())).outcome_values
    # Only the difference of two arms has ends that are differences of values.
    discrete_effects = values is not None and model.effect_.arms_at_level() is not None
    arm_alpha = float(model.arm_alpha_) if model._keeps_arm_alpha else None
    data = {
        **numbers,
        "alpha": alpha,
        "armAlpha": arm_alpha,
        "side": model.side_,
        "promised": model.effect_promise_.exists,
        "rows": rows,
        "columns": columns,
        "answers": answer_columns(model, control),
        "labels": [str(label) for label in model.arms_],
        "lowerIsBetter": lower_is_better,
        "discrete": {"outcomes": values is not None, "effects": discrete_effects},
        "coverage": _coverage(evidence),
        "weights": [
            {
                "arm": str(arm.treatment),
                "rows": arm.calibration,
                "worth": arm.effective_size,
                "overlap": arm.overlap,
            }
            for arm in arms
        ],
    }
    page = _template().render(
        alpha=alpha,
        arm_alpha=arm_alpha,
        arms=arms,
        whom=model.whom_,
        target=on_target(arms, model._shift()),
        advice=advised(arms, model.effect_.shortages(), model.randomisation_),
        by_group=_by_group(evidence, model.method_),
        changed=changed_parameters(next(iter(model.arms_.values()))),
        contrasts=[(str(treated), str(against)) for treated, against in contrasts(model, control)],
        counted=individuals.counted,
        outcome_values=_listed(values),
        discrete_effects=discrete_effects,
        data=Markup(as_json(data)),  # noqa: S704  (escaped there)
        effect=model.effect_name_,
        effect_promise=described_effect(model.effect_promise_, float(model._inner(model.arm_alpha_))),
        promise=model.promise_,
        evidence=evidence,
        level=REJECTION_LEVEL,
        few_rows=FEW_ROWS,
        least_p_value=LEAST_P_VALUE,
        left_out=left_out,
        licences={name: _read(file) for name, file in LICENCES.items()},
        lower_is_better=lower_is_better,
        method=METHODS.get(arms[0].method),
        policy=_policy(),
        reason=reason,
        rows=rows,
        one_end="" if model.side_ == "both" else model.side_,
        scripts=[Markup(_script(name)) for name in SCRIPTS],  # noqa: S704  (our own files)
        style=Markup(_read("page.css")),  # noqa: S704
        two_stages=any(arm.first_stage_size is not None for arm in arms),
        unlike=individuals.unlike,
        version=__version__,
    )
    with atomic_write(path) as file:
        file.write(page.encode("utf-8", "replace"))


def _coverage(evidence: Evidence | None) -> list[dict[str, Any]]:
    """Return what the chart of coverage shows."""
    if evidence is None:
        return []
    return [
        {"method": each.method, "arm": str(arm.treatment), "coverage": arm.coverage, "low": arm.low, "high": arm.high}
        for each in evidence.compared
        for arm in each.arms
    ]


def _by_group(evidence: Evidence | None, method: str) -> list[Coverage]:
    """Return the coverage by group of the report's own method; empty if there are no groups, or no evidence."""
    compared = [] if evidence is None else evidence.compared
    return next((each.by_group for each in compared if each.method == method), [])


def _number(value: float) -> str:
    """Return a number with four digits; a mean of no values is a dash."""
    if value != value:  # noqa: PLR0124
        return "–"
    return ("∞" if value > 0 else "−∞") if abs(value) == float("inf") else f"{value:.4g}"


def _listed(values: Iterable[float] | None) -> str:
    """Return the values of an outcome as text, only the first and the last if there are many; empty without any."""
    shown = [] if values is None else [f"{value:.12g}".replace("-", "−") for value in sorted(map(float, values))]
    if len(shown) > MOST_LISTED:
        shown = [*shown[:3], "…", shown[-1]]
    return ", ".join(shown)


@cache
def _read(name: str) -> str:
    return files("confide.report").joinpath(name).read_text(encoding="utf-8")


@cache
def _script(name: str) -> str:
    """Return a script that is safe inside a script element."""
    text = _read(name)
    if "</script" in text.lower() or "<!--" in text:
        raise RuntimeError(f"{name} would end its own script element.")
    return text


@cache
def _policy() -> str:
    """Return what the page may do: run its own three scripts, and nothing that needs a network."""
    hashes = (base64.b64encode(hashlib.sha256(_script(name).encode()).digest()).decode() for name in SCRIPTS)
    scripts = " ".join(f"'sha256-{each}'" for each in hashes)
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )


def _with_code(text: str) -> Markup:
    """Return text whose parts between backticks are code; everything is escaped."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 and place < len(parts) - 1 else part
        for place, part in enumerate(parts)
    )


@cache
def _template() -> Any:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["share"] = lambda value: f"{100 * value:.0f} %"
    environment.filters["number"] = _number
    environment.filters["code"] = _with_code
    environment.filters["count"] = lambda value: f"{value:,}"
    environment.filters["percent"] = lambda value: f"{100 * value:.10g} %"
    return environment.from_string(_read("page.html.jinja"))
