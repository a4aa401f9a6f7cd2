"""What may go wrong on a cluster ends with the right result or one clear error, and leaves nothing half-written."""

import os
import signal
import socket
import threading
import time
from concurrent.futures import CancelledError
from types import SimpleNamespace

import dask
import dask.dataframe as dd
import distributed
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from dask import delayed

import confide.dask
from cluster_tables import NEW, OBSERVATIONAL, TRIAL, same_answers
from commands import names
from confide import CounterfactualIntervals, LargeTable, stack
from confide.dask import cluster as clusters
from confide.dask.cluster import Cluster, connected
from confide.dask.predictions import answer_files
from confide.exceptions import ClusterError
from confide.models.lightgbm_model import LightGBMRegressor
from tables import fitted_model

pytestmark = pytest.mark.slow
BOOSTED = {"method": "transfer", "base": LightGBMRegressor(n_estimators=5), "random_state": 0}


def slow_rows(start, size, seconds=0.3):
    """A partition that takes its time."""
    time.sleep(seconds)
    return OBSERVATIONAL.slice(start, size).to_pandas()


def slow_frame(seconds=0.3):
    """The observational table in eight partitions that take their time."""
    meta = OBSERVATIONAL.slice(0, 500).to_pandas().iloc[:0]
    return dd.from_delayed([delayed(slow_rows)(start, 500, seconds) for start in range(0, 4000, 500)], meta=meta)


def while_running(client, act):
    """Start a thread that acts when the cluster has begun to work; return it."""

    def wait_and_act():
        while not any(client.processing().values()):
            time.sleep(0.02)
        time.sleep(0.2)
        act()

    thread = threading.Thread(target=wait_and_act)
    thread.start()
    return thread


def killer(client):
    """Return a function that kills one of the workers: their processes are known before they are busy."""
    pid = next(iter(client.run(os.getpid).values()))
    return lambda: os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("train", [500, "all"])
def test_a_worker_killed_during_the_fit(own_client, train):
    ddf = slow_frame()
    thread = while_running(own_client, killer(own_client))
    model = confide.dask.fit(CounterfactualIntervals(**BOOSTED), ddf, TRIAL, train=train, client=own_client)
    thread.join()
    study = stack(LargeTable(ds.dataset(OBSERVATIONAL), rows=train), TRIAL)
    same_answers(model, CounterfactualIntervals(**BOOSTED).fit(study))


def test_a_worker_killed_during_predictions(own_client, tmp_path):
    (tmp_path / "new").mkdir()
    for place in range(60):
        pq.write_table(NEW, tmp_path / "new" / f"{place:02d}.parquet")
    model = fitted_model()
    thread = while_running(own_client, killer(own_client))
    counted = answer_files(Cluster(own_client), model, str(tmp_path / "new"), str(tmp_path / "out"))
    thread.join()
    assert counted.rows == 60 * len(NEW)
    found = ds.dataset(tmp_path / "out").to_table()
    assert found.slice(0, len(NEW)).equals(found.slice(59 * len(NEW), len(NEW)))
    assert (len(found), names(tmp_path)) == (60 * len(NEW), ["new", "out"])


def test_no_workers(own_client):
    own_client.cluster.scale(0)
    began = time.monotonic()
    with pytest.raises(ClusterError, match=r"reading the observational table: .* has had no worker for 2 s"):
        confide.dask.fit(CounterfactualIntervals(), slow_frame(), TRIAL, client=Cluster(own_client, patience=2.0))
    assert time.monotonic() - began < 20


def test_workers_that_are_paused_because_their_memory_is_full():
    with (
        dask.config.set({"distributed.worker.memory.terminate": False}),
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit="100MB"
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
        pytest.raises(ClusterError, match=r"all workers of tcp://.* have been paused for 2 s, because their memory"),
    ):
        Cluster(client, patience=2.0).map("anything", len, ["a"] * 50)


def test_a_paused_worker_that_still_computes_is_waited_for():
    paused = {"status": "paused", "metrics": {"task_counts": {"executing": 1}}}
    assert clusters._works(paused)
    assert not clusters._works({**paused, "metrics": {"task_counts": {"memory": 3}}})
    assert clusters._works({"status": "running", "metrics": {}})


def end_process():
    os._exit(9)


