"""Chunks that are plain from what was asked for: without ``dask.array``, which takes a second."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from ..late import dask

Chunks: TypeAlias = tuple[tuple[int, ...], ...]


def even_chunks(hint: Any, shape: tuple[int, ...], dtype: str) -> Chunks | None:
    """What Dask's rule gives for one size an axis, or where "auto" is one chunk; else None."""
    if 0 in shape:
        return None
    if type(hint) is str and hint == "auto":
        most = dask.utils.parse_bytes(dask.config.get("array.chunk-size", 1))
        fits = math.prod(shape) * np.dtype(dtype).itemsize < most
        return tuple((n,) for n in shape) if fits else None
    if type(hint) is not tuple or len(hint) != len(shape) or {type(n) for n in hint} != {int}:
        return None
    sizes = [n if c == -1 else min(n, c) for c, n in zip(hint, shape, strict=True)]
    if min(sizes) < 1:
        return None
    return tuple(map(_cut, sizes, shape))


def _cut(size: int, extent: int) -> tuple[int, ...]:
    count, rest = divmod(extent, size)
    return (size,) * count + (rest,) * (rest > 0)
