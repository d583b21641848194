"""What xarray wraps arrays of files in, to read them later; and what they are without."""

from __future__ import annotations

from typing import Any

import numpy as np
from xarray.core.indexing import (
    CopyOnWriteArray,
    ImplicitToExplicitIndexingAdapter,
    LazilyIndexedArray,
    MemoryCachedArray,
)

_AS_IT_IS = (CopyOnWriteArray, ImplicitToExplicitIndexingAdapter, MemoryCachedArray)


def stored_array(data: Any) -> tuple[Any, tuple[int, ...] | None]:
    """What to read for ``data``, and the chunks it is stored in; None where nobody knows.

    An array of Zarr is read directly where xarray changes neither its elements nor which they are.
    """
    inner, same = data, True
    while hasattr(inner, "array"):
        if isinstance(inner, LazilyIndexedArray):
            if not _takes_all(inner):
                return data, None
        elif not isinstance(inner, _AS_IT_IS) and not _masks_nan(inner):
            same = False  # as it scales numbers, or masks some
        inner = inner.array
    stored = inner.get_array() if hasattr(inner, "get_array") else inner
    if getattr(stored, "shape", None) != data.shape:
        return data, None
    chunks = getattr(stored, "chunks", None)
    if not isinstance(chunks, tuple) or not all(isinstance(n, int) for n in chunks):
        chunks = None
    direct = same and type(inner).__name__ == "ZarrArrayWrapper" and stored.dtype == data.dtype
    return stored if direct else data, chunks


def _masks_nan(array: Any) -> bool:
    """Whether ``array`` puts NaN where what it wraps has NaN, as xarray does of Zarr's format 2."""
    told: Any = getattr(getattr(array, "func", None), "keywords", {})
    masked, by = told.get("encoded_fill_values"), told.get("decoded_fill_value")
    if set(told) != {"encoded_fill_values", "decoded_fill_value", "dtype"} or not masked:
        return False
    same = array.dtype == array.array.dtype and array.dtype.kind == "f"
    fills = (*masked, by)
    return same and all(isinstance(one, float | np.floating) and one != one for one in fills)


def _takes_all(array: Any) -> bool:
    """Whether ``array`` has all elements of what it wraps, in their order."""
    whole = zip(array.key.tuple, array.array.shape, strict=True)
    return all(isinstance(k, slice) and k.indices(n) == (0, n, 1) for k, n in whole)
