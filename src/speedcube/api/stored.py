"""Values in memory as leaves of an expression: NumPy, CuPy, DLPack, lists and scalars."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..errors import DTypeError
from ..expr.nodes import Leaf, Stored
from ..interop.buffers import readable


def leaf_of(value: Any) -> tuple[Leaf, bool]:
    """The leaf that reads ``value`` when it is computed, and whether that is on a GPU."""
    if type(value) is not np.ndarray and hasattr(value, "__dask_graph__"):
        if isinstance(getattr(value, "chunks", None), tuple):  # a Delayed has what it is asked for
            raise DTypeError("this is a Dask array; use speedcube.from_dask_array")
        raise DTypeError(
            f"this {type(value).__name__} is a Dask collection and no array; compute it first, and "
            "give speedcube.asarray the values"
        )
    buffer = readable(value)
    name = dtypes.check(buffer.dtype)
    size = buffer.itemsize
    strides = tuple([step // size for step in buffer.strides])
    leaf = Leaf(Stored(buffer, name), tuple(buffer.shape), 0, strides)
    on_gpu = type(buffer) is not np.ndarray
    return leaf, on_gpu and hasattr(type(buffer), "__cuda_array_interface__")
