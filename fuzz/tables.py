"""Studies from hostile tables: the answer is that of the clean table, or sane, or a clear refusal; never a wrong one.

Every case is one study, asked in two containers (frames of three libraries, files of several formats, a folder that is
read by batches), which must agree.
"""

from __future__ import annotations

import csv
import io
import math
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from confide import CounterfactualIntervals, load, stack
from confide.data.csv_files import PLAIN as PLAIN_CSV
from confide.data.csv_files import Dialect
from confide.data.files import read_file, read_study
from confide.data.writing import writing
from confide.predict.answer import answer
from confide.predict.batches import answer_file
from fuzz.columns import column
from fuzz.drawn import FILES_REFUSED, REFUSED, SAME, SAME_OR_REFUSED, SANE, TABLES, WARNED, Column
from fuzz.roles import PLAIN, TRAINED, Labels, Outcomes, declared, labels, names_of, outcomes, sizes_of
from fuzz.verdict import ANSWERED, DEFECT, Verdict, fault_of_error
from fuzz.verdict import REFUSED as WAS_REFUSED

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 25
ALPHA = 0.2
# Method and base model; the first is quick and calibrates on every trial row, so that its coverage there is known.
WAYS = [("transfer", "ridge")] * 12 + [("transfer", "constant")] * 4
WAYS += [(name, "ridge") for name in ("naive", "transfer-centred", "prognostic", "pooled-dr", "wcp", "wtcp-dr")]
FRAMES = ("pandas", "polars")
FILES = (".csv", ".csv.gz", ".parquet", ".arrow", "semicolons", "utf-16", "folder")
# Up to rounding of the last bits, which may differ with the order of sums.
CLOSE = 1e-6


@dataclass(frozen=True)
class Case:
    """One study: its tables as they are given, the clean ones if there are such, and what is expected."""

    family: str
    way: tuple[str, str]
    tables: dict[str, pa.Table]
    clean: dict[str, pa.Table] | None
    expects: str
    power: int
    arms: int | None
    container: str
    typed: bool


@dataclass(frozen=True)
class Answers:
    """What a model says of the new rows, by column, what it warned of, and the model."""

    found: dict[str, NDArray[np.float64]]
    warned: list[str]
    model: Any
    study: Any


def attempt(case: int) -> Verdict:
    """Return what came of one case."""
    return judge(draw(case))


def draw(number: int) -> Case:
    """Return the case with this number, always the same."""
    rng = np.random.default_rng([SEED, number])
    odd_sizes, sizes = sizes_of(rng)
    x = {name: rng.standard_normal(sizes[name]) for name in TABLES}
    count = int(rng.choice([1, 1, 1, 2]))
    columns = [column(rng, sizes) for _ in range(count)]
    if odd_sizes == "10,000 categories":
        cells = {name: pa.array([f"c{each}" for each in rng.integers(0, 10**6, sizes[name])]) for name in TABLES}
        columns = [Column(odd_sizes, cells)]
    given: Labels = labels(rng, sizes)
    y = {name: np.round(x[name] + rng.standard_normal(sizes[name]), 6) for name in TRAINED}
    results: Outcomes = outcomes(rng, y)
    odd_names, names, of_names = names_of(rng, len(columns) + 1)
    parts = [
        Column(PLAIN, {name: pa.array(x[name]) for name in TABLES}, SAME, {n: pa.array(x[n]) for n in TABLES}),
        *columns,
    ]
    if odd_sizes != PLAIN:
        parts = [declared(part) if part.expects in (REFUSED, WARNED) else part for part in parts]
    expectations = [*(part.expects for part in parts), given.column.expects, results.column.expects, of_names]
    family = next(
        (each for each in (results.column.family, given.column.family, odd_names, odd_sizes) if each != PLAIN),
        columns[0].family,
    )
    tables = _tables([part.cells for part in parts], names, given.column.cells, results.column.cells)
    clean = None
    if all(each in (SAME, SAME_OR_REFUSED) for each in expectations):
        known = [part.clean or part.cells for part in parts]
        clean = _tables(known, names, given.column.clean or {}, results.column.clean or {})
    typed = any(part.typed for part in [*parts, given.column])
    containers = FRAMES + (() if typed else FILES)
    return Case(
        family,
        WAYS[rng.integers(len(WAYS))],
        tables,
        clean,
        next((each for each in (REFUSED, FILES_REFUSED, WARNED, SANE, SAME_OR_REFUSED) if each in expectations), SAME),
        results.power,
        given.arms,
        str(rng.choice(containers)),
        typed,
    )


