"""The study of the test of randomisation, at a small size; `make study-randomisation` has the study."""

import numpy as np
import pytest

from studies.randomisation import CHANCES, CONSTANT, Cell, count, draw
from studies.randomisation_study import POWER_CELLS, SIZE_CELLS, page, run


def test_true_and_stated_probabilities():
    for case in CHANCES:
        X, treatment, assignment = draw(Cell(case, "normal", 20_000, 2, 2), np.random.default_rng(0))
        true, stated = (chance and chance(X) for chance in CHANCES[case])
        assert np.mean(treatment - true) == pytest.approx(0, abs=0.02)
        if stated is None:
            assert assignment is None
        else:
            np.testing.assert_allclose(assignment, np.where(treatment == 1, stated, 1 - stated))


def test_counts():
    fair = count(Cell(CONSTANT, "binary", 30, 2, 3), 20)
    assert fair.repetitions == 20
    assert fair.told <= fair.rejected <= 6
    assert count(Cell(".9 above 60, .1 below", "normal", 100, 2, 2), 5).told == 5


def test_the_page_counts_cells_above_the_level():
    rows = [{**cell._asdict(), "repetitions": 1000, "rejected": 50, "told": 5} for cell in SIZE_CELLS + POWER_CELLS]
    assert "0 of them are above the level" in page(rows)
    rows[3] |= {"rejected": 90}
    rows[4] |= {"told": 20}
    found = page(rows)
    assert "2 of them are above the level" in found
    assert "9.0 % and 2.0 %" in found


@pytest.mark.slow
def test_a_run_has_every_cell():
    rows = run(1, 1, [])
    assert [Cell(*(row[name] for name in Cell._fields)) for row in rows] == SIZE_CELLS + POWER_CELLS
