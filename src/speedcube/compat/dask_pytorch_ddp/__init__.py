"""The successor of dask-pytorch-ddp: its programs run with one import line changed.

``from speedcube.compat.dask_pytorch_ddp import dispatch, results, data``. New programs have more
from `speedcube.train`. docs/dask-pytorch-ddp.md says what differs.
"""

from . import data, dispatch, results

__all__ = ["data", "dispatch", "results"]
