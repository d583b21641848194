"""Stored data to verify with: exact patterns of bits, the same on every machine.

NumPy's generators are not asked, for their streams may change; nothing here is rounded but numbers
written in decimal, which are rounded once when they are read.
"""

from __future__ import annotations

import itertools
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import dtypes

Array: TypeAlias = NDArray[Any]

# Sizes at which functions turn, overflow, or leave a table.
_LANDMARKS: Final = (
    0.0, 0.25, 0.3, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 3.141592653589793,
    1.5707963267948966, 10.0, 16.5, 22.0, 88.7, 104.0, 170.6, 709.7, 745.1, 32768.0,
)  # fmt: skip
# Fields of a float: bits of the mantissa, largest biased exponent of a finite number.
_FIELDS: Final = {"float16": (10, 30), "float32": (23, 254), "float64": (52, 2046)}


def words(count: int, size: int, seed: int = 0) -> Array:
    """``count`` unsigned integers of ``size`` bytes: SplitMix64 (Steele, Lea & Flood 2014)."""
    z = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(
        0x9E3779B97F4A7C15
    )
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).astype(f"u{size}")


def floats(dtype: str, low: int, high: int, count: int, seed: int = 0) -> Array:
    """Floats of both signs, of all mantissas, and of exponents ``low`` to ``high`` (biased)."""
    bits, _ = _FIELDS[dtype]
    size = dtypes.itemsize(dtype)
    word = np.dtype(f"u{size}").type
    raw = words(count, size, seed)
    exponent = low + words(count, 8, seed + 1) % np.uint64(high - low + 1)
    sign_and_mantissa = raw & word(1 << (8 * size - 1) | (1 << bits) - 1)
    return np.asarray(sign_and_mantissa | exponent.astype(word) << word(bits)).view(dtype)


def moderate(dtype: str, count: int, seed: int = 0) -> Array:
    """Floats of sizes 2**-8 to 2**10, integers of all sizes, booleans."""
    if dtypes.is_float(dtype):
        half = _FIELDS[dtype][1] // 2
        return floats(dtype, half - 8, half + 9, count, seed)
    raw = words(count, dtypes.itemsize(dtype), seed)
    return (raw & raw.dtype.type(1)).astype(dtype) if dtype == "bool" else raw.view(dtype)


def wide(dtype: str, count: int, seed: int = 0) -> Array:
    """Finite floats of every size, subnormals too; integers and booleans as `moderate`."""
    if dtypes.is_float(dtype):
        return floats(dtype, 0, _FIELDS[dtype][1], count, seed)
    return moderate(dtype, count, seed)


@cache
def special(dtype: str) -> Array:
    """Ends, edges and landmarks of ``dtype``."""
    if dtype == "bool":
        return np.array([False, True])
    if dtypes.is_integer(dtype):
        limits = np.iinfo(dtype)
        near = [v for v in (-7, -3, -2, -1, 0, 1, 2, 3, 7, 8, 31, 63, 64) if v >= limits.min]
        return np.array([limits.min, limits.min + 1, *near, limits.max - 1, limits.max], dtype)
    bits, top = _FIELDS[dtype]
    one = (top // 2) << bits
    ends = [1, (1 << bits) - 1, 1 << bits, (top + 1 << bits) - 1, top + 1 << bits]
    edges = [*ends, one - 1, one + 1, (top // 4) << bits, (3 * top // 4) << bits, (top - 1) << bits]
    sizes = np.concatenate(
        [np.array(edges, f"u{dtypes.itemsize(dtype)}").view(dtype), np.array(_LANDMARKS, dtype)]
    )
    return np.concatenate([sizes, -sizes, np.array([np.nan], dtype)])


@cache
def values(dtype: str) -> Array:
    """Special values, wide ones, moderate ones: the argument of functions of one."""
    return np.concatenate([special(dtype), wide(dtype, 1500, 3), moderate(dtype, 1500, 4)])


@cache
def pairs(dtype: str) -> tuple[Array, Array]:
    """Every pair of special values, then wide and moderate ones: arguments of functions of two."""
    ends = special(dtype)
    first, second = (np.array(side, dtype) for side in zip(*itertools.product(ends, ends)))  # noqa: B905
    more = [np.concatenate([wide(dtype, 1500, k), moderate(dtype, 1500, k + 10)]) for k in (5, 6)]
    return np.concatenate([first, more[0]]), np.concatenate([second, more[1]])
