"""The registry of methods by name: the one source for the documentation, the command line and the report.

It imports nothing heavy, so that names and promises can be listed without importing an estimator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from confide.base.validation import suggest
from confide.methods.promise import (
    KEPT,
    KEPT_UNDER_CONFOUNDING,
    PROPENSITY,
    Promise,
    pooled_promise,
    ratio_promise,
    two_stage_promise,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confide.methods.base import ArmEstimator


@dataclass(frozen=True)
class Method:
    """One entry of the registry: a method's name, the data it uses and the coverage it promises.

    Attributes
    ----------
    uses : str
        Which rows train the base model, which rows calibrate, and with what weights.
    promise : Promise
        The coverage it promises with its usual parameters, no stronger than what is proved.
    summary : str
        The method in one sentence.
    """

    name: str
    estimator: str
    uses: str
    promise: Promise
    summary: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ratio_on: str | None = None


_TWO_STAGES = "base: observational fit rows; "
_FIRST_STAGE = {
    "xy": "intervals at trial rows by the other observational rows, weight r̂(x, y); "
    "their quantile regressed on x over trial fit rows",
    "x": "intervals at every x by the other observational rows, weight r̂(x)",
}
_SECOND_STAGE = {
    "inexact": "",
    "exact": "; ends moved apart to contain the intervals of the trial's calibration rows",
    "calibrated": "; ends moved apart to contain the outcomes of the trial's calibration rows",
}
_STAGES: dict[str, dict[str, Any]] = {
    "inexact": {"exact": False},
    "exact": {"exact": True, "target": "interval"},
    "calibrated": {"exact": True, "target": "outcome"},
}


def _wscp_dr(form: str, summary: str, star: str = "") -> Method:
    """Return the entry of a two-stage method; the star marks a density ratio that does not use outcomes."""
    on = "x" if star else "xy"
    return Method(
        name=f"wscp-dr{star}-{form}",
        estimator="confide.methods.wscp_dr:WSCPDR",
        uses=_TWO_STAGES + _FIRST_STAGE[on] + _SECOND_STAGE[form],
        promise=two_stage_promise(form, on),
        summary=summary,
        parameters=_STAGES[form],
        ratio_on="x" if star else None,
    )


_METHODS = (
    Method(
        name="naive",
        estimator="confide.methods.naive:Naive",
        uses="base: trial fit rows; calibration: the other trial rows, weight 1",
        promise=KEPT,
        summary="Split conformal prediction on the trial alone (the paper's Algorithm 1).",
    ),
    Method(
        name="transfer",
        estimator="confide.methods.transfer:Transfer",
        uses="base: all observational rows; calibration: all trial rows, weight 1",
        promise=KEPT_UNDER_CONFOUNDING,
        summary="A base model from the large table, calibrated on the trial.",
    ),
    Method(
        name="transfer-centred",
        estimator="confide.methods.transfer:Transfer",
        uses="base: all observational rows, minus its mean error on the trial; calibration: all trial rows, weight 1",
        promise=KEPT_UNDER_CONFOUNDING,
        summary="As transfer, minus its mean error on the trial, in which the new row counts: without a hold-out set.",
        parameters={"base_on": "centred"},
    ),
    Method(
        name="prognostic",
        estimator="confide.methods.prognostic:Prognostic",
        uses="base and the size of its errors: all observational rows; stacked and calibrated: all trial rows with the "
        "new one, by the candidate that deleted scores call the narrowest",
        promise=KEPT_UNDER_CONFOUNDING,
        summary="A prognostic score from the large table, used as far as the trial shows that it helps.",
    ),
    Method(
        name="pooled-dr",
        estimator="confide.methods.pooled_dr:PooledDR",
        uses="base: observational fit rows; calibration: the other observational rows and trial rows together, "
        "exact permutation weights by r̂(x, y)",
        promise=pooled_promise(),
        summary="Both tables calibrate, each row with its exact weight (the paper's Eq. 5, in closed form).",
    ),
    Method(
        name="wcp",
        estimator="confide.methods.wcp:WCP",
        uses="base: observational fit rows; calibration: the other observational rows, weight P(t)/ê(x)",
        promise=PROPENSITY,
        summary="Weighted conformal prediction by the propensity score (Lei and Candès); blind to hidden confounding.",
    ),
    Method(
        name="wcp-nb",
        estimator="confide.methods.wtcp_dr:WTCPDR",
        uses="base: observational fit rows; calibration: the other observational rows, weight P̂ᴵ(y)/P̂ᴼ(y)",
        promise=ratio_promise("y"),
        summary="Weighted conformal prediction by the outcome's two distributions (naive Bayes).",
        parameters={"ratio": "naive-bayes"},
    ),
    Method(
        name="wtcp-dr",
        estimator="confide.methods.wtcp_dr:WTCPDR",
        uses="base: observational fit rows (refit=True: all observational rows and the new row); calibration: the "
        "other observational rows, weight r̂(x, y)",
        promise=ratio_promise(),
        summary="Weighted conformal prediction by a joint density ratio, solved over outcomes (Algorithm 2).",
    ),
    _wscp_dr("inexact", "Two stages; stage 2 is not calibrated (Algorithm 3)."),
    _wscp_dr("exact", "Two stages; stage 2 is calibrated to contain stage 1's intervals (Algorithm 4)."),
    _wscp_dr("calibrated", "Two stages; stage 2 is calibrated to contain the trial's outcomes."),
    _wscp_dr("inexact", "As wscp-dr-inexact, without trial outcomes in the ratio.", star="*"),
    _wscp_dr("exact", "As wscp-dr-exact, without trial outcomes in the ratio.", star="*"),
    _wscp_dr("calibrated", "As wscp-dr-calibrated, without trial outcomes in the ratio.", star="*"),
)

METHODS: Mapping[str, Method] = MappingProxyType({record.name: record for record in _METHODS})


def method(name: str, **params: Any) -> ArmEstimator:
    """Return the unfitted arm estimator of that name, with the given parameters."""
    if name not in METHODS:
        raise ValueError(f"method {name!r} is unknown; {suggest(name, METHODS)}")
    record = METHODS[name]
    params = {**record.parameters, **params}
    if record.ratio_on is not None:
        from confide.ratio import ratio_on  # noqa: PLC0415  (heavy)

        ratio = params.get("ratio")
        params["ratio"] = ratio_on("classifier" if ratio is None else ratio, record.ratio_on)
    module, _, class_name = record.estimator.partition(":")
    estimator: ArmEstimator = getattr(import_module(module), class_name)(**params)
    return estimator
