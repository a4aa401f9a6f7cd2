"""Covariate balance: standardised mean differences between arms, tables and new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from confide.base.notebook import Records, ShownRecord
from confide.base.validation import examples, suggest
from confide.data import kinds
from confide.data.arrow import is_frame
from confide.data.encoding import TableEncoder, as_table, kinds_of
from confide.data.study import check_study
from confide.exceptions import RefusalError
from confide.methods.study_arms import check_control
from confide.weights.target import TargetRatio, some_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from confide.data.study import Study
    from confide.typing import Booleans, Floats, Label, Table

# The customary line: a standardised mean difference beyond it is called an imbalance.
CUSTOMARY = 0.1
# The most frequent levels of a category have a record each; all others share one.
LEVELS = 20
# Seed of the sample of a large target that weights are learnt from.
SEED = 0


@dataclass(frozen=True)
class Balance(ShownRecord):
    """The standardised mean difference of one covariate in one comparison.

    Attributes
    ----------
    covariate : str
        Name of the covariate; "column = level" for a level of a category, "column is missing" for missing values.
    comparison : str
        What is compared with what, such as "trial against observational".
    smd : float
        Mean of the first minus mean of the second, divided by √((s₁² + s₂²)/2), s the standard deviation within each.
        0 if both have the same constant, infinite if they have two constants, NaN if one has no value at all.
    smd_weighted : float or None
        The same with weighted means and the same divisor; None where no weights apply.
    column : str
        The column that the covariate was made from.
    rows : (int, int)
        Number of rows of the first and of the second.
    """

    covariate: str
    comparison: str
    smd: float
    smd_weighted: float | None
    column: str
    rows: tuple[int, int]

    @property
    def by_chance(self) -> float:
        """The standard deviation of ``smd`` between samples of one population, if rows are independent."""
        return float(np.sqrt(sum(1 / rows for rows in self.rows)))


@dataclass(frozen=True)
class _Side:
    """Rows of a table, and their weights if there are some."""

    table: str
    rows: Booleans
    weight: Floats | None = None


@dataclass(frozen=True)
class _Comparison:
    name: str
    first: _Side
    second: _Side

    @property
    def weighted(self) -> bool:
        return self.first.weight is not None or self.second.weight is not None


def balance(study: Study, new: Table | None = None, *, control: Label | None = None) -> list[Balance]:
    """Return the standardised mean difference of each covariate, in each comparison that the data allow.

    - *Trial, arm against arm*: was it randomised? Each treatment of the trial against the control. Weighted by 1/π
      where the study has the probabilities π of the treatments received.
    - *Trial against observational*, and *trial against target* if the study has a table of its target: are they alike?
      Weighted: trial rows as people of the target, by weights that are learnt as a model learns them; where the
      observational table is the target, in that comparison.
    - *New rows against trial*, if new rows are given: do you ask about people like the trial's? Weighted: as before.

    A category has a record per level: the shares of all rows that have it, at most 20 levels, the rarer ones together.
    Means of numbers, dates and booleans are over the rows that have a value. Where values are missing, a record
    compares the shares of rows without one.

    Parameters
    ----------
    study : Study
        The study, from `stack`.
    new : frame or (n, d) array, default None
        Covariates of new rows.
    control : label, default None
        The treatment that others are compared with. None: the first of the trial.

    Returns
    -------
    list of Balance
        Comparison by comparison, each in the order of the columns.

    Notes
    -----
    By chance alone, differences between arms of n₁ and n₂ independent rows have a standard deviation of
    √(1/n₁ + 1/n₂): 0.1, the customary line, with 200 rows in each. Smaller arms, and arms of whole clusters, are often
    beyond the line though they were randomised. The test of randomisation in ``model.summary()`` allows for that.

    Examples
    --------
    >>> from confide import Study
    >>> from confide.diagnostics import balance
    >>> study = Study([[1.0], [3.0], [2.0], [4.0]], [0, 0, 0, 0], ["a", "a", "b", "b"], [True] * 4)
    >>> [record] = balance(study)
    >>> record.comparison, round(record.smd, 3)
    ('trial: b against a', 0.707)
    """
    check_study(study)
    table = as_table(study.X)
    tables = {"study": table}
    for name, given in (("target", study.target), ("new", new)):
        if given is not None and not isinstance(given, str):
            tables[name] = _aligned(name, given, study.X, table.column_names)
    comparisons = _comparisons(study, tables, control)
    found: dict[str, list[Balance]] = {comparison.name: [] for comparison in comparisons}
    for column, kind in kinds_of(table).items():
        read = _categories if kind == kinds.CATEGORIES else _numbers
        parts = {name: each.column(column) for name, each in tables.items()}
        for covariate, values, always in read(column, kind, parts):
            for comparison in comparisons:
                sides = comparison.first, comparison.second
                first, second = (values[side.table][side.rows] for side in sides)
                if not always and not (first.any() or second.any()):
                    continue
                plain = _smd(first, second)
                weighted = _smd(first, second, *(side.weight for side in sides)) if comparison.weighted else None
                record = Balance(covariate, comparison.name, plain, weighted, column, (len(first), len(second)))
                found[comparison.name].append(record)
    return Records(record for records in found.values() for record in records)


def _aligned(name: str, X: Table, like: Table, columns: list[str]) -> pa.Table:
    """Return a table with the study's columns, matched by name, or by position in arrays."""
    what = "new" if name == "new" else "the target"
    if is_frame(like) and not is_frame(X):
        raise ValueError(f"the study has named columns: {what} must be a table too, got {type(X).__name__}.")
    table = as_table(X)
    if not len(table):
        raise ValueError(f"{what} has no rows: there is nothing to compare.")
    if not is_frame(like):
        if table.num_columns != len(columns):
            raise ValueError(f"{what} has {table.num_columns} columns, and the study has {len(columns)}.")
        return table.rename_columns(columns)
    missing = [column for column in columns if column not in table.column_names]
    if missing:
        raise ValueError(f"{what} has no column {examples(missing)}; {suggest(missing[0], table.column_names)}")
    return table.select(columns)


