"""The density ratios by name, and what is asked of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from confide.base.validation import suggest
from confide.models.auto import AutoClassifier
from confide.ratio.classifier import ClassifierRatio
from confide.ratio.kernel import KLIEP, KernelMeanMatching, KernelRatio
from confide.ratio.naive_bayes import NaiveBayesRatio

if TYPE_CHECKING:
    from collections.abc import Callable

    from confide.ratio.base import DensityRatio

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


def looks_at(ratio: Any) -> str:
    """Return which columns a ratio uses, of covariates "x" and the outcome "y"; None is the default ratio."""
    return str(getattr(None if ratio is None else check_ratio(ratio), "on", "xy"))


def check_seen(ratio: Any, what: str, instead: str) -> None:
    """Raise if r̂ is needed at rows that it was fitted on, and the ratio is not reliable there."""
    if getattr(ratio, "unseen_only", False):
        raise ValueError(
            f"{what} needs the ratio at rows that it was fitted on, and the features of {type(ratio).__name__} were "
            f"trained on their outcomes. Use {instead}, or another ratio."
        )


def ratio_on(ratio: Any, on: str) -> Any:
    """Return a copy of the ratio that uses these columns only."""
    ratio = clone(check_ratio(ratio))
    if "on" not in ratio.get_params():
        raise ValueError(f"this method's ratio must be on={on!r}, and {type(ratio).__name__} has no parameter `on`.")
    return ratio.set_params(on=on)
