"""Others' values as leaves of an expression: NumPy, CuPy, DLPack, lists, scalars, Dask arrays."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from .. import dtypes
from ..errors import DTypeError, ShapeError
from ..expr import views
from ..expr.nodes import Deferred, Expr, Leaf, Stored, c_strides, is_whole
from ..expr.pairs.node import of_pairs_in, pair
from ..interop.buffers import MASKED, readable

_FEW: Final = 1 << 16  # elements in memory that are looked at where they lie
_PLAIN: Final = frozenset((list, tuple, bool, int, float))  # whose memory is made here


def leaf_of(value: Any, ours: bool = False) -> tuple[Expr, bool]:
    """The leaf that reads ``value`` when it is computed, and whether that is on a GPU.

    Of complex numbers it is a pair of leaves that read the parts in place. ``ours``: the memory was
    made here, as that of lists is.
    """
    if type(value) is not np.ndarray and hasattr(value, "__dask_graph__"):
        if is_dask_array(value):
            return deferred(value), False
        raise DTypeError(
            f"this {type(value).__name__} is a Dask collection but not an array; compute it first, "
            "and give speedcube.asarray the values"
        )
    buffer = readable(value)
    name = dtypes.check(buffer.dtype)
    if name in dtypes.COMPLEX:
        expr, on_gpu = leaf_of(_as_parts(buffer), ours)
        return pair_of(expr), on_gpu
    size = buffer.itemsize
    strides = tuple([step // size for step in buffer.strides])
    leaf = Leaf(
        Stored(buffer, name, ours or type(value) in _PLAIN), tuple(buffer.shape), 0, strides
    )
    on_gpu = type(buffer) is not np.ndarray
    return leaf, on_gpu and hasattr(type(buffer), "__cuda_array_interface__")


def _as_parts(buffer: Any) -> Any:
    """The same memory as real numbers, with one more axis: the parts of each."""
    step = buffer.itemsize // 2
    shape, strides = (*buffer.shape, 2), (*buffer.strides, step)
    if type(buffer) is np.ndarray or isinstance(buffer, np.ndarray):
        return np.lib.stride_tricks.as_strided(buffer.real, shape, strides)
    return type(buffer)(shape, buffer.real.dtype, buffer.data, strides)  # CuPy's


def pair_of(expr: Expr) -> Expr:
    """The complex numbers whose parts lie along the last axis."""
    if type(expr) is Leaf:  # as nearly always
        return of_pairs_in(expr)
    return pair(views.index(expr, (..., 0)), views.index(expr, (..., 1)))


def is_dask_array(value: Any) -> bool:
    """Whether ``value`` is an array of Dask's; a Delayed has whatever it is asked for."""
    return hasattr(value, "__dask_graph__") and isinstance(getattr(value, "chunks", None), tuple)


def deferred(collection: Any) -> Expr:
    """The leaf that reads a Dask array, which Dask computes to memory when it is needed."""
    name = dtypes.check(collection.dtype)
    if isinstance(getattr(collection, "_meta", None), np.ma.MaskedArray):
        raise DTypeError(MASKED)
    if any(math.isnan(n) for n in collection.shape):
        raise ShapeError(
            f"a Dask array of unknown shape {collection.shape}; call its "
            "compute_chunk_sizes() first"
        )
    shape = tuple(int(n) for n in collection.shape)
    if name in dtypes.COMPLEX:
        part = np.dtype(dtypes.PARTS[name])
        both = collection[..., None].map_blocks(
            _block_as_parts, dtype=part, chunks=(*collection.chunks, (2,))
        )
        return pair_of(deferred(both))
    return Leaf(Deferred(collection, name, shape), shape, 0, c_strides(shape))


def _block_as_parts(block: Any) -> Any:
    """A block with an axis of one element at its end, as its parts along that axis."""
    return _as_parts(block[..., 0]).copy()


def few_in_memory(root: Expr) -> Any:
    """The array of NumPy's that ``root`` is, where that is of a few elements; else None."""
    array = in_order(root)
    return array if array is not None and array.size <= _FEW else None


def in_order(root: Expr) -> Any:
    """The array of NumPy's that ``root`` is, which lies in C order; else None."""
    source = root.source if type(root) is Leaf else None
    if type(source) is not Stored or type(source.buffer) is not np.ndarray:
        return None
    array = source.buffer
    lies = array.flags.c_contiguous and array.shape == root.shape
    return array if lies and is_whole(root) else None  # type: ignore[arg-type]
