"""What the commands say when they are done."""

import io

import pytest

from confide.cli.console import print_answered
from confide.predict.batches import Answered


@pytest.mark.parametrize(
    ("answered", "told"),
    [
        (Answered(1, 0, 0, {}), "\n1 row answered, in a.csv.\n"),
        (Answered(0, 0, 0, {}), "\n0 rows answered, in a.csv.\n"),
        (
            Answered(1200, 0, 1200, {}),
            "\n1,200 rows answered, in a.csv.\n1,200 of them have an infinite interval for an effect.\n",
        ),
        (
            Answered(3, 1, 2, {}),
            (
                "\n3 rows answered, in a.csv.\n1 of them has an infinite interval for an outcome.\n"
                "2 of them have an infinite interval for an effect.\n"
            ),
        ),
    ],
)
def test_rows_are_counted_in_words(answered, told):
    screen = io.StringIO()
    print_answered(answered, "a.csv", screen)
    assert screen.getvalue() == told
