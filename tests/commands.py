"""Words of commands on a small study, and how its files are written."""

import sys
from pathlib import Path

from confide.data.writing import writing

CONFIDE = Path(sys.executable).with_name("confide")
STUDY = ["--observational", "obs.csv", "--trial", "trial.csv", "--treatment", "t", "--outcome", "y", "--id", "who"]
QUICK = ["--method", "naive"]


def write(path, table):
    with writing(str(path), table.schema) as sink:
        sink.write_table(table)


def names(path):
    return sorted(each.name for each in path.iterdir())
