"""Chunk grids for those who want them: Dask's own normalisation, asked for lazily.

A hint is what the user wrote as ``chunks=``; views carry it along the axes they keep. The engine
never reads it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

Hint: TypeAlias = Any


def chunks_of(shape: tuple[int, ...], dtype: np.dtype[Any], hint: Hint) -> tuple[Any, ...]:
    """The grid of ``shape`` under ``hint``, as ``dask.array.core.normalize_chunks`` gives it."""
    from dask.array.core import normalize_chunks

    return tuple(normalize_chunks("auto" if hint is None else hint, shape, dtype=dtype))


def hint_after(hint: Hint, shape: tuple[int, ...], item: Any) -> Hint:
    """The hint of a sliced array: Dask slices each axis's chunks."""
    if hint is None:
        return None
    from dask.array.core import normalize_chunks
    from dask.array.slicing import normalize_index, slice_array

    chunks = normalize_chunks(hint, shape, dtype=np.float64)
    index = normalize_index(item, shape)
    _, sliced = slice_array("y", "x", chunks, index)[:2]
    return tuple(sliced)
