"""Times that microseconds do not reach are refused, and finer parts are cut off."""

import pyarrow as pa
import pytest

from confide.data import kinds


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_too_far_away_once_wrapped_around(zone):
    kind = kinds.INSTANTS if zone else kinds.DATES
    far = pa.chunked_array([pa.array([0, 10**13], pa.timestamp("s", zone))])
    for read in (kinds.numbers, kinds.temporal):
        with pytest.raises(ValueError, match="column 'seen' holds times too far away"):
            read("seen", far, kind)
    near = pa.chunked_array([pa.array([0, 10**12], pa.timestamp("s", zone))])
    assert kinds.numbers("seen", near, kind).tolist() == [0, 10**12 / 86_400]


def test_nanoseconds_are_cut_off():
    fine = pa.chunked_array([pa.array([86_400 * 10**9 + 1], pa.timestamp("ns"))])
    assert kinds.numbers("seen", fine, kinds.DATES).tolist() == [1]
    assert kinds.temporal("seen", fine, kinds.DATES).type == pa.timestamp("us")


def test_booleans_are_no_numbers_but_0_and_1_are_booleans():
    """Text in a file is refused, so a typed column is refused too."""
    with pytest.raises(ValueError, match="column 'x' held numbers when fitted and holds booleans now"):
        kinds.numbers("x", pa.chunked_array([[True, False]]), kinds.NUMBERS)
    assert kinds.numbers("x", pa.chunked_array([[1, 0]]), kinds.BOOLEANS).tolist() == [1, 0]
