"""Answers on a cluster are those of one machine: as a Dask data frame, and as a folder of files."""

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import confide.dask
from cluster_tables import NEW
from commands import names
from confide.dask.cluster import Cluster
from confide.dask.predictions import answer_files
from confide.exceptions import PopulationWarning
from confide.predict.batches import answer_file
from tables import fitted_model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model():
    return fitted_model()


@pytest.fixture
def expected(model, tmp_path):
    """The answers of one machine."""
    pq.write_table(NEW, tmp_path / "one.parquet")
    counted = answer_file(model, str(tmp_path / "one.parquet"), str(tmp_path / "answers.parquet"))
    return counted, pq.read_table(tmp_path / "answers.parquet")


@pytest.mark.usefixtures("client")
def test_a_frame_has_its_own_columns_then_the_answers(model, expected):
    frame = NEW.to_pandas().set_index(np.arange(len(NEW))[::-1] * 3)
    found = confide.dask.predict(model, dd.from_pandas(frame, npartitions=4, sort=False))
    assert list(found.columns) == expected[1].column_names
    answers = found.compute()
    pd.testing.assert_index_equal(answers.index, frame.index)
    for name in expected[1].column_names[NEW.num_columns :]:
        np.testing.assert_allclose(answers[name], expected[1][name].to_numpy(), rtol=1e-12)
    assert found.dtypes.tolist()[-3:] == [np.dtype("float64")] * 3


@pytest.mark.usefixtures("client")
def test_a_frame_without_a_covariate(model):
    with pytest.raises(ValueError, match="the data frame has no column age"):
        confide.dask.predict(model, dd.from_pandas(NEW.drop_columns(["age"]).to_pandas(), npartitions=2))
    with pytest.raises(ValueError, match="the input has columns that the answers need: y_drug"):
        confide.dask.predict(model, dd.from_pandas(NEW.to_pandas().assign(y_drug=1.0), npartitions=2))


def test_a_folder_has_the_answers_in_order(model, expected, client, new, tmp_path):
    counted = answer_files(Cluster(client), model, str(new), str(tmp_path / "out"))
    assert counted == expected[0]
    assert names(tmp_path / "out") == [f"part-0000{place}.parquet" for place in range(3)]
    assert ds.dataset(tmp_path / "out").to_table().equals(expected[1])


def test_rows_unlike_the_trials_are_pointed_out(model, client, tmp_path):
    strange = NEW.set_column(0, "age", pa.array(np.full(len(NEW), 500.0)))
    pq.write_table(strange, tmp_path / "strange.parquet", row_group_size=50)
    with pytest.warns(PopulationWarning, match="age"):
        answer_files(Cluster(client), model, str(tmp_path / "strange.parquet"), str(tmp_path / "out"))


def test_a_folder_that_exists_is_not_replaced(model, client, new, tmp_path):
    with pytest.raises(ValueError, match="exists: answers of a cluster are a folder"):
        answer_files(Cluster(client), model, str(new), str(new))
    (tmp_path / "empty").mkdir()
    assert answer_files(Cluster(client), model, str(new), str(tmp_path / "empty")).rows == len(NEW)
