"""Whom to choose among the people of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from confide.base.validation import examples
from confide.data.csv_files import PLAIN, Dialect
from confide.data.files import check_columns, read_batches
from confide.data.writing import writing
from confide.effects.selection import Selection, select
from confide.predict.answer import label_of
from confide.predict.batches import carrying, covariates

if TYPE_CHECKING:
    from confide.model import CounterfactualIntervals

# Columns of the output beside those of the input.
P_VALUE, SELECTED = "p_value", "selected"


def select_file(
    model: CounterfactualIntervals,
    source: str,
    out: str,
    treatment: str,
    *,
    above: float | None = None,
    below: float | None = None,
    fdr: float = 0.1,
    everybody: bool = False,
    dialect: Dialect = PLAIN,
) -> Selection:
    """Write the people of a file who are chosen (`select`), with their p-values, in the order of the file.

    The columns are the source's own, as `answer_file` copies them, then ``p_value``. With ``everybody`` all people are
    written, and a column ``selected`` says who is chosen. The treatment is given as text. The whole file is read at
    once: who is chosen depends on everybody.
    """
    label = label_of(model, treatment)
    carry = carrying(source, out)
    batches = list(read_batches(source, dialect))
    names, added = covariates(model), [P_VALUE, *([SELECTED] if everybody else [])]
    own = batches[0].read.column_names
    check_columns(source, own, names)
    if twice := [name for name in own if name in added]:
        raise ValueError(f"the input has columns that the output needs: {examples(twice)}. Rename them.")
    read = pa.concat_tables([batch.read for batch in batches]).select(names)
    found = select(model, read, label, above=above, below=below, fdr=fdr)
    table = pa.concat_tables([carry(model, batch) for batch in batches])
    table = table.append_column(P_VALUE, pa.array(found.p_values))
    table = table.append_column(SELECTED, pa.array(found.selected)) if everybody else table.filter(found.selected)
    with writing(out, table.schema, batches[0].dialect) as sink:
        sink.write_table(table)
    return found
