"""The option --dask: which cluster is meant, tables on it, and answers by it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from confide.cli.console import waiting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from confide.dask.cluster import Cluster
    from confide.model import CounterfactualIntervals
    from confide.predict.batches import Answered

OPTION = "--dask"
# What stands for a cluster on this machine.
LOCAL = "local"
Dask = Annotated[
    str | None,
    typer.Option(
        OPTION,
        metavar="[ADDRESS]",
        help="Read Parquet files on the Dask cluster with this scheduler, such as tcp://10.0.0.1:8786; "
        "without an address, on one that is started here.",
    ),
]


def with_address(arguments: list[str]) -> list[str]:
    """Return the arguments with an address after each --dask that has none."""
    found = []
    for place, argument in enumerate(arguments):
        found.append(argument)
        following = arguments[place + 1] if place + 1 < len(arguments) else ""
        if argument == OPTION and following != LOCAL and ":" not in following:
            found.append(LOCAL)
    return found


@contextmanager
def cluster_at(address: str | None) -> Iterator[Cluster | None]:
    """Yield the cluster at an address; None without one."""
    if address is None:
        yield None
        return
    try:
        from confide.dask.cluster import connected
    except ImportError as error:
        raise ValueError(str(error)) from error
    with connected(address) as cluster:
        yield cluster


def tables_on(cluster: Cluster | None) -> dict[str, Any]:
    """Return what makes large tables of files on a cluster, for `read_tables`; nothing without one."""
    if cluster is None:
        return {}
    from functools import partial

    from confide.dask.tables import FilesOnCluster

    return {"large": partial(FilesOnCluster, cluster=cluster)}


def is_folder(out: str) -> bool:
    """Return whether an output has no extension of a file, so that it is a folder which a cluster writes."""
    from confide.data.formats import STANDARD, is_table

    return out != STANDARD and not is_table(out)


def writes_folder(address: str | None, out: str, report: str | None) -> bool:
    """Return whether a cluster writes the answers; raise if a report needs them here."""
    folder = address is not None and is_folder(out)
    if folder and report is not None:
        raise typer.BadParameter(f"--report needs all answers in one file here, and {out} is a folder: name a file.")
    return folder


def answered_on(
    cluster: Cluster, model: CounterfactualIntervals, source: str, out: str, control: str | None
) -> Answered:
    """Write a folder of answers on a cluster; return the counts."""
    from confide.dask.predictions import answer_files

    with waiting(f"answering on {cluster.address}"):
        return answer_files(cluster, model, source, out, control=control)
