"""Products, running products and running sums as they are defined, with NumPy: the right answer.

A product is a balanced tree over the places of the elements, fixed whoever computes which part.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .nodes import Scanned

Array: TypeAlias = NDArray[Any]

PIECE: Final = 1024  # elements of a running product that are multiplied one after the other


def product(line: Array) -> Any:
    """The product of ``line``: neighbours first, then the products of neighbours, and so on."""
    with np.errstate(all="ignore"):
        while len(line) > 1:
            if len(line) % 2:
                line = np.append(line, line.dtype.type(1))
            line = line[::2] * line[1::2]
    return one_nan(line[0])[()] if len(line) else line.dtype.type(1)


def running_products(line: Array) -> Array:
    """Each element's product with all before: of whole pieces, times those in its own piece."""
    products = np.empty_like(line)
    with np.errstate(all="ignore"):
        for k in range(0, len(line), PIECE):
            inside = np.multiply.accumulate(line[k : k + PIECE])
            products[k : k + PIECE] = product(line[:k]) * inside
    return products


def running_sums(line: Array, dtype: str, odd: bool = False) -> Array:
    """Each element's exact sum with all before, rounded once (``odd``: to odd); integers wrap."""
    if line.dtype.kind != "f":
        return np.cumsum(line, dtype=dtype)
    sums, total, special = [], 0, 0.0
    for value in line.tolist():
        if math.isfinite(value):
            total += _units(value)
        else:
            special += value
        sums.append(special if special != 0.0 else _rounded(total, dtype, odd))
    return np.array(sums, dtype)


_UNIT: Final = 1 << 1074  # how many of the least double make 1


def _units(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return numerator * (_UNIT // denominator)


def _rounded(units: int, dtype: str, odd: bool) -> Any:
    """``units`` of ``2**-1074`` as the nearest ``dtype``, ties to even; ``odd``: rounded to odd."""
    try:
        near = units / _UNIT  # Python rounds the quotient once
    except OverflowError:
        return math.inf if units > 0 else -math.inf
    if (odd or dtype != "float64") and _units(near) != units:
        other = math.nextafter(near, math.inf if units > _units(near) else -math.inf)
        near = next(x for x in (near, other) if np.float64(x).view(np.uint64) & 1)
    with np.errstate(all="ignore"):
        return np.dtype(dtype).type(near)


def scanned(source: Scanned, arg: Array) -> Array:
    """The results of ``source``, whose elements are ``arg``."""
    outer = source.arg.shape[: source.axes[0]]
    inner = source.shape[source.axis + 1 :]
    lines = np.moveaxis(arg.reshape(*outer, source.count, *inner), source.axis, -1)
    filled = np.full(source.shape, 0 if source.op == "cumsum" else 1, source.dtype)
    results = np.moveaxis(filled, source.axis, -1)
    for at in np.ndindex(results.shape[:-1]):
        if source.op == "cumsum":
            each = running_sums(lines[at], source.dtype, source.odd)
        else:
            each = running_products(lines[at])
        with np.errstate(all="ignore"):
            results[at][int(source.initial) :] = each
    return np.asarray(one_nan(filled))


def one_nan(values: Any) -> Any:
    """``values`` with NumPy's NaN, whose sign processors choose."""
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), values.dtype.type(np.nan), values)