def _tables(
    columns: list[dict[str, pa.Array]], names: list[str], treatment: dict[str, pa.Array], outcome: dict[str, pa.Array]
) -> dict[str, pa.Table]:
    """Return the three tables; new rows have neither treatment nor outcome."""
    return {
        name: pa.table(
            [*(cells[name] for cells in columns), *([treatment[name], outcome[name]] if name in TRAINED else [])],
            names=[*names, *(["t", "y"] if name in TRAINED else [])],
        )
        for name in TABLES
    }


def judge(case: Case) -> Verdict:
    """Return what came of a case that is drawn."""
    first = _asked(case, case.tables, "arrow")
    if isinstance(first, BaseException):
        fault = fault_of_error(first)
        if fault is None and case.expects == SAME:
            fault = f"refused, although the clean table is answered: {str(first)[:300]}"
            clean = None if case.clean is None else _asked(case, case.clean, "arrow")
            fault = None if isinstance(clean, BaseException) else fault
        if fault is not None:
            return Verdict(case.family, DEFECT, fault)
    faults = [] if isinstance(first, BaseException) else _faults_of_answers(case, first)
    second = _asked(case, case.tables, FRAMES[0] if case.expects == FILES_REFUSED else case.container)
    faults += _faults_between(first, second, case.container)
    if faults:
        return Verdict(case.family, DEFECT, "; ".join(faults))
    if isinstance(first, BaseException):
        return Verdict(case.family, WAS_REFUSED, str(first))
    return Verdict(case.family, ANSWERED)


def _faults_of_answers(case: Case, answers: Answers) -> list[str]:
    """Return what is wrong with the answers to a case."""
    if case.expects == REFUSED:
        return ["answered, where a refusal was expected"]
    faults = _nonsense(answers)
    if case.expects == WARNED and not any("differ" in each for each in answers.warned):
        faults.append(f"answered without the warning that was expected; warned of {answers.warned}")
    if case.arms is not None and len(answers.model.treatments_) != case.arms:
        faults.append(f"{case.arms} treatments were read as {answers.model.treatments_.tolist()}")
    if case.clean is not None:
        clean = _asked(case, case.clean, "arrow")
        faults += _faults_between(answers, clean, "the clean table", case.power)
    if case.way[0] == "transfer":
        faults += _uncovered(answers)
    return faults


def _nonsense(answers: Answers) -> list[str]:
    """Return values that no answer may have."""
    # Sets of a transductive method may be empty, and an empty hull has no ends.
    empty = ("_lower", "_upper") if answers.model.method == "wtcp-dr" else ()
    faults = [
        f"{name} is NaN"
        for name, values in answers.found.items()
        if np.isnan(values).any() and not name.endswith(empty)
    ]
    for name, values in answers.found.items():
        if name.endswith("_lower"):
            upper = answers.found[name.removesuffix("lower") + "upper"]
            if (values > upper).any() or (values == np.inf).any() or (upper == -np.inf).any():
                faults.append(f"an interval of {name} has no room: {values.tolist()} to {upper.tolist()}")
        elif not name.endswith("_upper") and np.isinf(values).any():
            faults.append(f"{name} is infinite")
    foreign = [each for each in answers.warned if each.startswith("not for users: ")]
    return faults + foreign[:1]


def _uncovered(answers: Answers) -> list[str]:
    """Return the arms whose own calibration rows are covered less often than the rank of their scores says."""
    model, study = answers.model, answers.study
    faults = []
    for label in model.treatments_:
        rows = np.flatnonzero(study.trial & (study.treatment == label))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            intervals = model.predict_interval(_rows(study.X, rows), label)
        least = min(math.ceil((1 - ALPHA) * (len(rows) + 1)), len(rows))
        covered = int(intervals.contains(study.y[rows]).sum())
        if covered < least:
            faults.append(
                f"{covered} of {len(rows)} calibration rows of {label!r} are covered, at least {least} must be"
            )
    return faults


def _rows(X: Any, rows: NDArray[np.intp]) -> Any:
    return X.take(rows) if isinstance(X, pa.Table) else X[rows]


def _faults_between(
    first: Answers | BaseException, second: Answers | BaseException, what: str, power: int = 0
) -> list[str]:
    """Return how two answers to the same question differ; of two refusals the words may differ."""
    if isinstance(second, BaseException):
        fault = fault_of_error(second)
        if fault is not None:
            return [f"{what}: {fault}"]
        if isinstance(first, BaseException) or "give the separator" in str(
            second
        ):  # a name has another separator in it
            return []
        return [f"answered, but {what} is refused: {str(second)[:300]}"]
    if isinstance(first, BaseException):
        return [f"refused ({str(first)[:300]}), but {what} is answered"]
    mine, others = list(first.found.values()), list(second.found.values())
    if [len(each) for each in mine] != [len(each) for each in others]:
        return [f"{what} has other columns or rows: {list(second.found)} for {list(first.found)}"]
    spread = max((np.ptp(each[np.isfinite(each)]) if np.isfinite(each).any() else 0.0 for each in others), default=0.0)
    for name, one, other in zip(first.found, mine, others, strict=True):
        if not np.allclose(np.ldexp(one, -power), other, rtol=CLOSE, atol=CLOSE * spread, equal_nan=True):
            return [f"{what} gives another {name}: {other.tolist()} for {np.ldexp(one, -power).tolist()}"]
    return []


