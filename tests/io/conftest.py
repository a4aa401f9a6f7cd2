"""A place for a model file, and the bytes of a good one."""

import pytest

from forging import boosted, saved


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.confide"


@pytest.fixture
def good():
    return saved(boosted)