def test_a_task_that_ends_its_worker_each_time(own_client):
    """As the system does when memory is not enough."""
    with pytest.raises(ClusterError, match=r"anything: a task ended its worker 4 times, most likely because memory"):
        Cluster(own_client).run("anything", [delayed(end_process)()])


def test_time_is_up_while_models_learn(own_client, table):
    slow = LightGBMRegressor(n_estimators=100_000)
    model = CounterfactualIntervals("transfer", base=slow, random_state=0)
    with pytest.raises(ClusterError, match=r"learning from all rows: 1 of 1 tasks were not done after 8 s"):
        confide.dask.fit(model, str(table), TRIAL, train="all", client=own_client, timeout=8)


def test_the_scheduler_is_lost(own_client):
    thread = while_running(own_client, own_client.cluster.close)
    with pytest.raises(ClusterError, match=r"the connection to the scheduler tcp://.* was lost"):
        confide.dask.fit(CounterfactualIntervals(), slow_frame(2.0), TRIAL, client=own_client)
    thread.join()


def test_the_scheduler_is_lost_while_it_is_asked(own_client, monkeypatch):
    def lose_it(**_):
        own_client.close()
        return {}

    monkeypatch.setattr(own_client, "scheduler_info", lose_it)
    with pytest.raises(ClusterError, match=r"anything: the connection to the scheduler tcp://.* was lost"):
        Cluster(own_client).map("anything", time.sleep, [2])


def before_fetching(monkeypatch, client, act):
    """Let something happen after the tasks are done and before their results are fetched."""
    gather = client.gather

    def act_and_gather(futures, **options):
        while not all(future.done() for future in futures):
            time.sleep(0.02)
        act()
        return gather(futures, **options)

    monkeypatch.setattr(client, "gather", act_and_gather)


def test_the_scheduler_is_lost_while_results_are_fetched(own_client, monkeypatch):
    before_fetching(monkeypatch, own_client, own_client.cluster.close)
    with pytest.raises(ClusterError, match=r"anything: the connection to the scheduler tcp://.* was lost"):
        Cluster(own_client).map("anything", len, ["a"])


def test_all_workers_are_lost_before_results_are_fetched(own_client, monkeypatch):
    def leave():
        own_client.cluster.scale(0)
        while own_client.scheduler_info()["workers"]:
            time.sleep(0.02)

    before_fetching(monkeypatch, own_client, leave)
    began = time.monotonic()
    with pytest.raises(ClusterError, match=r"anything: .* has had no worker for 2 s"):
        Cluster(own_client, patience=2.0).map("anything", len, ["a"])
    assert time.monotonic() - began < 15


def own_process(_):
    return os.getpid()


def signals(pids, signum):
    """Return a function that sends a signal to all workers."""
    return lambda: [os.kill(pid, signum) for pid in pids]


def test_workers_killed_before_results_are_fetched_are_replaced(own_client, monkeypatch):
    killed = set(own_client.run(os.getpid).values())
    before_fetching(monkeypatch, own_client, signals(killed, signal.SIGKILL))
    found = Cluster(own_client).map("anything", own_process, range(4))
    assert len(found) == 4
    assert not killed & set(found)


def test_time_is_up_while_results_are_fetched(own_client, monkeypatch):
    pids = own_client.run(os.getpid).values()
    before_fetching(monkeypatch, own_client, signals(pids, signal.SIGSTOP))
    with pytest.raises(ClusterError, match=r"anything: the results were not fetched after 2 s"):
        Cluster(own_client, timeout=2.0).map("anything", len, ["a"])
    signals(pids, signal.SIGCONT)()


def cancel_all(client):
    client.cancel([distributed.Future(key, client=client) for key in list(client.futures)], force=True)


@pytest.mark.parametrize("cancel", [cancel_all, distributed.Client.restart])
def test_tasks_cancelled_by_another_thread(own_client, cancel):
    thread = while_running(own_client, lambda: cancel(own_client))
    with pytest.raises(ClusterError, match=r"anything: the tasks were cancelled, .* Run it again"):
        Cluster(own_client).map("anything", time.sleep, [3])
    thread.join()
    assert Cluster(own_client).map("anything", len, ["a"]) == [1]


def raise_cancelled(_):
    raise CancelledError("by the task")


