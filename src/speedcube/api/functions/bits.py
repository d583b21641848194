"""Bits of integers: how many are set, and eight bool to a byte."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError
from ...expr import build
from ...expr.graph import below_up_to
from ...expr.nodes import Const, Leaf, Map, Stored
from ...expr.routines.row import called
from ...expr.routines.table import ROUTINES
from ..array import Array, array_of, elementwise
from ..methods.keywords import axis_of
from ..namespace.padding import pad
from ..sources import asarray
from .differences import along
from .ufuncs import documented, unary

_ORDERS: Final = ("big", "little")


def _count(x: Any) -> Array:
    """Set bits by adding neighbours: pairs, then fours, then bytes by one multiplication."""
    array = array_of(x)
    name = array._expr.dtype
    if name == "bool":
        return array.astype("uint8")
    if not dtypes.is_integer(name):
        raise DTypeError(f"bitwise_count takes integers; got {name}")
    if name in dtypes.SIGNED:  # of the absolute value; of the least number that is its own bits
        array = elementwise("absolute", array)
    width = 8 * array.itemsize
    word: Array = array.astype("uint64" if width == 64 else "uint32")
    if width < 32:
        word = word & (1 << width) - 1
    ones = 64 if width == 64 else 32
    odd, two, four, one = (int(pattern * (ones // 8), 16) for pattern in ("55", "33", "0F", "01"))
    word = word - ((word >> 1) & odd)
    word = (word & two) + ((word >> 2) & two)
    word = (word + (word >> 4)) & four
    word = (word * one) >> (ones - 8)
    return word.astype("uint8")


bitwise_count = unary(
    "bitwise_count",
    _count,
    documented(
        "How many bits of the absolute value are set.",
        1,
        "sc.bitwise_count([0, 7, -8]) -> array([0, 3, 1], dtype=uint8)",
    ),
)


def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Array:
    """Eight elements to a byte, a bit each: whether they are not 0; zeros fill the last.

    Parameters
    ----------
    a : array_like
        Integers or bool.
    axis : int, optional
        Along which; all elements in C order by default.
    bitorder : str
        "big": the first element is the highest bit; "little": the lowest.

    Returns
    -------
    Array
        uint8, an eighth as long.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.packbits([1, 0, 1, 0, 0, 0, 0, 1, 1]).compute()
    array([161, 128], dtype=uint8)
    """
    array, k = _line(a, axis, bitorder)
    if array.dtype != bool and not dtypes.is_integer(array._expr.dtype):
        raise DTypeError(f"packbits takes integers or bool; got {array.dtype}")
    if _by_numpy(array, k):
        return _moved("packbits", array, -(-array.shape[k] // 8), bitorder)
    rest = -array.shape[k] % 8
    bits = array.astype(bool)
    if rest:
        bits = pad(bits, [(0, rest if j == k else 0) for j in range(array.ndim)])
    packed: Array | None = None
    for place in range(8):
        shift = place if bitorder == "little" else 7 - place
        bit = along(bits, k, slice(place, None, 8)).astype("uint8") << shift
        packed = bit if packed is None else packed | bit
    assert packed is not None
    return packed


_MOST: Final = 1 << 24  # elements that are put into memory for it
_FEW: Final = 32  # nodes that are looked at


def _by_numpy(array: Array, k: int) -> bool:
    """Whether NumPy's function makes it in less time than a kernel: of few bytes at hand."""
    if k < array.ndim - 1 or not 0 < array.size <= _MOST or array._gpu:
        return False
    return all(map(_at_hand, below_up_to((array._expr,), _FEW) or (None,)))


def _at_hand(node: Any) -> bool:
    """Whether ``node`` is element by element of what lies in host memory."""
    if isinstance(node, Map):
        return True
    source = node.source if isinstance(node, Leaf) else None
    at_hand = isinstance(source, Stored) and not source.on_device
    return at_hand or isinstance(source, (Const, Map, Leaf))


def _moved(name: str, array: Array, length: int, bitorder: str) -> Array:
    """What NumPy's function ``name`` makes of the last axis, which is ``length`` long then."""
    shape = (*array.shape[:-1], length)
    return Array(called(ROUTINES[name], [array._expr], [shape], "uint8", (bitorder,))[0])


def unpackbits(
    a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """The bits of bytes, an element each.

    Parameters
    ----------
    a : array_like
        uint8.
    axis : int, optional
        Along which; all elements in C order by default.
    count : int, optional
        How many are given; below 0, how many are left out at the end.
    bitorder : str
        "big": the highest bit comes first; "little": the lowest.

    Returns
    -------
    Array
        uint8, 0 or 1, eight times as long.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.unpackbits(sc.asarray([161, 128], dtype="uint8"), count=9).compute()
    array([1, 0, 1, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    array, k = _line(a, axis, bitorder)
    if array.dtype != np.uint8:
        raise DTypeError(f"unpackbits takes uint8; got {array.dtype}")
    if _by_numpy(array, k):
        line = _moved("unpackbits", array, 8 * array.shape[k], bitorder)
    else:
        line = _apart(array, k, bitorder)
    if count is None:
        return line
    wanted = build.check_integer("count", count)
    have = line.shape[k]
    if wanted < -have:
        raise ParameterError(
            f"unpackbits: count={count} would leave out more than the {have} bits there are"
        )
    if wanted > have:
        return pad(line, [(0, wanted - have if j == k else 0) for j in range(line.ndim)])
    return along(line, k, slice(0, wanted if wanted >= 0 else have + wanted))


def _apart(array: Array, k: int, bitorder: str) -> Array:
    """The bits of the bytes along axis ``k``, by shifts."""
    places = asarray(np.arange(8, dtype="uint8"))
    shifts = places if bitorder == "little" else 7 - places
    shape = (*array.shape[: k + 1], 8, *array.shape[k + 1 :])
    byte = array.reshape(*shape[: k + 1], 1, *shape[k + 2 :])
    bits = (byte >> shifts.reshape(8, *(1 for _ in shape[k + 2 :]))) & 1
    line: Array = bits.reshape(*shape[:k], shape[k] * 8, *shape[k + 2 :])
    return line


def _line(a: Any, axis: int | None, bitorder: str) -> tuple[Array, int]:
    if bitorder not in _ORDERS:
        raise ParameterError(f"bitorder is 'big' or 'little', not {bitorder!r}")
    array = array_of(a)
    if axis_of(array, axis) is None:
        return array.reshape(-1), 0
    return array, build.check_axis(axis, array.ndim)
