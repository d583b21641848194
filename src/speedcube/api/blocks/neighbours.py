"""Chunks with a border of their neighbours' elements: lazy, of kernels.

A border is read where its elements lie, also beyond the array's ends, so nothing is put together: a
slice of it reads what it needs. Few chunks are slices of the padded array, side by side, which are
read along their lines. Many are one reading at positions, which takes three times as long.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from itertools import accumulate
from typing import Any, Final

import numpy as np

from ...interop.chunks import Chunks
from ..array import Array
from ..indexing.choosing import where
from ..joining import concatenate
from ..namespace.padding import pad
from ..take import take
from .through import called

# By Dask's word for what lies outside: which element of an axis of ``n`` it is.
_OUTSIDE: Final[dict[str, Callable[[Any, int], Any]]] = {
    "none": lambda at, n: at,
    "periodic": lambda at, n: at % n,
    "reflect": lambda at, n: np.where(at < 0, -1 - at, np.where(at < n, at, 2 * n - 1 - at)),
    "nearest": lambda at, n: np.clip(at, 0, n - 1),
}

_PADDED: Final = {"periodic": "wrap", "reflect": "symmetric", "nearest": "edge"}  # NumPy's words
_SHAPED: Final = ("drop_axis", "new_axis")
_OF_DASK: Final = {"name", "token", "dtype", "chunks", "enforce_ndim", "meta", *_SHAPED}
_LONG: Final = 64  # elements of an axis, of a block of zeros
_REGIONS: Final = 64  # of pieces, up to which a whole array of them is not put together first


def as_dask_says(x: Any, depth: Any, boundary: Any) -> tuple[dict[int, Any], dict[int, Any]] | None:
    """The depth and what lies outside of each axis; None for what only Dask knows how to do."""
    from dask.array.overlap import coerce_boundary, coerce_depth

    if not isinstance(x, Array) or isinstance(depth, list) or isinstance(boundary, list):
        return None
    depths, outside = coerce_depth(x.ndim, depth), coerce_boundary(x.ndim, boundary)
    known = all(type(one) is int for one in depths.values()) and any(depths.values())
    known = known and all(_is_known(outside.get(axis, "none"), x.dtype) for axis in range(x.ndim))
    known = known and depths.keys() == set(range(x.ndim)) and 0 not in x.shape
    return (depths, outside) if known else None


def _is_known(boundary: Any, dtype: Any) -> bool:
    if isinstance(boundary, str):
        return boundary in _OUTSIDE
    fits = {"f": (int, float), "i": (int,)}.get(dtype.kind, ())
    return type(boundary) in fits and (dtype.kind != "i" or abs(boundary) < 100)


def with_borders(
    x: Array, depths: dict[int, int], outside: dict[int, Any], allow_rechunk: bool
) -> Array:
    """``x`` with its chunks' borders; the chunks of the result are those with borders."""
    old = _wide_enough(x, depths, allow_rechunk)
    result, chunks = x, []
    few = math.prod(len(sizes) + 2 for sizes in old) <= _REGIONS
    for axis, sizes in enumerate(old):
        depth, boundary = depths[axis], outside.get(axis, "none")
        ends = list(accumulate(sizes))
        spans = [(end - size - depth, end + depth) for end, size in zip(ends, sizes, strict=True)]
        if boundary == "none":
            spans = [(max(first, 0), min(last, ends[-1])) for first, last in spans]
        chunks.append(tuple(last - first for first, last in spans))
        if depth and not (boundary == "none" and len(sizes) == 1):
            if few:
                result = _side_by_side(result, axis, spans, depth, boundary)
                continue
            at = np.concatenate([np.arange(first, last) for first, last in spans])
            result = _read(result, axis, at, boundary)
    return Array(result._expr, gpu=x._gpu, hint=tuple(chunks))


