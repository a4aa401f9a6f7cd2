"""The fair rival of an average effect with a large table: analysis of covariance on the trial alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from confide.data.arrow import read_table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa


def ancova(y: Any, treated: Any, covariates: Any, alpha: float) -> tuple[float, float]:
    """Return the interval of the treatment's coefficient in least squares on treatment and covariates.

    Its errors allow for spreads that differ between rows (HC2), and its degrees of freedom are the rows that are left.
    """
    design = np.column_stack([np.ones(len(y)), treated, covariates])
    left, sizes, right = np.linalg.svd(design, full_matrices=False)
    kept = sizes > 1e-10 * sizes[0]
    left, inverse = left[:, kept], right[kept].T / sizes[kept]
    leverage = (left**2).sum(axis=1)
    residual = y - left @ (left.T @ y)
    of_rows = inverse[1] @ left.T
    effect = float(of_rows @ y)
    error = float(((of_rows * residual) ** 2 / np.maximum(1 - leverage, 1e-10)).sum()) ** 0.5
    half = float(stats.t.ppf(1 - alpha / 2, len(y) - kept.sum())) * error
    return effect - half, effect + half


def numbers_of(table: Any, names: Sequence[str] = ()) -> Any:
    """Return columns as numbers, all or those named: categories as indicators, missing numbers as the mean."""
    if isinstance(table, np.ndarray):
        return table
    frame = read_table(table)
    return np.column_stack([column for name in names or frame.column_names for column in _numbers(frame[name])])


def _numbers(column: pa.ChunkedArray) -> Iterator[Any]:
    values = column.to_pylist()
    if any(isinstance(value, str) for value in values):
        for level in sorted({str(value) for value in values})[1:]:
            yield np.array([float(str(value) == level) for value in values])
        return
    numbers = np.array(values, float)
    yield np.where(np.isnan(numbers), np.nanmean(numbers), numbers)
