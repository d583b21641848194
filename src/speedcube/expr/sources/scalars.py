"""Python's numbers as what they are beside arrays: constants of the dtype that is computed in."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np

from ... import dtypes
from ...errors import RangeError
from ..nodes import Const, Leaf, Shape, const

Scalar: TypeAlias = bool | int | float
EXACT: Final = 2**53  # up to it integers are doubles


def integer(value: int, shape: Shape, dtype: str) -> Leaf:
    """A number of few bits among int64, for results of ``dtype``: bool where it is compared."""
    return (_comparable if dtype == "bool" else _shared)(value, "int64", shape)


def double(value: Scalar, shape: Shape) -> Leaf:
    """A number that a double is, everywhere."""
    return Leaf(Const(value, "float64"), shape, 0, (0,) * len(shape))


@lru_cache
def limits(dtype: str) -> tuple[int, int]:
    """The least and the most of an integer dtype."""
    ends = np.iinfo(dtype)
    return int(ends.min), int(ends.max)


def compared(value: Scalar, dtype: str, shape: Shape) -> Leaf:
    """A scalar that compares with elements of ``dtype`` as its exact value does."""
    share = type(value) is int and not dtypes.is_float(dtype)
    return (_comparable if share else _exactly)(value, dtype, shape)


def _exactly(value: Scalar, dtype: str, shape: Shape) -> Leaf:
    endless = math.inf if value > 0 else -math.inf
    if not isinstance(value, int) or dtypes.is_float(dtype) or dtype == "bool":
        return scalar(value if _is_double(value) else endless, dtype, shape)
    for name in (dtype, "int64", "uint64"):
        least, most = limits(name)
        if least <= value <= most:
            return const(int(value), name, shape)
    return const(endless, "float64", shape)


# The same whole number again is the same leaf, so that a loop's steps share it.
_comparable = lru_cache(maxsize=1024)(_exactly)


def _is_double(value: Scalar) -> bool:
    try:
        float(value)
    except OverflowError:
        return False
    return True


def scalar(value: Scalar, dtype: str, shape: Shape) -> Leaf:
    """A number in ``dtype``, or in float64 where it is none of its integers."""
    share = type(value) is int and not dtypes.is_float(dtype)
    return (_shared if share else _one)(value, dtype, shape)


def _one(value: Scalar, dtype: str, shape: Shape) -> Leaf:
    kind = type(value)
    if dtype == "float64" and (kind is float or (kind is int and abs(value) < EXACT)):  # as often
        return Leaf(Const(value, dtype), shape, 0, (0,) * len(shape))
    if dtypes.is_integer(dtype) and isinstance(value, float):
        dtype = "float64"
    if dtypes.is_float(dtype) and not _is_double(value):
        raise RangeError(f"an integer of {int(value).bit_length()} bits does not fit {dtype}")
    return const(bool(value) if dtype == "bool" else value, dtype, shape)


_shared = lru_cache(maxsize=1024)(_one)