def test_a_task_that_raises_what_dask_raises(client):
    with pytest.raises(ValueError, match=r"anything: .* computed: CancelledError: by the task"):
        Cluster(client).map("anything", raise_cancelled, [1])


def test_the_error_of_a_task_is_told_if_the_client_closes_meanwhile(client):
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        cluster = Cluster(other)
    error = OSError("no such file")
    assert cluster._told("anything", error, [SimpleNamespace(status="error")]) is error


def test_giving_up_hides_no_error(client, monkeypatch):
    cancel = client.cancel

    def cancel_as_it_closes(*arguments, **options):
        cancel(*arguments, **options)
        raise RuntimeError("IOLoop is closed")

    monkeypatch.setattr(client, "cancel", cancel_as_it_closes)
    with pytest.raises(ClusterError, match=r"1 of 1 tasks were not done after 0.5 s"):
        Cluster(client, timeout=0.5).map("anything", time.sleep, [2])


def test_a_scheduler_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(clusters, "ANSWER_SECONDS", 0.5)
    with (
        pytest.raises(ClusterError, match=r"tcp://127.0.0.1:9 did not answer within 0.5 s"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass


def test_somebody_who_accepts_connections_and_says_nothing(monkeypatch):
    monkeypatch.setattr(clusters, "ANSWER_SECONDS", 0.5)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(ClusterError, match=r"tcp://127.0.0.1:\d+ did not answer within 0.5 s \(TimeoutError\)"),
        connected(f"tcp://127.0.0.1:{server.getsockname()[1]}"),
    ):
        pass


def test_time_is_up(client):
    with pytest.raises(ClusterError, match=r"8 of 8 tasks were not done after 0.5 s. Give more time"):
        confide.dask.fit(CounterfactualIntervals(), slow_frame(3.0), TRIAL, client=client, timeout=0.5)


def damage(path):
    """Spoil the first rows of a Parquet file; its footer stays."""
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + b"\xff" * 300 + whole[304:])


def test_a_file_that_cannot_be_read(client, table, new, tmp_path):
    path = table / "1.parquet"
    damage(path)
    with pytest.raises(ValueError, match=r"1\.parquet cannot be read as parquet"):
        confide.dask.fit(CounterfactualIntervals(), str(table), TRIAL, client=client)
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"1\.parquet"):
        confide.dask.fit(CounterfactualIntervals(), str(table), TRIAL, client=client)
    other = new / "2.parquet"
    damage(other)
    with pytest.raises(ValueError, match=r"2\.parquet cannot be read as parquet"):
        answer_files(Cluster(client), fitted_model(), str(new), str(tmp_path / "out"))
    assert names(tmp_path) == ["new", "table"]


def test_a_column_missing_in_one_part(client, table):
    pq.write_table(OBSERVATIONAL.slice(0, 20).drop_columns(["town"]), table / "9.parquet")
    with pytest.raises(ValueError, match=r"9\.parquet has no column town, which other files of the table have"):
        confide.dask.fit(CounterfactualIntervals(), str(table), TRIAL, client=client)
    parts = [OBSERVATIONAL.slice(0, 50).to_pandas(), OBSERVATIONAL.slice(50, 50).drop_columns(["town"]).to_pandas()]
    ddf = dd.from_delayed([delayed(each) for each in parts], meta=parts[0].iloc[:0], verify_meta=False)
    with pytest.raises(ValueError, match="partition 1 of the observational table has no column town"):
        confide.dask.fit(CounterfactualIntervals(), ddf, TRIAL, client=client)


def unreadable():
    raise RuntimeError("the disk is gone")


def test_a_partition_that_cannot_be_computed(client):
    ddf = dd.from_delayed([delayed(unreadable)()], meta=OBSERVATIONAL.slice(0, 5).to_pandas().iloc[:0])
    with pytest.raises(ValueError, match=r"a part of the table cannot be read or computed: .*the disk is gone"):
        confide.dask.fit(CounterfactualIntervals(), ddf, TRIAL, client=client)


def test_a_client_that_is_closed(client):
    with distributed.Client(client.scheduler.address, set_as_default=False) as other:
        pass
    with pytest.raises(ClusterError, match="is not connected"):
        Cluster(other).map("anything", len, ["a"])
