"""A Dask cluster that is watched: tasks end with results, or with one clear error within a stated time."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import warnings
from concurrent.futures import CancelledError, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from confide.base.threads import PASSIVE, cores, environment, one_thread
from confide.exceptions import ClusterError

try:
    import distributed
    from dask import delayed
except ImportError as missing:
    raise ImportError(
        f"confide.dask needs Dask, which cannot be imported ({missing}): pip install 'confide[dask]'."
    ) from missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# Seconds that a scheduler may take to answer, and that a cluster may be without workers.
ANSWER_SECONDS = 10.0
PATIENCE_SECONDS = 60.0
# Seconds between looks at the tasks.
LOOK_SECONDS = 0.2
# The address that stands for a cluster on this machine.
LOCAL = "local"


@dataclass(frozen=True)
class Cluster:
    """A cluster that tasks run on.

    Parameters
    ----------
    client : distributed.Client
        The connection to it.
    timeout : float, default None
        Most seconds that one step may take, such as the pass over all rows or the training of one arm; None: any.
    patience : float
        Seconds that the cluster may be without workers that take tasks.

    Attributes
    ----------
    address : str
        The scheduler's address.
    """

    client: distributed.Client
    timeout: float | None = None
    patience: float = field(default=PATIENCE_SECONDS, kw_only=True)
    address: str = field(init=False)

    def __post_init__(self) -> None:
        """Keep the scheduler's address: a client that has lost it does not know it."""
        object.__setattr__(self, "address", str(getattr(self.client.scheduler, "address", "of the client")))

    @classmethod
    def current(cls, client: Any = None, timeout: float | None = None) -> Cluster:
        """Return the cluster of a client, by default of the one that was started last."""
        if isinstance(client, Cluster):
            return client
        if client is None:
            try:
                client = distributed.default_client()
            except ValueError as error:
                raise ValueError(
                    "there is no Dask client: start one, such as client = distributed.Client(n_workers=2), or "
                    "distributed.Client(address) for a cluster that runs."
                ) from error
        return cls(client, timeout)

    def run(self, what: str, tasks: Sequence[Any]) -> list[Any]:
        """Return the results of delayed tasks, in their order; ``what`` is being done, for messages.

        Tasks of a worker that is lost are run again by the scheduler, on another one. Raises what a task raised, and a
        `ClusterError` if the scheduler is lost, if no worker has taken tasks for too long, or if time is up. What is
        still to be done is given up then. Fetching the results is a part of the step, with the same bounds.
        """
        if not tasks:
            return []
        self._check_alive(what)
        futures: list[Any] = []
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Sending large graph")  # a model, which all tasks share
                futures = self.client.compute(list(tasks))
            return self._results(what, futures)
        except BaseException as error:
            told = self._told(what, error, futures)
            self._give_up(futures)
            if told is error:
                raise
            raise told from error

    def map(self, what: str, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Return what a function says of each argument, or of several side by side; each call has one thread."""
        call = delayed(_on_one_thread, pure=False)
        return self.run(what, [call(function, *each) for each in zip(*arguments, strict=True)])

    def _results(self, what: str, futures: list[Any]) -> list[Any]:
        """Return the results of all tasks, or raise the first error."""
        # Dask fetches on the client's own thread and may wait for ever there: results can be lost before they are here.
        fetching = asyncio.run_coroutine_threadsafe(
            self.client.gather(futures, asynchronous=True), self.client.loop.asyncio_loop
        )
        began = seen = time.monotonic()
        while not wait([fetching], LOOK_SECONDS).done:
            if self.client.status in ("closing", "closed"):
                raise self._lost(what)
            left = sum(future.status != "finished" for future in futures)
            workers = self._workers()
            now = time.monotonic()
            if any(map(_works, workers.values())) or (workers and not left):  # paused workers still give their results
                seen = now
            if now - seen > self.patience:
                raise ClusterError(f"{what}: {self._lacking(paused=bool(workers))}")
            if self.timeout is not None and now - began > self.timeout:
                late = f"{left} of {len(futures)} tasks were not done" if left else "the results were not fetched"
                raise ClusterError(f"{what}: {late} after {self.timeout:g} s. Give more time or more workers.")
        return list(fetching.result())

    def _told(self, what: str, error: BaseException, futures: list[Any]) -> BaseException:
        """Return the error to raise in place of what Dask or a task raised."""
        cancelled = isinstance(error, CancelledError | asyncio.CancelledError)  # asyncio turns one into the other
        if isinstance(error, ClusterError) or not (cancelled or isinstance(error, Exception)):
            return error
        if any(future.status == "error" for future in futures):
            return _told_by_task(what, error)
        # A client that has connected again is running, but its tasks are gone; one that has not noticed the loss yet
        # raises an OSError.
        lost = getattr(error, "reason", None) == "scheduler-connection-lost" or isinstance(error, OSError)
        if lost or self.client.status != "running":
            return self._lost(what)
        if cancelled:
            return ClusterError(
                f"{what}: the tasks were cancelled, most likely by another user of the same client or by a restart of "
                f"the cluster {self.address}. Run it again."
            )
        return error

    def _lost(self, what: str) -> ClusterError:
        return ClusterError(f"{what}: the connection to the scheduler {self.address} was lost.")

    def _lacking(self, *, paused: bool) -> str:
        if paused:
            return (
                f"all workers of {self.address} have been paused for {self.patience:g} s, because their memory is "
                "full. Give workers more memory, or set a smaller memory for a task."
            )
        return (
            f"the cluster {self.address} has had no worker for {self.patience:g} s. Start workers, or give them more "
            "memory if the system ended them."
        )

    def _workers(self) -> dict[str, Any]:
        """Return what the scheduler says of its workers; nothing if the connection is lost while it is asked."""
        if self.client.status != "running":
            return {}
        return dict(self.client.scheduler_info(n_workers=-1).get("workers", {}))

    def _check_alive(self, what: str) -> None:
        if self.client.status != "running":
            raise ClusterError(f"{what}: the client of {self.address} is not connected ({self.client.status}).")

    def _give_up(self, futures: list[Any]) -> None:
        if self.client.status == "running":
            with suppress(Exception):  # the client may close at this moment, and the error that led here is to be seen
                self.client.cancel(futures, force=True)


@contextmanager
def connected(address: str) -> Iterator[Cluster]:
    """Yield the cluster at an address, or one on this machine ("local"); raise if the scheduler does not answer."""
    if address == LOCAL:
        with (
            distributed.LocalCluster(
                n_workers=cores(),
                threads_per_worker=1,
                dashboard_address=":0",  # any free port
                silence_logs=logging.CRITICAL,  # errors are told here, in one line
                env={**PASSIVE, **environment(1)},
            ) as local,
            distributed.Client(local) as client,
        ):
            yield Cluster(client)
        return
    try:
        client = _client(address)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"the scheduler {address} did not answer within {ANSWER_SECONDS:g} s ({type(error).__name__}). Check the "
            "address, such as tcp://10.0.0.1:8786, and that it runs."
        ) from error
    with client:
        yield Cluster(client)


def _client(address: str) -> distributed.Client:
    """Return a client of a scheduler; raise in time also if somebody is there who says nothing, where Dask waits."""
    found: list[Any] = []

    def connect() -> None:
        try:
            found.append(distributed.Client(address, timeout=ANSWER_SECONDS))
        except Exception as error:  # noqa: BLE001  (raised where it is waited for)
            found.append(error)

    waiting = threading.Thread(target=connect, daemon=True)
    waiting.start()
    waiting.join(ANSWER_SECONDS + 1)
    if not found:
        raise TimeoutError
    if isinstance(found[0], Exception):
        raise found[0]
    return found[0]


def _works(worker: dict[str, Any]) -> bool:
    """Return whether a worker takes tasks, or still has one: where memory is short, Dask pauses it after that one."""
    return worker["status"] == "running" or bool(worker["metrics"].get("task_counts", {}).get("executing"))


def _on_one_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a function's value, computed with one thread: workers have one task per core."""
    with one_thread():
        return function(*arguments)


def _told_by_task(what: str, error: BaseException) -> Exception:
    """Return a task's error in words."""
    if isinstance(error, distributed.scheduler.KilledWorker):
        return ClusterError(
            f"{what}: a task ended its worker {error.allowed_failures + 1} times, most likely because memory was not "
            "enough. Give workers more memory, or set a smaller memory for a task."
        )
    if isinstance(error, ValueError | TypeError | MemoryError | OSError):
        return error
    return ValueError(f"{what}: a part of the table cannot be read or computed: {type(error).__name__}: {error}")
