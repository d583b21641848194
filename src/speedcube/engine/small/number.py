"""The one result of a reduction from its record, where Python's numbers give it at once.

`results.values` gives the same of any records; NumPy's calls cost it ten times as much for one.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...expr.nodes import Reduced
from ...kernel.exact.integers import DIGITS, LEAST
from ...kernel.folds import EXTREMES, KEYED
from ...kernel.program import LIMBS

_LEAST_NORMAL: Final = 2.0**-1022
_MOST: Final = 2**63 - 1
_WORD: Final = struct.Struct("<q")
_AS_FLOAT: Final = struct.Struct("<d").unpack
_GROUP: Final = 8 * LIMBS  # bytes
_ROOT_BITS: Final = 136  # of a square whose root is rounded
_FINITE: Final = 8 * DIGITS  # bytes of a record before the counts of what is not


def number(source: Reduced, record: bytes) -> Any:
    """The result of ``source`` as NumPy's scalar; None where it is none of the usual ones."""
    made = _MADE.get(source.op)
    return None if made is None else made(source, record)


def _extreme(source: Reduced, record: bytes) -> Any:
    (key,) = _WORD.unpack(record)
    _, highest, skips = KEYED[source.op]
    turned = ~key if highest else key
    nan = _MOST if skips else ~_MOST
    if source.dtype == "float64" and source.arg.dtype == "float64" and key != nan:
        bits = turned ^ _MOST if turned < 0 else turned
        return np.float64(_AS_FLOAT(_WORD.pack(bits))[0])
    if source.dtype == "bool":
        return np.bool_(turned)
    return np.int64(turned) if source.dtype == source.arg.dtype == "int64" else None


def _place(source: Reduced, record: bytes) -> Any:
    return np.int64(_WORD.unpack_from(record, 8)[0]) if source.dtype == "int64" else None


def _sum(source: Reduced, record: bytes) -> Any:
    if len(record) == 8:
        return np.int64(_WORD.unpack(record)[0]) if source.dtype == "int64" else None
    return _rounded(source, record, 1)


def _mean(source: Reduced, record: bytes) -> Any:
    return _rounded(source, record, source.count)


def _rounded(source: Reduced, record: bytes, count: int) -> Any:
    """The exact quotient rounded once, by Python's division of integers.

    What has no exponent of a normal number is left: it would be rounded by the processor's mode.
    """
    if source.dtype != "float64" or len(record) != _GROUP or any(record[_FINITE:]) or not count:
        return None
    units, exponent = _exact(record)
    try:
        return _float64(units / count, exponent)
    except OverflowError:
        return None


def _spread(source: Reduced, record: bytes) -> Any:
    """`(sum of squares - square of sum / n) / (n - ddof)`, or its root, rounded once."""
    groups = [record[k : k + _GROUP] for k in range(0, len(record), _GROUP)]
    freedom = source.count - source.ddof
    if source.dtype != "float64" or freedom <= 0 or freedom != int(freedom):
        return None
    if any(any(one[_FINITE:]) for one in groups) or any(any(one) for one in groups[2:]):
        return None
    (first, low), (second, high) = _exact(groups[0]), _exact(groups[1])
    exponent = min(2 * low, high)
    spread = source.count * second << high - exponent
    spread -= first * first << 2 * low - exponent
    divisor = source.count * int(freedom)
    try:
        if source.op == "var":
            return _float64(spread / divisor, exponent)
        return _float64(*_root(spread, divisor, exponent))
    except OverflowError:
        return None


def _root(number: int, divisor: int, exponent: int) -> tuple[int, int]:
    """The root of ``number / divisor * 2**exponent``: so many bits that it can be rounded once."""
    shift = max(0, _ROOT_BITS + divisor.bit_length() - number.bit_length())
    shift += (exponent - shift) & 1
    square, lost = divmod(number << shift, divisor)
    root = math.isqrt(square)
    inexact = lost != 0 or root * root != square
    return 2 * root + inexact, ((exponent - shift) >> 1) - 1


def _exact(group: bytes) -> tuple[int, int]:
    """The integer that ``group`` holds, and the exponent of its unit."""
    last = len(group.rstrip(b"\0")) + 7 >> 3
    first = len(group) - len(group.lstrip(b"\0")) >> 3
    units = 0
    for k in range(last - 1, first - 1, -1):
        units = (units << 32) + _WORD.unpack_from(group, 8 * k)[0]
    return units, 32 * first + LEAST


def _float64(value: float, exponent: int) -> Any:
    """``value * 2**exponent``; None where that is not a normal number, nor zero."""
    made = math.ldexp(value, exponent)
    return np.float64(made) if not value or abs(made) >= _LEAST_NORMAL else None


_MADE: Final[dict[str, Callable[[Reduced, bytes], Any]]] = {
    **dict.fromkeys(EXTREMES, _extreme),
    "argmin": _place,
    "argmax": _place,
    "sum": _sum,
    "mean": _mean,
    "var": _spread,
    "std": _spread,
}
