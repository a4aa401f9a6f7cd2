"""The methods by name: one source for the documentation, the command line and the report.

This file imports nothing heavy, so that names and promises are known before any estimator is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from confide.checks import suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confide.methods._arm import ArmEstimator


@dataclass(frozen=True)
class Method:
    """What a method is called, what it uses and what it may promise.

    Attributes
    ----------
    uses : str
        Which rows train the base model, which calibrate, and with what weight.
    promise : str
        The coverage it may promise, no stronger than is proved; α is the level asked for.
    summary : str
        The method in one sentence.
    """

    name: str
    estimator: str
    uses: str
    promise: str
    summary: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


_METHODS = (
    Method(
        name="naive",
        estimator="confide.methods.naive:Naive",
        uses="base: trial fit rows; calibration: the other trial rows, weight 1",
        promise="≥ 1-α",
        summary="Split conformal prediction on the trial alone (the paper's Algorithm 1).",
    ),
    Method(
        name="transfer",
        estimator="confide.methods.transfer:Transfer",
        uses="base: all observational rows; calibration: all trial rows, weight 1",
        promise="≥ 1-α, whatever the confounding",
        summary="A base model from the large table, calibrated on the trial.",
    ),
    Method(
        name="wcp",
        estimator="confide.methods.wcp:WCP",
        uses="base: observational fit rows; calibration: the other observational rows, weight P(t)/ê(x)",
        promise="≥ 1-α-½E|ŵ-w| only without hidden confounding and with the same covariates in both tables",
        summary="Weighted conformal prediction by the propensity score (Lei and Candès); blind to hidden confounding.",
    ),
    Method(
        name="wtcp-dr",
        estimator="confide.methods.wtcp_dr:WTCPDR",
        uses="base: observational fit rows; calibration: the other observational rows, weight r̂(x, y)",
        promise="≥ 1-α-Δ, Δ the error of r̂",
        summary="Weighted conformal prediction by a joint density ratio, solved over outcomes (Algorithm 2).",
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType({record.name: record for record in _METHODS})


def method(name: str, **params: Any) -> ArmEstimator:
    """Return the unfitted arm estimator of that name, with the given parameters."""
    if name not in METHODS:
        raise ValueError(f"method {name!r} is unknown; {suggest(name, METHODS)}")
    record = METHODS[name]
    module, _, class_name = record.estimator.partition(":")
    estimator: ArmEstimator = getattr(import_module(module), class_name)(**{**record.parameters, **params})
    return estimator
