"""A model that learns from all rows on a cluster keeps its promise, and is about as sharp as one in memory."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import confide.dask
from confide import CounterfactualIntervals, stack
from confide.data import rest
from confide.datasets import synthetic_clinic
from decision import assert_covers

DRAWS, TRIAL, NEW, ALPHA = 40, 120, 500, 0.1
ARMS = (0, 1)


def answers(model, new):
    """The coverage and the mean width of both arms."""
    intervals = [model.predict_interval(new.table().drop_columns(["treatment", "outcome"]), arm) for arm in ARMS]
    covered = [each.contains(truth).mean() for each, truth in zip(intervals, (new.y0, new.y1), strict=True)]
    return covered, [each.width.mean() for each in intervals]


@pytest.mark.slow
@pytest.mark.usefixtures("client")
def test_all_rows_on_a_cluster_cover_and_are_as_sharp(tmp_path, monkeypatch):
    """Confounding is hidden, and several shares of the rows give a model each."""
    monkeypatch.setattr(rest, "SHARE_ROWS", 2000)
    observational = synthetic_clinic(8000, randomized=False, random_state=0).table()
    for part in range(8):
        pq.write_table(observational.slice(1000 * part, 1000), tmp_path / f"{part}.parquet")
    shape = {"method": "transfer", "base": "lightgbm", "alpha": ALPHA}
    columns = {"treatment": "treatment", "outcome": "outcome"}
    covered, widths = [], {"cluster": [], "memory": []}
    for draw in range(DRAWS):
        trial = synthetic_clinic(TRIAL, randomized=True, random_state=1000 + draw).table()
        new = synthetic_clinic(NEW, randomized=True, random_state=2000 + draw)
        there = CounterfactualIntervals(**shape, random_state=draw)
        confide.dask.fit(there, str(tmp_path), trial, **columns, train="all")
        here = CounterfactualIntervals(**shape, random_state=draw).fit(stack(observational, trial, **columns))
        found, width = answers(there, new)
        covered.append(found)
        widths["cluster"].append(width)
        widths["memory"].append(answers(here, new)[1])
    cells = {f"Y({arm})": (np.array(covered)[:, arm], 1 - ALPHA) for arm in ARMS}
    assert_covers(cells)
    cluster, memory = (np.array(widths[name]) for name in ("cluster", "memory"))
    error = memory.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    assert np.all(np.abs(cluster.mean(axis=0) - memory.mean(axis=0)) < error)
