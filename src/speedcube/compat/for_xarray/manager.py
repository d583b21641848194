"""The manager of chunks by which xarray computes, stores and cuts our arrays.

xarray loads it where it first meets an array with chunks. Dask's stays its default:
``xr.open_zarr(path, chunked_array_type="speedcube", chunks={})``, ``ds.chunk(...,
chunked_array_type="speedcube")`` and ``xr.DataArray(array)`` make xarray's objects of our arrays.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from xarray.namedarray.parallelcompat import ChunkManagerEntrypoint

from ...api.array import Array
from ...api.blocks import (
    apply_gufunc,
    blockwise,
    map_blocks,
    reduction,
    shuffle,
    unify_chunks,
)
from ...api.blocks.through import called
from ...api.files.opening import of_sliceable, of_zarr
from ...api.files.storing import store
from ...api.sources import asarray
from ...api.together import compute, persist
from ...dtypes import check
from ...errors import DTypeError
from .adapters import stored_array
from .teaching import teach


class SpeedcubeManager(ChunkManagerEntrypoint):
    """What xarray asks of a library whose arrays have chunks."""

    array_cls = Array

    def __init__(self) -> None:
        """Everything is known without."""

    @property
    def array_api(self) -> Any:
        """The module with functions of arrays: ``speedcube``."""
        return sys.modules["speedcube"]

    def chunks(self, data: Array) -> tuple[tuple[int, ...], ...]:
        """The grid of ``data``."""
        return data.chunks

    def normalize_chunks(
        self,
        chunks: Any,
        shape: tuple[int, ...] | None = None,
        limit: int | None = None,
        dtype: Any = None,
        previous_chunks: Any = None,
    ) -> tuple[tuple[int, ...], ...]:
        """The sizes of the chunks along each axis, as Dask has them."""
        from dask.array.core import normalize_chunks

        grid: tuple[tuple[int, ...], ...] = normalize_chunks(
            chunks, shape, limit=limit, dtype=dtype, previous_chunks=previous_chunks
        )
        return grid

    def from_array(self, data: Any, chunks: Any, **kwargs: Any) -> Any:
        """The array that reads ``data`` a box at a time; what is no number is NumPy's at once."""
        try:
            check(data.dtype)
        except DTypeError:  # of times and texts
            return np.asarray(data)
        if isinstance(data, np.ndarray):
            return asarray(data, chunks=_grid(chunks, data.shape))
        source, stored = stored_array(data)
        grid = _grid(chunks, data.shape)
        if source is data:
            return of_sliceable(data, grid, "variable", stored)
        return of_zarr(source, grid, f"zarr {source.name or source.store_path}")

    def rechunk(self, data: Array, chunks: Any, **kwargs: Any) -> Array:
        """Another grid; nothing is moved for it."""
        return data.rechunk(_grid(chunks, data.shape))

    def compute(self, *data: Any, **kwargs: Any) -> tuple[Any, ...]:
        """All values, by one plan; each an array of NumPy's, also without axes."""
        return tuple(
            np.asarray(value) if isinstance(one, Array) else value
            for one, value in zip(data, compute(*data, **kwargs), strict=True)
        )

    def persist(self, *data: Any, **kwargs: Any) -> tuple[Any, ...]:
        """All values, in memory, as arrays of ours."""
        return persist(*data, **kwargs)

    def reduction(
        self,
        arr: Array,
        func: Any,
        combine_func: Any = None,
        aggregate_func: Any = None,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
    ) -> Any:
        """A function of blocks, and one that puts their results together."""
        return reduction(
            *(arr, func, aggregate_func),
            combine=combine_func,
            axis=axis,
            dtype=dtype,
            keepdims=keepdims,
        )

    def scan(
        self,
        func: Any,
        binop: Any,
        ident: float,
        arr: Array,
        axis: int | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> Any:
        """A running function along an axis, of blocks."""
        from dask.array.reductions import cumreduction

        options = {"axis": axis, "dtype": dtype, **kwargs}
        return called("scan", cumreduction, func, binop, ident, arr, **options)

    def apply_gufunc(self, func: Any, signature: str, *args: Any, **kwargs: Any) -> Any:
        """A function of the axes that ``signature`` names, over blocks of the others."""
        return apply_gufunc(func, signature, *args, **kwargs)

    def map_blocks(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """A function of each block."""
        return map_blocks(func, *args, **kwargs)

    def blockwise(self, func: Any, out_ind: Any, *args: Any, **kwargs: Any) -> Any:
        """A function of blocks, by their indices."""
        return blockwise(func, out_ind, *args, **kwargs)

    def unify_chunks(self, *args: Any, **kwargs: Any) -> tuple[dict[Any, Any], list[Any]]:
        """Arrays cut alike."""
        return unify_chunks(*args, **kwargs)

    def shuffle(self, x: Array, indexer: Any, axis: int, chunks: Any = None) -> Array:
        """Elements along an axis put in groups."""
        return shuffle(x, indexer, axis, "auto" if chunks is None else chunks)

    def store(self, sources: Any, targets: Any, **kwargs: Any) -> Any:
        """Write arrays into what is assigned to by slices: Zarr's arrays, NetCDF's variables."""
        kwargs.pop("flush", None)  # an option for Dask, which would leave all to Dask
        if kwargs.get("compute", True):
            return store(sources, targets, **kwargs)
        import dask.array

        return dask.array.store([one.to_dask_array() for one in sources], targets, **kwargs)

    def get_auto_chunk_size(self) -> int:
        """Bytes of a chunk where xarray chooses."""
        import dask
        from dask.utils import parse_bytes

        return int(parse_bytes(dask.config.get("array.chunk-size")))


def _grid(chunks: Any, shape: Sequence[int]) -> Any:
    """``chunks`` as ours: of xarray, a dictionary or a tuple may hold None, or a number of axes."""
    if 0 in shape:
        return -1
    return chunks


teach()
