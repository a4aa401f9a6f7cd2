import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from confide import Intervals, IntervalSets

INTERVALS = Intervals(np.array([0.0, -np.inf, np.nan, 2.0]), np.array([1.0, np.inf, np.nan, 2.0]))


def test_unpacks_and_is_an_array():
    lower, upper = INTERVALS
    assert lower is INTERVALS.lower
    assert upper is INTERVALS.upper
    assert np.asarray(INTERVALS).shape == (4, 2)
    np.testing.assert_array_equal(np.asarray(INTERVALS)[:, 1], upper)
    assert np.asarray(INTERVALS, dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.array(INTERVALS, copy=False)


def test_width_and_containment():
    np.testing.assert_array_equal(INTERVALS.width, [1, np.inf, 0, 0])
    assert INTERVALS.infinite.tolist() == [False, True, False, False]
    assert INTERVALS.contains([0.0, 1e300, 0.0, 2.0]).tolist() == [True, True, False, True]
    assert INTERVALS.contains(1.0).tolist() == [True, True, False, False]
    assert not INTERVALS.contains([np.nan] * 4).any()


def test_clip_intersects():
    clipped = INTERVALS.clip(0.5, 1.5)
    np.testing.assert_array_equal(clipped, [[0.5, 1], [0.5, 1.5], [np.nan, np.nan], [np.nan, np.nan]])


@pytest.mark.parametrize(
    ("backend", "kind"), [("pyarrow", pa.Table), ("pandas", pd.DataFrame), ("polars", pl.DataFrame)]
)
def test_to_frame(backend, kind):
    frame = INTERVALS.to_frame(backend)
    assert isinstance(frame, kind)
    assert list(frame.columns if backend != "pyarrow" else frame.column_names) == ["lower", "upper"]
    assert isinstance(INTERVALS.to_frame(), pa.Table)


def test_shapes_must_match():
    with pytest.raises(ValueError, match="one length"):
        Intervals(np.zeros(2), np.zeros(3))


def test_sets_of_intervals():
    sets = IntervalSets.of(INTERVALS)
    assert sets.components.tolist() == [1, 1, 0, 1]
    np.testing.assert_array_equal(sets.hull(), INTERVALS)
    np.testing.assert_array_equal(sets.measure, INTERVALS.width)


unions = st.lists(
    st.lists(st.integers(-50, 50), max_size=8, unique=True).map(lambda ends: sorted(ends)[: len(ends) // 2 * 2]),
    min_size=1,
    max_size=6,
)


@given(unions, st.data())
def test_sets_against_plain_loops(rows, data):
    starts = np.cumsum([0, *(len(ends) // 2 for ends in rows)])
    flat = [float(end) for ends in rows for end in ends]
    sets = IntervalSets(np.array(flat[::2]), np.array(flat[1::2]), starts)
    y = data.draw(st.lists(st.integers(-60, 60), min_size=len(rows), max_size=len(rows)))
    pairs = [list(zip(ends[::2], ends[1::2], strict=True)) for ends in rows]
    assert [row.tolist() for row in sets] == [[list(pair) for pair in row] for row in pairs]
    inside = [any(a <= value <= b for a, b in row) for row, value in zip(pairs, y, strict=True)]
    assert sets.contains(y).tolist() == inside
    assert sets.measure.tolist() == [sum(b - a for a, b in row) for row in pairs]
    hull = [(row[0][0], row[-1][1]) if row else (np.nan, np.nan) for row in pairs]
    np.testing.assert_array_equal(sets.hull(), hull)
    order = np.array(data.draw(st.permutations(range(len(rows)))), dtype=int)
    assert [row.tolist() for row in sets.take(order)] == [[list(pair) for pair in pairs[i]] for i in order]
    twice = IntervalSets.concatenate([sets, sets])
    assert [row.tolist() for row in twice] == 2 * [row.tolist() for row in sets]


@given(unions, st.data())
def test_a_joined_interval_adds_its_outcomes_and_no_others(rows, data):
    starts = np.cumsum([0, *(len(ends) // 2 for ends in rows)])
    flat = [float(end) for ends in rows for end in ends]
    sets = IntervalSets(np.array(flat[::2]), np.array(flat[1::2]), starts, whole=np.zeros(len(rows), dtype=bool))
    ends = st.one_of(
        st.tuples(st.integers(-60, 60), st.integers(-60, 60)).map(sorted), st.sampled_from([[np.nan] * 2, [-np.inf, 0]])
    )
    more = Intervals(*np.array([data.draw(ends) for _ in rows], dtype=float).T)
    joined = sets.joined(more)
    told = [end for end in (*flat, *more.lower, *more.upper) if np.isfinite(end)]
    for y in {end + step for end in told for step in (-0.5, 0, 0.5)}:
        np.testing.assert_array_equal(joined.contains(y), sets.contains(y) | more.contains(y))
    for components in joined:
        assert (components[1:, 0] > components[:-1, 1]).all()
    assert joined.whole is sets.whole


def test_negative_and_missing_rows_of_sets():
    sets = IntervalSets.of(INTERVALS)
    assert sets[-1].tolist() == [[2, 2]]
    with pytest.raises(IndexError):
        sets[4]


def test_unusual_sets_are_counted():
    sets = IntervalSets(
        np.array([0.0, 2.0, -1.0]),
        np.array([1.0, 3.0, 5.0]),
        np.array([0, 2, 2, 3]),
        whole=np.array([False, False, True]),
        approximate=True,
    )
    assert sets.disconnected.tolist() == [True, False, False]
    assert sets.empty.tolist() == [False, True, False]
    assert sets.summary() == (
        "3 sets: 1 empty, 1 of several intervals, 1 all that was searched; by few candidates, approximate"
    )
    turned = IntervalSets.concatenate([sets, sets]).take(np.array([5, 0, 1]))
    assert turned.whole.tolist() == [True, False, False]
    assert turned.approximate
    offset = IntervalSets.of(Intervals(np.zeros(1), np.ones(1)))
    assert IntervalSets.concatenate([sets, offset]).whole is None  # nothing was searched for the last row
    assert offset.summary() == "1 sets: 0 empty, 0 of several intervals, 0 all that was searched"


def test_values_are_not_disconnected_but_may_be_all():
    sets = IntervalSets.of_values(np.arange(3.0), np.array([[True, False, True], [True, True, True]]))
    assert not sets.disconnected.any()
    assert sets.whole.tolist() == [False, True]