def _asked(case: Case, tables: dict[str, pa.Table], container: str) -> Answers | BaseException:
    """Return the answers to a study in a container, or the error that refuses it."""
    with warnings.catch_warnings(record=True) as caught, tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("always")
        try:
            found, model, study = (_in_frames if container in (*FRAMES, "arrow") else _in_files)(
                case, tables, container, Path(folder)
            )
        except _NotWrittenError as error:
            return ValueError(f"{error}.")
        except Exception as error:  # noqa: BLE001  (each is judged)
            return error
    warned = [
        str(each.message)
        if issubclass(each.category, UserWarning)
        else f"not for users: {each.category.__name__} {each.message}"
        for each in caught
    ]
    return Answers(found, warned, model, study)


class _NotWrittenError(Exception):
    """The container itself cannot hold the table, before confide sees it."""


def _model(case: Case) -> CounterfactualIntervals:
    name, base = case.way
    return CounterfactualIntervals(name, base=base, alpha=ALPHA, random_state=0)


def _in_frames(case: Case, tables: dict[str, pa.Table], container: str, folder: Path) -> Any:
    """Return the answers to frames; models are saved and loaded on the way."""
    try:
        frames = {name: _frame(table, container) for name, table in tables.items()}
    except Exception as error:
        raise _NotWrittenError(f"{container} cannot hold it: {type(error).__name__}") from error
    study = stack(frames["observational"], frames["trial"])
    model = _model(case).fit(study)
    model.save(folder / "model.confide")
    loaded = load(folder / "model.confide")
    found = answer(loaded, loaded.read(frames["new"])).table
    return _columns(found, found.column_names), model, study


def _frame(table: pa.Table, container: str) -> Any:
    if container == "pandas":
        frame = table.to_pandas()
        return frame if isinstance(frame, pd.DataFrame) else None
    return pl.from_arrow(table) if container == "polars" else table


def _in_files(case: Case, tables: dict[str, pa.Table], container: str, folder: Path) -> Any:
    """Return the answers to files, as a table that was written to a file."""
    dialect = {"semicolons": Dialect(";"), "utf-16": Dialect(encoding="utf-16")}.get(container, PLAIN_CSV)
    try:
        paths = {name: _written(folder, name, table, container) for name, table in tables.items()}
    except Exception as error:
        raise _NotWrittenError(f"{container} cannot hold it: {type(error).__name__}") from error
    study = read_study(paths["observational"], paths["trial"], "t", "y", new=paths["new"], dialect=dialect)
    model = _model(case).fit(study)
    out = str(folder / "out.parquet")
    answer_file(model, paths["new"], out, dialect=dialect)
    own = read_file(paths["new"], dialect).column_names if len(tables["new"]) else tables["new"].column_names
    found = read_file(out) if len(tables["new"]) else pq.read_table(out)
    return _columns(found, found.column_names[len(own) :]), model, study


def _written(folder: Path, name: str, table: pa.Table, container: str) -> str:
    """Write a table in a format, and return its path."""
    if container == "folder":
        if name == "observational":
            (folder / "parts").mkdir()
            half = len(table) // 2
            pq.write_table(table.slice(0, half), folder / "parts" / "1.parquet")
            pq.write_table(table.slice(half), folder / "parts" / "2.parquet")
            return str(folder / "parts")
        container = ".parquet"
    extension = container if container.startswith(".") else ".csv"
    path = folder / f"{name}{extension}"
    if container == "semicolons":
        path.write_bytes(_csv(table, ";").encode())
    elif container == "utf-16":
        path.write_bytes(_csv(table, ",").encode("utf-16"))
    else:
        with writing(str(path), table.schema) as sink:
            sink.write_table(table)
    return str(path)


def _csv(table: pa.Table, separator: str) -> str:
    """Return the table as a spreadsheet program writes it, missing values as nothing."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator)
    writer.writerow(table.column_names)
    columns = [each.cast(pa.string()).to_pylist() for each in table.columns]
    writer.writerows(["" if cell is None else cell for cell in row] for row in zip(*columns, strict=True))
    return text.getvalue()


def _columns(found: pa.Table, names: list[str]) -> dict[str, NDArray[np.float64]]:
    return {name: found[name].to_numpy().astype(np.float64) for name in names}
