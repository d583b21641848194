"""Others' values as leaves of an expression: NumPy, CuPy, DLPack, lists, scalars, Dask arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import DTypeError, ShapeError
from ..expr.nodes import Deferred, Leaf, Stored, c_strides
from ..interop.buffers import readable


def leaf_of(value: Any) -> tuple[Leaf, bool]:
    """The leaf that reads ``value`` when it is computed, and whether that is on a GPU."""
    if type(value) is not np.ndarray and hasattr(value, "__dask_graph__"):
        if is_dask_array(value):
            return deferred(value), False
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


def is_dask_array(value: Any) -> bool:
    """Whether ``value`` is an array of Dask's; a Delayed has whatever it is asked for."""
    return hasattr(value, "__dask_graph__") and isinstance(getattr(value, "chunks", None), tuple)


def deferred(collection: Any) -> Leaf:
    """The leaf that reads a Dask array, which Dask computes to memory when it is needed."""
    name = dtypes.check(collection.dtype)
    if any(math.isnan(n) for n in collection.shape):
        raise ShapeError(
            f"a Dask array of unknown shape {collection.shape}; call its "
            "compute_chunk_sizes() first"
        )
    shape = tuple(int(n) for n in collection.shape)
    return Leaf(Deferred(collection, name, shape), shape, 0, c_strides(shape))
