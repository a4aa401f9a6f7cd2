"""Where weights come from: density ratios between the trial and the observational data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from confide.checks import suggest
from confide.learners import AutoClassifier
from confide.ratio.base import DensityRatio
from confide.ratio.classifier import ClassifierRatio
from confide.ratio.cross_fitted import CrossFittedRatio
from confide.ratio.kernel import KLIEP, KernelMeanMatching, KernelRatio
from confide.ratio.naive_bayes import NaiveBayesRatio
from confide.ratio.oracle import OracleRatio
from confide.ratio.propensity import PropensityRatio

__all__ = [
    "KLIEP",
    "RATIOS",
    "ClassifierRatio",
    "CrossFittedRatio",
    "DensityRatio",
    "KernelMeanMatching",
    "KernelRatio",
    "NaiveBayesRatio",
    "OracleRatio",
    "PropensityRatio",
    "check_ratio",
    "ratio_on",
]

if TYPE_CHECKING:
    from collections.abc import Callable

RATIOS: dict[str, Callable[[], DensityRatio]] = {
    "classifier": ClassifierRatio,
    "auto": lambda: ClassifierRatio(AutoClassifier()),
    "kernel": KernelRatio,
    "relative-kernel": lambda: KernelRatio(beta=0.1),
    "kliep": KLIEP,
    "kernel-mean-matching": KernelMeanMatching,
    "naive-bayes": NaiveBayesRatio,
}


def check_ratio(ratio: Any) -> Any:
    """Return the density ratio of that name, or the estimator itself."""
    if isinstance(ratio, str):
        if ratio not in RATIOS:
            raise ValueError(f"ratio {ratio!r} is unknown; {suggest(ratio, RATIOS)}")
        return RATIOS[ratio]()
    if isinstance(ratio, type) or not all(hasattr(ratio, name) for name in ("fit", "predict", "get_params")):
        raise ValueError(f"ratio must be a name or a density-ratio estimator, got {ratio!r}.")
    return ratio


def check_seen(ratio: Any, what: str, instead: str) -> None:
    """Raise where r̂ is asked for at the rows that fitted it, and the ratio is not to be relied on there."""
    if getattr(ratio, "unseen_only", False):
        raise ValueError(
            f"{what} asks the ratio for rows that it was fitted on, and features of {type(ratio).__name__} have seen "
            f"the outcomes of these. Use {instead}, or another ratio."
        )


def ratio_on(ratio: Any, on: str) -> Any:
    """Return a copy of the ratio that looks at these columns only."""
    ratio = clone(check_ratio(ratio))
    if "on" not in ratio.get_params():
        raise ValueError(f"this method's ratio must look at {on!r}, and {type(ratio).__name__} has no parameter `on`.")
    return ratio.set_params(on=on)
