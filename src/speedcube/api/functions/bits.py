"""Bits of integers: how many are set, and eight bool to a byte."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError
from ...expr import build
from ...expr.nodes import Leaf, Stored, is_whole
from ..array import Array, array_of, elementwise
from ..joining import concatenate
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
    whole = 8 * (array.shape[k] // 8)
    words = _words(array, whole) if k == array.ndim - 1 else None
    if words is not None:
        packed_words = _gathered(words, bitorder)
        if whole == array.shape[k]:
            return packed_words
        return concatenate([packed_words, packbits(array[whole:], bitorder=bitorder)])
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


def _words(array: Array, whole: int) -> Array | None:
    """Bytes in memory as words of eight: those of each line, or the first ``whole`` of the only."""
    leaf = array._expr
    if not isinstance(leaf, Leaf) or not isinstance(leaf.source, Stored) or array.itemsize != 1:
        return None
    buffer = leaf.source.buffer
    at_hand = is_whole(leaf) and buffer.shape == leaf.shape and buffer.flags.c_contiguous
    if not at_hand or not whole or (whole < leaf.shape[-1] and array.ndim > 1):
        return None
    return asarray(buffer[..., :whole].view("uint64"))


# Bit k of a byte is that of the k-th byte of a word after one multiplication, in its highest byte;
# or bit 7 - k. No two products of single bits meet, so that nothing is carried.
_TOGETHER: Final = {"little": 0x0102040810204080, "big": 0x8040201008040201}


def _gathered(words: Array, bitorder: str) -> Array:
    """A byte of each word: of each of its bytes, whether it is not 0."""
    low, high = 0x7F7F7F7F7F7F7F7F, 0x8080808080808080
    ones = ((((words & low) + low) | words) & high) >> 7
    gathered: Array = (ones * _TOGETHER[bitorder]) >> 56
    return gathered.astype("uint8")


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
    places = asarray(np.arange(8, dtype="uint8"))
    shifts = places if bitorder == "little" else 7 - places
    shape = (*array.shape[: k + 1], 8, *array.shape[k + 1 :])
    apart = array.reshape(*shape[: k + 1], 1, *shape[k + 2 :])
    bits = (apart >> shifts.reshape(8, *(1 for _ in shape[k + 2 :]))) & 1
    line: Array = bits.reshape(*shape[:k], shape[k] * 8, *shape[k + 2 :])
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


def _line(a: Any, axis: int | None, bitorder: str) -> tuple[Array, int]:
    if bitorder not in _ORDERS:
        raise ParameterError(f"bitorder is 'big' or 'little', not {bitorder!r}")
    array = array_of(a)
    if axis_of(array, axis) is None:
        return array.reshape(-1), 0
    return array, build.check_axis(axis, array.ndim)
