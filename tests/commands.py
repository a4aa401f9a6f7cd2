"""Words of commands on a small study, and the files in a folder."""

import sys
from pathlib import Path

CONFIDE = Path(sys.executable).with_name("confide")
STUDY = ["--observational", "obs.csv", "--trial", "trial.csv", "--treatment", "t", "--outcome", "y", "--id", "who"]
QUICK = ["--method", "naive"]


def names(path):
    return sorted(each.name for each in path.iterdir())
