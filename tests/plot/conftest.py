"""No plot of any kind leaves something behind."""

import pytest
from matplotlib import pyplot as plt


@pytest.fixture(autouse=True)
def _nothing_global():
    """No plot opens a figure of pyplot or changes a setting."""
    before = dict(plt.rcParams)
    yield
    assert plt.get_fignums() == []
    assert dict(plt.rcParams) == before
