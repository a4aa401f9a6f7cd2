"""How results show themselves in a notebook: as tables of HTML, in which no name can become markup."""

from __future__ import annotations

import html
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Record = TypeVar("Record")
# Rows of a table, and values of an array in a cell, that are shown; the others are counted.
MOST_ROWS = 20
MOST_VALUES = 5


def html_table(head: Sequence[Any], rows: Sequence[Sequence[Any]], more: int = 0) -> str:
    """Return a table; ``more`` is the number of rows that are not in it."""
    body = [_row("td", cells) for cells in rows]
    if more:
        body.append(f'<tr><td colspan="{len(head)}">… {more:,} more</td></tr>')
    return f"<table><thead>{_row('th', head)}</thead><tbody>{''.join(body)}</tbody></table>"


def _row(kind: str, cells: Iterable[Any]) -> str:
    return f"<tr>{''.join(f'<{kind}>{_cell(value)}</{kind}>' for value in cells)}</tr>"


def _cell(value: Any) -> str:
    """Return a value as HTML: records as tables, numbers with six digits, everything else as text."""
    if isinstance(value, (ShownRecord, Records)):
        return value._repr_html_()
    return html.escape(_text(value))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, (float, np.floating)):
        return f"{value:.6g}"
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_text(each)}" for key, each in value.items())
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_text, value))
    return str(value)


def _array(values: Any) -> str:
    if values.dtype == bool:
        return f"{int(values.sum()):,} of {values.size:,} true"
    shown = ", ".join(map(_text, values[:MOST_VALUES]))
    return shown + (f", … ({values.size:,} values)" if values.size > MOST_VALUES else "")


class ShownRecord:
    """A record, that is a dataclass, which a notebook shows as a table: one row per attribute."""

    def _repr_html_(self) -> str:
        return html_table([type(self).__name__, ""], list(_values(self).items()))


class Records(list[Record]):
    """A list of records, which a notebook shows as a table: one row per record, without columns that are empty."""

    def _repr_html_(self) -> str:
        shown = [_values(record) for record in self[:MOST_ROWS]]
        names = [name for name in (shown[0] if shown else ()) if any(_text(row[name]) for row in shown)]
        return html_table(names, [[row[name] for name in names] for row in shown], len(self) - len(shown))


def _values(record: Any) -> dict[str, Any]:
    """Return a record's attributes by name."""
    if not is_dataclass(record):
        return {"": record}
    return {each.name: getattr(record, each.name) for each in fields(record)}
