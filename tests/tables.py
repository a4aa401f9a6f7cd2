"""Tables as people have them in files: an identifier, numbers, categories, dates, booleans, and holes in them."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from confide import CounterfactualIntervals, Transfer, stack
from confide.data.files import read_batches, read_file
from confide.data.writing import writing
from confide.models.preprocessing import ridge_on_splines


def people(n, seed, labels=("drug", "placebo"), shift=0.0):
    """Return n people with treatment `t` and outcome `y`."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n).astype(float)
    treated = rng.integers(0, len(labels), n)
    y = age / 10 + treated + rng.standard_normal(n) + shift
    town = rng.choice(["North, upper", 'the "South"', "Öst"], n)
    joined = [dt.date(2020, 1, 1) + dt.timedelta(int(days)) for days in rng.integers(0, 900, n)]

    def holes(values):
        return pa.array(
            [None if hole else value for value, hole in zip(values, rng.uniform(size=n) < 0.05, strict=True)]
        )

    return pa.table(
        {
            "who": [f"{seed}{number:04d}" for number in range(n)],
            "age": holes(age.tolist()),
            "town": holes(town.tolist()),
            "joined": holes(joined),
            "smoker": holes((rng.uniform(size=n) < 0.3).tolist()),
            "t": np.array(labels)[treated],
            "y": y,
        }
    )


def write(path, table):
    """Write a table to a file, and return its path as text."""
    with writing(str(path), table.schema) as sink:
        sink.write_table(table)
    return str(path)


def carried(path):
    """Return a file's table as it is copied to an output."""
    return pa.concat_tables(batch.carried for batch in read_batches(str(path)))


def typed(path):
    """Return a file's table; of a CSV file, columns that look like numbers are numbers."""
    return pa_csv.read_csv(path) if ".csv" in str(path) else read_file(str(path))


def covariates(table):
    """Return the table without treatment and outcome."""
    return table.drop_columns(["t", "y"])


def fitted_model(labels=("drug", "placebo"), **parameters):
    """Return a model of such people that is fitted in no time."""
    observational, trial = (people(n, seed, labels).drop_columns(["who"]) for n, seed in ((300, 0), (90, 1)))
    arm = Transfer(base=ridge_on_splines(), base_on="centred")
    return CounterfactualIntervals(arm, random_state=0, **parameters).fit(*stack(observational, trial))
