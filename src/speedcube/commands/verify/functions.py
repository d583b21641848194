"""Expressions to verify, made from the table of operations: a new row of `ops.OPS` has some."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from ... import dtypes
from ...api.array import Array, elementwise
from ...api.sources import asarray
from ...expr import build
from ...ops import OPS, Op
from . import data
from .sources import Make

# The dtypes that the operations of each rule are verified in.
_DTYPES: Final = {
    "same": (*dtypes.FLOATS, "int16", "uint64"),
    "any": (*dtypes.FLOATS, "bool", "uint8", "int64"),
    "float": dtypes.FLOATS,
    "bits": ("bool", "int32", "uint64"),
    "integer": ("uint8", "int64"),
    "compare": (*dtypes.FLOATS, "int64"),
    "logical": ("float64", "bool"),
    "test": dtypes.FLOATS,
    "select": (*dtypes.FLOATS, "int8"),
    "cast": (),
}
_NEITHER: Final = {("power", "int16")}  # negative powers of integers are no integers
_CAST_FROM: Final = (*dtypes.FLOATS, "int64")


def functions() -> dict[str, Make]:
    """Every element-wise operation in its dtypes, over special, wide and moderate values."""
    return {
        f"{op.name}-{dtype}": partial(_applied, op, dtype)
        for op in OPS.values()
        for dtype in _DTYPES[op.rule]
        if (op.name, dtype) not in _NEITHER
    }


def mixed() -> dict[str, Make]:
    """Integers compared where no dtype holds both, and promotion of what differs."""
    sides = {"float32": "float64", "int64": "uint64", "uint8": "int8", "bool": "float32"}
    sides |= {"float16": "int8", "int16": "float16"}
    return {
        f"{op}-{left}-{right}": partial(_of_two, op, left, right)
        for op in ("less", "add")
        for left, right in sides.items()
    }


def casts() -> dict[str, Make]:
    """Conversions, those of NaN and of numbers out of range too."""
    return {
        f"cast-{old}-{new}": partial(_cast, old, new)
        for old in _CAST_FROM
        for new in dtypes.ALL
        if old != new
    }


def bits() -> dict[str, Make]:
    """Floats as the integers that have their bits, and back."""
    return {
        f"bitcast-{old}-{new}": partial(_bitcast, old, new)
        for one, word in (("float64", "int64"), ("float32", "uint32"), ("float16", "int16"))
        for old, new in ((one, word), (word, one))
    }


def _applied(op: Op, dtype: str) -> Array:
    result: Array = elementwise(op.name, *_arguments(op, dtype))
    return result


def _arguments(op: Op, dtype: str) -> Iterator[Any]:
    if op.arity == 1:
        yield data.values(dtype)
        return
    first, second = data.pairs(dtype)
    if op.arity == 3:
        yield data.moderate("bool", len(first))
    yield first
    yield second


def _of_two(op: str, left: str, right: str) -> Array:
    first, second = data.pairs(left)[0], data.pairs(right)[1]
    count = min(len(first), len(second))
    result: Array = elementwise(op, first[:count], second[:count])
    return result


def _cast(old: str, new: str) -> Array:
    return asarray(data.values(old)).astype(new)


def _bitcast(old: str, new: str) -> Array:
    array = asarray(data.values(old))
    array = array * 1.5 if dtypes.is_float(old) else array
    return array._view(build.bitcast(array._expr, new), array._grid)
