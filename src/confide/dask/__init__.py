"""The large table on a Dask cluster (extra `dask`): learnt from where it is, into the same small model."""

from confide.dask.cluster import Cluster
from confide.dask.fitting import fit, stack
from confide.dask.predictions import predict

__all__ = ["Cluster", "fit", "predict", "stack"]
