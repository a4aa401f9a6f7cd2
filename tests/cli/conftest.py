"""A folder with a small study, and commands that run in it."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from confide.cli.main import main
from tables import covariates, fitted_model, people, typed, write


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the files of a study, a fitted model, and nothing else; it is the current one."""
    monkeypatch.chdir(tmp_path)
    for name, table in (("obs", people(240, 0)), ("trial", people(80, 1)), ("new", covariates(people(30, 2)))):
        write(f"{name}.csv", table)
    return tmp_path


@pytest.fixture
def unfair_trial(folder):
    """The trial's file, in which the older got the drug."""
    table = typed(folder / "trial.csv")
    older = np.nan_to_num(table["age"].to_numpy(), nan=30.0) > 50
    assigned = pa.array(np.where(older, "drug", "placebo"))
    write("trial.csv", table.set_column(table.column_names.index("t"), "t", assigned))


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    """A model file, fitted once."""
    path = tmp_path_factory.mktemp("saved") / "model.confide"
    fitted_model().save(path)
    return path


@pytest.fixture
def model(folder, saved):
    """That file, in the folder."""
    return Path(shutil.copy(saved, folder / "model.confide"))


@pytest.fixture
def confide(monkeypatch, capfd):
    """Run a command in this process; return its status, output and errors, without lines on how long it takes."""
    monkeypatch.setattr("confide.cli.console.LONG", 3600.0)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["confide", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            main()
        out, err = capfd.readouterr()
        return left.value.code, out, err

    return run
