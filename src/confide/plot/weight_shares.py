"""The plot of calibration weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from confide.diagnostics.weights import Weights
from confide.plot.canvas import axes_or_new
from confide.plot.style import GREY, SIZE, looks_of, named, percent, some_records

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def weights(found: list[Weights], *, ax: Axes | None = None) -> Axes:
    """Draw the share of the total weight that the heaviest rows carry, one curve per arm.

    Equal weights are the diagonal; the further a curve is above it, the fewer rows decide. The label gives
    the effective sample size (n_eff), and the share of the heaviest row. The first stage of a two-stage method is
    dashed.

    Parameters
    ----------
    found : list of Weights
        What `confide.diagnostics.weights.calibration_weights` returns.
    ax : Axes, default None
        Axes to draw on. None: a new figure.

    Examples
    --------
    >>> import numpy as np
    >>> from confide import plot
    >>> from confide.diagnostics import Weights
    >>> ax = plot.weights([Weights(1, "calibration", np.array([0.5, 0.3, 0.2]))])
    """
    found = some_records(found, Weights, "calibration_weights(model)")
    ax = axes_or_new(ax, SIZE[0], SIZE[1] + 0.5)
    looks = looks_of([each.treatment for each in found])
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":", label="all rows alike")
    for each in found:
        colour, _ = looks[each.treatment]
        carried = np.concatenate([[0.0], np.cumsum(each.shares)])
        rows = np.linspace(0, 1, len(carried)) if each.shares.any() else np.array([])
        dashes = "--" if each.stage == "first stage" else "-"
        ax.plot(rows, carried[: len(rows)], dashes, color=colour, linewidth=1.8, label=_worth(each))
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("share of the rows that calibrate, heaviest first")
    ax.set_ylabel("share of the weight that they carry")
    ax.legend(loc="lower right", fontsize="small", framealpha=0.9)
    return ax


def _worth(weights: Weights) -> str:
    """Return the label of a curve: rows, n_eff and the heaviest row's share."""
    name = named(weights.treatment) + (", first stage" if weights.stage == "first stage" else "")
    rows = f"{len(weights.shares):,} rows"
    if not weights.shares.any():
        return f"{name}: {rows}, all of weight 0" if len(weights.shares) else f"{name}: no row calibrates"
    if weights.alike:
        return f"{name}: {rows}, all alike"
    return f"{name}: {rows}, n_eff {weights.effective_size:,.0f}, heaviest {percent(weights.largest_share)}"
