"""Fitting on a cluster: a study whose observational table stays there, and a model that is small and here."""

from __future__ import annotations

import os
from numbers import Integral
from typing import TYPE_CHECKING, Any

from confide.dask.cluster import Cluster
from confide.dask.tables import FilesOnCluster, FrameOnCluster
from confide.data import stacking
from confide.data.many_files import open_dataset

if TYPE_CHECKING:
    from collections.abc import Sequence

    from confide.data.study import Study
    from confide.model import CounterfactualIntervals
    from confide.typing import Table

# How many rows models learn from if nothing is said, and the memory of one task.
TRAIN_ROWS = 1_000_000
MEMORY = "4GB"


def fit(
    model: CounterfactualIntervals,
    observational: Any,
    trial: Table,
    treatment: str = "t",
    outcome: str = "y",
    covariates: Sequence[str] | None = None,
    *,
    train: int | str = TRAIN_ROWS,
    memory: str | int = MEMORY,
    client: Any = None,
    timeout: float | None = None,
    **more: Any,
) -> CounterfactualIntervals:
    """Fit a model on an observational table that is on a cluster, and on a trial that is here; return the model.

    Parameters
    ----------
    model : CounterfactualIntervals
        The model; ``random_state`` is the seed of the sample too.
    observational : dask.dataframe.DataFrame, or str
        The table; or a folder of Parquet files, or a pattern, that all workers can read.
    trial : frame
        The trial, any data frame.
    treatment, outcome, covariates
        Names of columns, as in `confide.stack`.
    train : int or "all"
        A number: a uniform sample of at most so many rows is drawn by the cluster and learnt from here. The model is
        bit for bit that of `confide.LargeTable` with as many rows and the same seed. "all": the cluster learns from all
        rows, each worker from shares of them, with ``base="lightgbm"``; a sample is held out for the size of errors.
    memory : str or int
        Memory that one task may take for training, and that the sample may take here.
    client : distributed.Client, default None
        The cluster; None: the client that was started last.
    timeout : float, default None
        Most seconds that one step may take: a pass over the table, or the training of one arm. None: any.
    **more
        What `confide.stack` takes too: ``categories``, ``assignment``, ``cluster``, ``target``.

    Returns
    -------
    CounterfactualIntervals
        The model, fitted: it is here, and can be saved. Promises are those of the same model in memory.

    Raises
    ------
    ClusterError
        The cluster is lost, has had no workers for a minute, or took longer than ``timeout``. An `OSError`.
    """
    seed = int(model.random_state) if isinstance(model.random_state, Integral) else 0
    asked = {"train": train, "memory": memory, "random_state": seed, "client": client, "timeout": timeout}
    return model.fit(stack(observational, trial, treatment, outcome, covariates, **asked, **more))


def stack(
    observational: Any,
    trial: Table,
    treatment: str = "t",
    outcome: str = "y",
    covariates: Sequence[str] | None = None,
    *,
    train: int | str = TRAIN_ROWS,
    memory: str | int = MEMORY,
    random_state: int = 0,
    client: Any = None,
    timeout: float | None = None,
    **more: Any,
) -> Study:
    """Return the study of an observational table on a cluster and a trial, with a sample of the table.

    It is for diagnostics too: `confide.diagnostics.balance` and `hidden_confounding_test` then look at the sample.
    Parameters are those of `fit`.
    """
    cluster = Cluster.current(client, timeout)
    kept: dict[str, Any] = {"rows": train, "memory": memory, "random_state": random_state, "cluster": cluster}
    table: FilesOnCluster | FrameOnCluster
    if isinstance(observational, str):
        path = os.path.abspath(observational)  # noqa: PTH100  (it may be a pattern)
        table = FilesOnCluster(open_dataset(path), **kept)
    elif hasattr(observational, "to_delayed"):
        names = tuple(str(name) for name in observational.columns)
        table = FrameOnCluster(tuple(observational.to_delayed()), names, **kept)
    else:
        raise ValueError(
            "the observational table must be a Dask data frame or a path of Parquet files, got "
            f"{type(observational).__name__}."
        )
    return stacking.stack(table, trial, treatment, outcome, covariates, **more)