def _comparisons(study: Study, tables: Mapping[str, pa.Table], control: Label | None) -> list[_Comparison]:
    """Return what is compared, in order."""
    check_control(control, study.arms)
    arms = [label for label in study.arms if (study.trial & (study.treatment == label)).any()]
    arms.sort(key=lambda label: label != control)
    first, *others = [_Side("study", rows, _stand_for(study, rows)) for rows in _trial_rows(study, arms)]
    named = zip(arms[1:], others, strict=True)
    found = [_Comparison(f"trial: {label} against {arms[0]}", side, first) for label, side in named]
    trial, like_target = _Side("study", study.trial), _Side("study", study.trial, _target_weights(study, tables))
    if not study.trial.all():
        towards = like_target if isinstance(study.target, str) else trial
        found.append(_Comparison("trial against observational", towards, _Side("study", ~study.trial)))
    if "target" in tables:
        everybody = np.ones(len(tables["target"]), dtype=bool)
        found.append(_Comparison("trial against target", like_target, _Side("target", everybody)))
    if "new" in tables:
        asked = np.ones(len(tables["new"]), dtype=bool)
        found.append(_Comparison("new rows against trial", _Side("new", asked), like_target))
    return found


def _trial_rows(study: Study, arms: list[Label]) -> list[Booleans]:
    """Return the mask of each arm's trial rows."""
    return [study.trial & (study.treatment == label) for label in arms]


def _stand_for(study: Study, rows: Booleans) -> Floats | None:
    """Return how many people each trial row stands for, 1/π; None if probabilities are not known."""
    return None if study.assignment is None else 1 / study.assignment[rows]


def _target_weights(study: Study, tables: Mapping[str, pa.Table]) -> Floats | None:
    """Return how much more frequent each trial row is in the target, learnt from the other arms' rows as in a model.

    None without a target, or where the trial has too few rows to learn from.
    """
    if study.target is None:
        return None
    table = tables["study"]
    encoder = TableEncoder(kinds_of(table)).fit(table)
    encoded = encoder.transform(table.filter(pa.array(study.trial)))
    target = tables.get("target")
    asked = encoder.transform(table.filter(pa.array(~study.trial)) if target is None else target)
    treatment = study.treatment[study.trial]
    weight = np.ones(len(encoded))
    for label in np.unique(treatment):
        others = treatment != label
        stand_for = np.ones(len(encoded)) if study.assignment is None else 1 / study.assignment[study.trial]
        try:
            ratio = TargetRatio().fit(some_of(asked, SEED), encoded[others], stand_for[others])
        except RefusalError:
            return None
        weight[~others] = ratio.predict(encoded[~others])
    return weight


def _numbers(name: str, kind: str, parts: Mapping[str, pa.ChunkedArray]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield the values of a column by table, then which of them are missing."""
    values = {table: kinds.numbers(name, part, kind) for table, part in parts.items()}
    yield name, values, True
    yield f"{name} is missing", {table: np.isnan(each).astype(np.float64) for table, each in values.items()}, False


def _categories(name: str, _: str, parts: Mapping[str, pa.ChunkedArray]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Yield, by table, which rows have each frequent level of a column, another one, and none."""
    texts = {table: kinds.texts(name, part) for table, part in parts.items()}
    counts = {each["values"]: each["counts"] for each in pc.value_counts(texts["study"]).to_pylist()}
    by_frequency = sorted(counts.keys() - {None}, key=lambda level: (-counts[level], level))
    levels = pa.array(sorted(by_frequency[:LEVELS]), pa.large_string())
    # The number of each row's level; -1 is another one, -2 is missing.
    codes = {
        table: np.where(each.is_null(), -2, pc.index_in(each, levels).fill_null(-1).to_numpy(zero_copy_only=False))
        for table, each in texts.items()
    }
    named = [(f"{name} = {level}", number, True) for number, level in enumerate(levels.to_pylist())]
    for covariate, number, always in [*named, (f"{name} = others", -1, False), (f"{name} is missing", -2, False)]:
        yield covariate, {table: (each == number).astype(np.float64) for table, each in codes.items()}, always


def _smd(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    first_weight: Floats | None = None,
    second_weight: Floats | None = None,
) -> float:
    """Return the standardised difference of means; weights are for the means only."""
    known = [~np.isnan(side) for side in (first, second)]
    if not all(each.any() for each in known):
        return float("nan")
    values = [side[each] for side, each in zip((first, second), known, strict=True)]
    low, high = min(side.min() for side in values), max(side.max() for side in values)
    if low == high:
        return 0.0
    # Measured from the smallest value, so that a constant has a spread of exactly 0.
    values = [(side - low) / (high - low) for side in values]
    weights = [None if w is None else w[each] for w, each in zip((first_weight, second_weight), known, strict=True)]
    one, other = (float(np.average(side, weights=w)) for side, w in zip(values, weights, strict=True))
    # One row alone has no spread: that of the other side is used.
    spread = [float(side.var(ddof=1)) for side in values if len(side) > 1]
    pooled = float(np.sqrt(np.mean(spread))) if spread else 0.0
    if pooled == 0:
        return float(np.sign(one - other) * np.inf) if one != other else 0.0
    return (one - other) / pooled
