"""Long work tells how far it has come, as a share of the whole, to whoever listens."""

import pytest

from confide.base.progress import listening, part


def test_parts_of_parts_are_shares_of_the_whole():
    heard = []
    with listening(heard.append):
        for arm in range(2):
            with part(arm, 2):
                for model in range(2):
                    with part(model, 2):
                        pass
    assert heard == [0.25, 0.5, 0.5, 0.75, 1.0, 1.0]


def test_a_part_that_fails_is_not_done_and_nobody_needs_to_listen():
    heard = []
    with listening(heard.append), pytest.raises(ValueError, match="no"), part(0, 2):
        raise ValueError("no")
    with part(0, 1):
        pass
    assert heard == []
