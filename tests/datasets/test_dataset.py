"""The bundled tables: unharmed, and part of what is installed."""

import gzip
import hashlib
import zipfile
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from confide.datasets import Dataset, load_nsw, load_star
from confide.datasets.dataset import bundled

ROOT = Path(__file__).parents[2]
SUMS = {
    "star": "2a0f333728a7bde15c9894bf899b491a2bc841a612b8906226d733266cdcdb73",
    "nsw": "80fe27f00545db1aff845fc0565d318292dbde315ac8b9196b3aad9dd38b484c",
    "cps": "455cc6703b3c0b2ac6eecfb48b7a90490108d4e02a2c39cb8fc1c0ee184d3d33",
}


def counted(*tables):
    """How often each row stands in the tables."""
    return Counter(row for table in tables for row in zip(*table.to_pydict().values(), strict=True))


@pytest.mark.parametrize(("name", "length"), [("star", 4247), ("nsw", 445), ("cps", 15992)])
def test_bundled_tables_are_those_that_the_script_made(name, length):
    raw = (files("confide.datasets") / "data" / f"{name}.csv.gz").read_bytes()
    assert hashlib.sha256(gzip.decompress(raw)).hexdigest() == SUMS[name]
    assert raw[4:8] == bytes(4)  # no time of making: the script writes the same bytes each time
    assert len(bundled(name)) == length


def test_the_wheel_holds_the_tables_with_their_source_and_terms(tmp_path):
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        held = set(archive.namelist())
    wanted = ["README.md", *(f"{name}.csv.gz" for name in SUMS)]
    assert held >= {f"confide/datasets/data/{name}" for name in wanted}


@pytest.mark.parametrize("load", [load_star, load_nsw])
def test_parts_have_the_same_columns_and_are_decided_by_the_seed(load):
    data, again, other = load(), load(random_state=0), load(random_state=1)
    assert isinstance(data, Dataset)
    for part in (data.observational, data.test):
        assert part.schema.equals(data.trial.schema)
    assert data.trial.column_names[-2:] == [data.treatment, data.outcome]
    for part in ("observational", "trial", "test"):
        assert getattr(data, part).equals(getattr(again, part))
    assert not data.trial.equals(other.trial)
    assert not data.test.equals(other.test)


def test_no_one_is_in_two_parts():
    star, nsw = load_star(), load_nsw()
    assert counted(star.observational, star.trial, star.test) <= counted(bundled("star").drop_columns(["school_id"]))
    assert counted(nsw.trial, nsw.test) == counted(bundled("nsw"))
    assert nsw.observational.equals(bundled("cps"))