def _wide_enough(x: Array, depths: dict[int, int], allow_rechunk: bool) -> Chunks:
    """The chunks of ``x``, as Dask joins those that are thinner than their border."""
    from dask.array.overlap import ensure_minimum_chunksize

    if allow_rechunk:
        each = zip(depths.values(), x.chunks, strict=True)
        return tuple(ensure_minimum_chunksize(depth, sizes) for depth, sizes in each)
    if any(min(sizes) < depths[axis] for axis, sizes in enumerate(x.chunks)):
        raise ValueError(
            "Overlap depth is larger than smallest chunksize: set allow_rechunk=True to rechunk "
            f"automatically. Depths: {list(depths.values())}, chunks: {x.chunks}"
        )
    return x.chunks


def _side_by_side(
    x: Array, axis: int, spans: list[tuple[int, int]], depth: int, boundary: Any
) -> Array:
    """The ``spans`` of an axis of ``x``, which begin up to ``depth`` before it."""
    before = 0 if boundary == "none" else depth
    if before:
        widths = [(before, before) if k == axis else (0, 0) for k in range(x.ndim)]
        if isinstance(boundary, str):
            x = pad(x, widths, mode=_PADDED[boundary])
        else:
            x = pad(x, widths, mode="constant", constant_values=boundary)
    lead = (slice(None),) * axis
    return concatenate(
        [x[(*lead, slice(first + before, last + before))] for first, last in spans], axis=axis
    )


def _read(x: Array, axis: int, at: Any, boundary: Any) -> Array:
    """``x`` at the places ``at`` of an axis, some of which lie outside."""
    n = x.shape[axis]
    if isinstance(boundary, str):
        return take(x, _OUTSIDE[boundary](at, n), axis=axis)
    inside = ((at >= 0) & (at < n)).reshape((-1,) + (1,) * (x.ndim - 1 - axis))
    values = take(x, np.clip(at, 0, n - 1), axis=axis)
    result: Array = where(inside, values, np.asarray(boundary, x.dtype))
    return result


def of_neighbours(
    func: Any,
    *args: Any,
    depth: Any = None,
    boundary: Any = None,
    trim: bool = True,
    align_arrays: bool = True,
    allow_rechunk: bool = True,
    **kwargs: Any,
) -> Any:
    """`map_overlap` of one array, whose blocks a kernel makes with their borders; else None.

    Also of several with the same blocks, if the borders stay.
    """
    if callable(args[0] if isinstance(func, Array) and args else None):
        func, args = args[0], (func, *args[1:])
    changed = any(kwargs.get(name) is not None for name in _SHAPED)
    if not callable(func) or changed or (len(args) != 1 and trim):
        return None
    each = [as_dask_says(one, depth, boundary) for one in args]
    if not each or None in each or len({one.chunks for one in args}) > 1:
        return None
    wide = [with_borders(x, *one, allow_rechunk) for x, one in zip(args, each, strict=True) if one]
    if trim:
        return called("map_overlap", _trimmed, func, wide[0], each[0], kwargs)
    if kwargs.get("chunks") is None and _keeps_borders(func, wide, kwargs):
        return called("map_overlap", _mapped, func, wide, kwargs)
    return None


def _keeps_borders(func: Any, wide: list[Array], kwargs: dict[str, Any]) -> bool:
    """Whether ``func`` gives blocks as long as it takes, seen from zeros: Dask asks nobody.

    Many cut the border off themselves: what they give has the chunks of the array.
    """
    shape = tuple(min(sizes[0], _LONG) for sizes in wide[0].chunks)
    others = {name: one for name, one in kwargs.items() if name not in _OF_DASK}
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            found = func(*(np.zeros(shape, one.dtype) for one in wide), **others)
    except Exception:  # whatever people's functions raise of zeros
        return False
    return getattr(found, "shape", None) == shape


def _mapped(func: Any, wide: Any, kwargs: Any) -> Any:
    from dask.array import map_blocks

    return map_blocks(func, *wide, **kwargs)


def _trimmed(func: Any, wide: Any, each: Any, kwargs: Any) -> Any:
    from dask.array import map_blocks
    from dask.array.overlap import trim_internal

    return trim_internal(map_blocks(func, wide, **kwargs), *each)
