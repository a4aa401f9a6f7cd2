"""The flow of rows: every row is counted once, and where the methods say they use it."""

import numpy as np
import pyarrow.dataset as ds
import pytest
from sklearn.linear_model import LinearRegression

from confide import WTCPDR, CounterfactualIntervals, LargeTable, Study, stack
from confide import method as method_by_name
from confide.diagnostics import RowFlow, row_flow
from confide.exceptions import TrialAloneWarning
from confide.ratio import OracleRatio
from helpers import study_arrays
from tables import people

STAGES = ("read", "fitting", "calibrating", "not used")


def study(n=120, m=40, **more):
    X, y, treatment, trial = study_arrays(n, m)
    return Study(X, y, treatment, trial, **more)


def flow(method, rows, treatment=1):
    """Return the numbers at each stage of one arm's observational and trial rows, and all other records."""
    model = CounterfactualIntervals(method, base="ridge", alpha=0.4, random_state=0).fit(rows)
    found = {(each.treatment, each.source, each.stage): each.rows for each in row_flow(model, rows)}
    return [tuple(found.pop((treatment, source, stage)) for stage in STAGES) for source in ("observational", "trial")]


def counts(rows, treatment=1):
    mine = rows.treatment == treatment
    return int((mine & ~rows.trial).sum()), int((mine & rows.trial).sum())


@pytest.mark.parametrize(
    ("method", "observational", "trial"),
    [
        ("naive", (0, 0, 1), (0.5, 0.5, 0)),
        ("transfer", (1, 0, 0), (0, 1, 0)),
        ("prognostic", (1, 0, 0), (0, 1, 0)),
        ("wcp", (0.5, 0.5, 0), (0, 0, 1)),
        ("wtcp-dr", (0.5, 0.5, 0), (1, 0, 0)),
        ("pooled-dr", (0.5, 0.5, 0), (0.5, 0.5, 0)),
        ("wscp-dr-inexact", (0.5, 0.5, 0), (1, 0, 0)),
        ("wscp-dr-calibrated", (0.5, 0.5, 0), (0.5, 0.5, 0)),
    ],
)
def test_rows_are_where_the_method_uses_them(method, observational, trial):
    rows = study()
    n, m = counts(rows)
    if method.startswith("wscp"):
        method = method_by_name(method, second_stage=LinearRegression())
    for found, read, shares in zip(flow(method, rows), (n, m), (observational, trial), strict=True):
        assert found[0] == read == sum(found[1:])
        assert found[1:] == tuple(pytest.approx(share * read, abs=1) for share in shares)


def test_every_arm_and_table_has_four_records_and_new_rows_one():
    rows = study()
    model = CounterfactualIntervals("naive", base="ridge", alpha=0.4, random_state=0).fit(rows)
    found = row_flow(model, rows, answered=7)
    assert len(found) == 2 * 2 * 4 + 1
    assert found[0] == RowFlow("read", 0, "observational", counts(rows, 0)[0])
    assert found[-1] == RowFlow("answered", None, "new", 7)
    assert sum(each.rows for each in found if each.stage == "read") == len(rows)
    assert row_flow(model, rows) == found[:-1]


def test_an_arm_without_observational_rows_learns_from_those_of_others():
    X, y, treatment, trial = study_arrays(120, 40)
    kept = trial | (treatment == 0)
    rows = Study(X[kept], y[kept], treatment[kept], trial[kept])
    model = CounterfactualIntervals("prognostic", base="ridge", alpha=0.4, random_state=0).fit(rows)
    found = [each for each in row_flow(model, rows) if each.treatment == 1]
    assert found[-1] == RowFlow("fitting", 1, "observational, other treatments", int((~rows.trial).sum()))
    assert {each.stage: each.rows for each in found if each.source == "trial"} == {
        "read": counts(rows)[1],
        "fitting": 0,
        "calibrating": counts(rows)[1],
        "not used": 0,
    }


def test_a_trial_alone_is_split():
    X, y, treatment, trial = study_arrays(0, 40)
    rows = Study(X, y, treatment, trial)
    with pytest.warns(TrialAloneWarning):
        observational, found = flow("prognostic", rows)
    assert observational == (0, 0, 0, 0)
    assert found == (counts(rows)[1], counts(rows)[1] // 2, counts(rows)[1] - counts(rows)[1] // 2, 0)


def test_where_one_row_per_cluster_counts_the_others_are_not_used():
    cluster = np.arange(160) // 4
    rows = study(cluster=cluster)
    _, (read, fitting, calibrating, unused) = flow("prognostic", rows)
    assert fitting == 0
    assert 0 < calibrating <= len(set(cluster[rows.trial].tolist())) < read
    assert unused == read - calibrating


def test_whole_clusters_are_fitted_on_or_calibrate():
    cluster = np.random.default_rng(0).integers(0, 12, 160) * 2
    X, y, treatment, trial = study_arrays(120, 40)
    rows = Study(X, y, treatment, trial, cluster=cluster + treatment)
    _, (read, fitting, calibrating, unused) = flow("naive", rows)
    assert read == fitting + calibrating + unused
    assert 0 < fitting < read
    assert calibrating > 0
    assert unused == 0


def test_another_study_is_refused():
    model = CounterfactualIntervals("naive", base="ridge", alpha=0.4, random_state=0).fit(study())
    with pytest.raises(ValueError, match="fitted on other rows than these"):
        row_flow(model, study(m=42))


@pytest.mark.parametrize(("ratio_rows", "share"), [("fit", 0.5), ("all", 1)])
def test_with_refits_a_row_is_fitted_on_and_calibrates(ratio_rows, share):
    rows = study(n=60, m=20)
    ratio = OracleRatio(lambda each: np.ones(len(each)))
    arm = WTCPDR(base=LinearRegression(), refit=True, ratio_rows=ratio_rows, ratio=ratio)
    model = CounterfactualIntervals(arm, alpha=0.4, random_state=0).fit(rows)
    found = {(each.source, each.stage): each.rows for each in row_flow(model, rows) if each.treatment == 1}
    n, m = counts(rows)
    assert [found["observational", stage] for stage in STAGES] == [n, n, pytest.approx(share * n, abs=1), 0]
    assert [found["trial", stage] for stage in STAGES] == [m, m, 0, 0]


@pytest.mark.parametrize(
    ("rows", "method", "base", "labels"),
    [
        (100, "transfer", "ridge", (False, True)),
        (100, "transfer", "ridge", ("drug", "placebo")),
        (100, "naive", "ridge", (1, 3)),
        ("all", "transfer", "lightgbm", (0, 1)),
    ],
)
def test_all_rows_of_a_sampled_table_are_counted_by_treatment(rows, method, base, labels):
    large, trial = (people(number, seed, labels).drop_columns(["who"]) for number, seed in ((2000, 0), (60, 1)))
    sampled = stack(LargeTable(ds.dataset(large), rows=rows), trial)
    model = CounterfactualIntervals(method, base=base, alpha=0.4, random_state=0).fit(sampled)
    found = {(each.treatment, each.source, each.stage): each.rows for each in row_flow(model, sampled)}
    for label in labels:
        read = large["t"].to_pylist().count(label)
        mine = counts(sampled, label)[0]
        fitted = {"all": read, 100: mine}[rows] if method == "transfer" else 0
        stages = {"read": read, "sampled": mine, "fitting": fitted, "calibrating": 0, "not used": read - fitted}
        assert {stage: found[label, "observational", stage] for stage in stages} == stages
        assert (label, "trial", "sampled") not in found
