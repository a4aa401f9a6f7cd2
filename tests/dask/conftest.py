"""One cluster of two worker processes for all tests of the room; they are one group, which one process runs.

It ends with the room: an idle cluster takes time of the processor too.
"""

import sys

import cloudpickle
import distributed
import pyarrow.parquet as pq
import pytest

from cluster_tables import NEW, OBSERVATIONAL

LOCAL = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/dask" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("dask"))


@pytest.fixture(scope="package")
def client():
    with distributed.LocalCluster(**LOCAL) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def own_client():
    """A cluster that a test may harm."""
    with distributed.LocalCluster(**LOCAL) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture(autouse=True)
def by_value(request):
    """Workers cannot import test modules."""
    module = sys.modules[request.module.__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture
def table(tmp_path):
    """The observational table in four files of several groups of rows."""
    folder = tmp_path / "table"
    folder.mkdir()
    for place, (start, size) in enumerate(((0, 700), (700, 1300), (2000, 1), (2001, 1999))):
        pq.write_table(OBSERVATIONAL.slice(start, size), folder / f"{place}.parquet", row_group_size=300)
    return folder


@pytest.fixture
def new(tmp_path):
    """New rows in three files."""
    folder = tmp_path / "new"
    folder.mkdir()
    for place in range(3):
        pq.write_table(NEW.slice(100 * place, 100), folder / f"{place}.parquet", row_group_size=40)
    return folder
