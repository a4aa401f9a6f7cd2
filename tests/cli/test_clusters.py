"""The option --dask: answers are those without it, whatever the cluster; bad input is one line."""

import json

import distributed
import pyarrow.dataset as ds
import pytest

from commands import names
from confide.cli.clusters import is_folder, with_address
from tables import covariates, people, write

TABLES = ["--observational", "table", "--trial", "trial.csv", "--treatment", "t", "--outcome", "y", "--id", "who"]
RUN = ["run", *TABLES, "--method", "transfer", "--base", "linear", "--save", "m.confide"]
ADDRESS = "tcp://10.0.0.1:8786"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["run", "--dask"], ["run", "--dask", "local"]),
        (["run", "--dask", "--out", "o"], ["run", "--dask", "local", "--out", "o"]),
        (["run", "--dask", ADDRESS], ["run", "--dask", ADDRESS]),
        (["predict", "--dask", "m.confide", "new"], ["predict", "--dask", "local", "m.confide", "new"]),
        (["run", "--out", "o"], ["run", "--out", "o"]),
        (["run", "--dask", "local"], ["run", "--dask", "local"]),
    ],
)
def test_an_address_may_be_left_out(given, read):
    assert with_address(given) == read


def test_an_output_without_an_extension_is_a_folder():
    assert [is_folder(each) for each in ("out", "out.csv", "out.csv.gz", "-", "a.b/out", "o.parquet")] == [
        *(True, False, False, False, True, False)
    ]


@pytest.fixture
def files(folder):
    """The observational table and new rows in files."""
    for name, table in (("table", people(240, 0)), ("new", covariates(people(60, 2)))):
        (folder / name).mkdir()
        size = len(table) // 3
        for part in range(3):
            write(folder / name / f"{part}.parquet", table.slice(size * part, size))
    return folder


@pytest.fixture(scope="module")
def address():
    """A cluster that runs somewhere."""
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
def test_answers_are_those_without_a_cluster(confide, files, address):
    more = ["--train-rows", 100, "--seed", 5]
    status, _, err = confide(*RUN, *more, "--predict", "new.csv", "--out", "one.csv")
    assert (status, err) == (0, "")
    own = (files / "m.confide").read_bytes()
    status, out, err = confide(*RUN, *more, "--dask", address, "--predict", "new.csv", "--out", "two.csv")
    assert (status, err) == (0, "")
    assert "Observational rows: 240 read, 100 learnt from" in out
    assert (files / "one.csv").read_text() == (files / "two.csv").read_text()
    assert (files / "m.confide").read_bytes() == own
    status, out, err = confide("predict", "m.confide", "new", "--dask", address, "--out", "answers")
    assert (status, err) == (0, "")
    assert "60 rows answered, in answers." in out
    status, *_ = confide(*RUN, *more, "--dask", address, "--predict", "new", "--out", "both")
    assert status == 0
    assert ds.dataset("answers").to_table().equals(ds.dataset("both").to_table())
    assert ds.dataset("answers").to_table().num_rows == 60


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
@pytest.mark.parametrize(
    "command",
    [
        ["diagnose", "--method", "transfer", "--base", "linear", "--target", "observational"],
        ["compare", "--base", "linear"],
        ["effects", "--method", "transfer", "--base", "linear"],
    ],
    ids=lambda command: command[0],
)
def test_what_to_trust_is_what_it_is_without_a_cluster(confide, files, address, command):
    """Figures are of the sample that the cluster draws, and the output says of how many rows it is."""
    asked = [*command, *TABLES, "--train-rows", 150, "--seed", 5]
    status, own, notes = confide(*asked)
    assert status == 0, notes
    status, out, err = confide(*asked, "--dask", address)
    assert (status, out, err) == (0, own, notes)
    assert "Observational rows: 240 read, 150 learnt from, a uniform sample" in out
    write(files / "table" / "3.parquet", people(20, 3).drop_columns(["town"]))
    status, out, err = confide(*asked, "--dask", address)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "3.parquet has no column town" in err


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
@pytest.mark.usefixtures("files")
def test_json_is_the_records_alone_and_the_sample_is_told_beside_them(confide, address):
    command = ["effects", *TABLES, "--method", "transfer", "--base", "linear", "--train-rows", 150]
    status, out, err = confide(*command, "--dask", address, "--json")
    assert status == 0
    assert [each["treated"] for each in json.loads(out)] == ["placebo"]
    assert "Observational rows: 240 read, 150 learnt from, a uniform sample" in err


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
def test_a_report_reads_its_tables_on_a_cluster(confide, files, address):
    status, *_ = confide(*RUN, "--train-rows", 100)
    assert status == 0
    page = ["report", "m.confide", "--predict", "new.csv", *TABLES, "--train-rows", 100]
    status, _, err = confide(*page, "--out", "one.html")
    assert status == 0, err
    status, *_ = confide(*page, "--out", "two.html", "--dask", address)
    assert status == 0
    assert (files / "one.html").read_text() == (files / "two.html").read_text()
    assert "in the sample" in (files / "one.html").read_text()


@pytest.mark.slow
@pytest.mark.xdist_group("dask")
def test_a_cluster_on_this_machine(confide, files):
    status, _, err = confide(*RUN, "--dask", "--base", "lightgbm", "--all-rows")
    assert (status, err) == (0, "")
    write(files / "table" / "3.parquet", people(20, 3).drop_columns(["town"]))
    status, out, err = confide(*RUN, "--dask")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "3.parquet has no column town" in err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([*RUN, "--dask", "tcp://127.0.0.1:9"], "the scheduler tcp://127.0.0.1:9 did not answer within 0.5 s"),
        ([*RUN, "--dask", "nonsense://1:2"], "the scheduler nonsense://1:2 did not answer"),
        (["predict", "m.confide", "new", "--dask", "--out", "o.csv"], "--dask writes a folder of Parquet files"),
        (["diagnose", *TABLES, "--dask", "tcp://127.0.0.1:9"], "the scheduler tcp://127.0.0.1:9 did not answer"),
        (["effects", *TABLES, "--dask", "--observational", "obs.csv"], "a cluster reads Parquet files, got obs.csv"),
        (["report", "m.confide", "--predict", "new.csv", "--dask"], "--dask is for --observational and --trial"),
        (["predict", "m.confide", "new", "--dask"], "--dask writes a folder of Parquet files"),
        (["predict", "m.confide", "new", "--dask", "--out", "table"], "table cannot be written"),
        ([*RUN, "--dask", "--predict", "new", "--out", "o", "--report", "r.html"], "--report needs all answers in one"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(confide, files, monkeypatch, command, message):
    monkeypatch.setattr("confide.dask.cluster.ANSWER_SECONDS", 0.5)
    before = names(files)
    status, out, err = confide(*command)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert names(files) == before
