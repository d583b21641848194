"""Bins that values fall into: sums that are exact, least and greatest values, in any order."""

from __future__ import annotations

from typing import Final

import numpy as np

from ... import dtypes
from ...engine.ordering.at_once import added_at_once
from ...expr.nodes import Const, Leaf
from ...expr.through import ordering
from ..array import Array
from ..elementwise import maximum, minimum, where
from ..joining import concatenate
from ..namespace.ranges import arange
from ..sources import asarray

OPS: Final = ("add", "min", "max")


def scattered(op: str, place: Array, values: Array, length: int, dtype: str) -> Array:
    """``op`` of the ``values`` at each place below ``length``, for those that have one.

    Else 0, or what no other value is above or below. ``place`` and ``values`` have one axis.
    """
    if op == "add" and dtypes.is_float(dtype):
        return _made("weigh", place, values.astype("float64"), length, "float64").astype(dtype)
    word = dtypes.is_integer(dtype) and op == "add"
    kind = ("uint64" if dtype.startswith("u") else "int64") if word else dtype
    return _made(f"scatter_{op}", place, values.astype(kind), length, kind).astype(dtype)


def _made(op: str, place: Array, values: Array, length: int, dtype: str) -> Array:
    args = [place._expr, values._expr]
    return Array(ordering.counts(op, args, length, dtype), gpu=place._gpu or values._gpu)


def added_now(x: Array, place: Array, values: Array) -> Array | None:
    """``x``, of one axis, with ``values`` added at their places, made by the one reading of these.

    None where that is not enough: a place is not in ``x``, or something is not in memory here.
    """
    taken = dtypes.is_float(str(x.dtype)) or str(x.dtype) == str(place.dtype) == "int64"
    if not taken or not _is_zero(x) or x._gpu or place._gpu or values._gpu:
        return None
    sums = added_at_once(place._expr, values._expr, x.shape[0])
    return None if sums is None else asarray(sums.astype(x.dtype, copy=False))


def onto(op: str, x: Array, place: Array, values: Array) -> Array:
    """``x``, of one axis, after ``op`` of ``values`` at each ``place``; floats are rounded once."""
    length, dtype = x.shape[0], str(x.dtype)
    if op != "add":
        held = scattered(op, place, values, length, dtype)
        return minimum(x, held) if op == "min" else maximum(x, held)
    if not dtypes.is_float(dtype):
        total: Array = x + scattered(op, place, values, length, dtype)
        return total
    if _is_zero(x):
        return scattered(op, place, values, length, dtype)
    everywhere = concatenate([place, arange(length, dtype="int64")])
    terms = concatenate([values.astype("float64"), x.astype("float64")])
    sums = scattered(op, everywhere, terms, length, dtype)
    return where(sums == x, x, sums)  # a zero to which nothing is added keeps its sign


def _is_zero(x: Array) -> bool:
    source = x._expr.source if isinstance(x._expr, Leaf) else None
    return isinstance(source, Const) and source.value == 0 and not np.signbit(source.value)
