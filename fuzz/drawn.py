"""A column of the three tables as it is drawn, and what is expected of a study with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    Tables = dict[str, pa.Array]

# What is expected of a study with such a column.
SAME = "the answer of the clean table"
SAME_OR_REFUSED = "the answer of the clean table, or a refusal"
SANE = "an answer without nonsense, or a refusal"
REFUSED = "a refusal"
FILES_REFUSED = "a refusal of files, whose output would have two columns of one name"
WARNED = "a warning or a refusal"

TABLES = ("observational", "trial", "new")
# Text that spreadsheets, shells, browsers and parsers may take for more than text.
HOSTILE_TEXT = (
    "=1+1",
    "+cmd|' /C calc'!A0",
    "@SUM(1,1)",
    '-2+3+cmd|"/C calc"!A0',
    '"quoted"',
    'a "b", c',
    "two\nlines",
    "carriage\rreturn",
    "tab\there",
    "semi;colon|bar",
    "<script>window.hacked = 1</script>",
    "{{ 7 * 7 }}",
    "%s %(name)s {0}",
    "$(touch hacked)",
    "'; DROP TABLE trial; --",
    "ü\u0308 é ﬁ Ⅻ",
    "\u202eright to left",
    "👩‍⚕️",
    "\ufeffmark",
    "nul\x00byte",
    "\u00a0no-break\u00a0",
    "x" * 5000,
    "__proto__",
    "true story",
    "1,5",
    "../../etc/passwd",
)


@dataclass(frozen=True)
class Column:
    """One column of the three tables.

    Attributes
    ----------
    family : str
        What kind of hostility it is.
    cells : dict
        An array per table, as it is written.
    expects : str
        What is expected of a study with it.
    clean : dict or None
        The same values as a careful person writes them.
    typed : bool
        Whether a CSV file cannot hold it: it says more by its type than by its text.
    """

    family: str
    cells: Tables
    expects: str = SANE
    clean: Tables | None = None
    typed: bool = field(default=False)
