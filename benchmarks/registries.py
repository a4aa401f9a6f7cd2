"""Tables like a registry's, of any length and width: numbers with gaps, codes, text, dates and booleans.

A third of the columns are numbers, the others are of each kind in turn. A hidden severity moves treatment, outcome and
some columns, so that outcomes are confounded.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

# Days since 1970 of the first admission, and how many days admissions span.
FIRST_DAY, DAYS = 16_000, 3_000
# Categories of the columns of text: wards, towns and postcodes.
LEVELS = {"ward": 6, "town": 20, "postcode": 400}
KINDS = ("number", "ward", "number", "date", "town", "boolean", "number", "count", "number")
# The one column with more categories than get a column each.
POSTCODE = 7


def registry(rows, columns, arms=2, seed=0, *, randomised=False):
    """Return a table of so many rows and covariates, with treatment ``t`` and outcome ``y``."""
    rng = np.random.default_rng(seed)
    severity = rng.normal(size=rows)
    table, outcome = {}, np.zeros(rows)
    for number in range(columns):
        kind = "postcode" if number == POSTCODE else KINDS[number % len(KINDS)]
        signal = 0.5 * severity + rng.normal(size=rows)
        name = f"{kind}_{number}"
        table[name], part = _column(kind, name, signal, rng)
        outcome += part / np.sqrt(columns)
    odds = np.zeros((rows, arms)) if randomised else np.outer(severity, np.linspace(-1, 1, arms))
    treatment = np.argmax(odds + rng.gumbel(size=(rows, arms)), axis=1)
    effect = treatment * (0.5 + 0.3 * outcome)
    noise = np.exp(outcome / 4) * rng.normal(size=rows)
    return pa.table({**table, "t": treatment, "y": np.round(outcome + severity + effect + noise, 4)})


def _column(kind, name, signal, rng):
    """Return a column and what it adds to the outcome."""
    rows = len(signal)
    if kind == "number":
        gaps = rng.random(rows) < 0.05
        return pa.array(np.round(signal, 3), mask=gaps), np.where(gaps, 0.0, np.sin(signal))
    if kind == "count":
        counts = rng.poisson(np.exp(signal / 2))
        return pa.array(counts), np.log1p(counts)
    if kind == "boolean":
        return pa.array(signal > 0), 0.5 * (signal > 0)
    if kind == "date":
        days = FIRST_DAY + (DAYS / (1 + np.exp(-signal))).astype(np.int32)
        return pa.array(days, pa.int32()).cast(pa.date32()), signal / 4
    # A few categories are frequent, many are rare; codes are spread by chance, so that their order says nothing.
    count = LEVELS[kind]
    level = np.minimum((count * rng.beta(0.6, 2.0, rows)).astype(int), count - 1)
    order = np.random.default_rng(sum(name.encode())).normal(size=count)
    return pa.array([f"{kind} {each:03d}" for each in level]).dictionary_encode(), order[level]


def write_registry(folder, rows, columns, arms=2, trial_rows=500, new_rows=1000, suffix="csv"):
    """Write the observational table, the trial and new rows into a folder; return the options that name them."""
    folder = Path(folder)
    for seed, (name, count) in enumerate({"observational": rows, "trial": trial_rows, "new": new_rows}.items()):
        table = registry(count, columns, arms, seed, randomised=seed > 0)
        path = folder / f"{name}.{suffix}"
        table = table.drop_columns(["t", "y"]) if name == "new" else table
        if suffix == "csv":
            pyarrow.csv.write_csv(table.cast(_plain(table.schema)), path)
        else:
            pq.write_table(table, path)
    named = f"--observational {folder}/observational.{suffix} --trial {folder}/trial.{suffix}"
    return f"{named} --treatment t --outcome y".split()


def _plain(schema):
    """Return the schema with text in place of dictionaries."""
    text = [(field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type) for field in schema]
    return pa.schema(text)
