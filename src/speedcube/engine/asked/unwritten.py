"""Whether an array in memory is what it was: nobody else can write to it, or a copy tells.

`asarray` reads a NumPy array when it is computed, so what was made of it counts for as long as its
elements are the same. Memory that was given may be written to by who holds no reference, but an
address or a weak reference; what was made here (`Stored.ours`) may not.
"""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr.nodes import Stored
from ...expr.sources.span import spanned

_WIDE: Final = 1 << 13  # elements that are compared in some microseconds


def _references(stored: Stored) -> tuple[int, ...]:
    """References to its memory: to an array, or to an array and the one of which it is a view."""
    buffer = stored.buffer
    base = buffer.base
    if base is None:
        return (sys.getrefcount(buffer),)
    return sys.getrefcount(buffer), sys.getrefcount(base)


# What they are where nobody else has one: it differs between Pythons.
_ALONE = frozenset(
    (
        _references(Stored(np.empty(1), "float64")),
        _references(Stored(np.empty((1, 1)).reshape(1), "float64")),
    )
)


def is_ours_alone(stored: Stored) -> bool:
    """Whether no user has the memory of ``stored``."""
    return stored.ours and _is_known(stored) and _references(stored) in _ALONE


def is_frozen(stored: Stored) -> bool:
    """Whether ``stored`` is a copy that was made here, to be read only."""
    return stored.ours and type(stored.buffer) is np.ndarray and not stored.buffer.flags.writeable


def _is_known(stored: Stored) -> bool:
    """Whether the memory is an array, or such a one's of which it is a view."""
    buffer = stored.buffer
    base = getattr(buffer, "base", buffer)
    return base is None or (type(base) is type(buffer) and base.base is None)


@dataclass(frozen=True)
class Read:
    """``stored``, of which positions from ``low`` to before ``high`` are read."""

    stored: Stored
    low: int
    high: int

    @property
    def name(self) -> tuple[int, int, int]:
        return id(self.stored), self.low, self.high

    @property
    def bits(self) -> Any:
        """What is read, as it lies in memory."""
        size = self.stored.buffer.itemsize
        span, start = spanned(self.stored.buffer)
        return span[start + self.low * size : start + self.high * size]

    @property
    def widened(self) -> Read:
        """The same and some elements beside them, so that a window that moves reads what it read.

        All of an array that is not large, of another one aligned blocks.
        """
        buffer = self.stored.buffer
        if self.low < 0 or type(buffer) is not np.ndarray or not buffer.flags.c_contiguous:
            return self
        block = max(_WIDE, 1 << (self.high - self.low - 1).bit_length())
        high = min(-(-self.high // block) * block, buffer.size)
        return Read(self.stored, self.low // block * block, max(high, self.high))

    def is_part_of(self, other: Read) -> bool:
        """Whether ``other`` reads all that this one does."""
        same = other.stored is self.stored
        return same and other.low <= self.low and self.high <= other.high


@dataclass(eq=False)
class Witness:
    """What ``read`` was: a ``copy`` of it, or None where nobody could write."""

    read: Read
    copy: Any

    @property
    def nbytes(self) -> int:
        return 0 if self.copy is None else int(self.copy.nbytes)

    @property
    def size(self) -> int:
        """How many elements are compared."""
        return 0 if self.copy is None else self.read.high - self.read.low

    def holds(self) -> bool:
        """Whether the elements are the same, by their bits."""
        if self.copy is None:
            return is_ours_alone(self.read.stored)
        return _same(self.read.bits, self.copy)


def witness_of(read: Read, most: int) -> Witness | None:
    """A witness of what is ``read``, of at most ``most`` bytes; None where there can be none."""
    if is_ours_alone(read.stored):
        return Witness(read, None)
    buffer = read.stored.buffer
    if type(buffer) is not np.ndarray or (read.high - read.low) * buffer.itemsize > most:
        return None
    return Witness(read, read.bits.copy())


def _same(one: Any, other: Any) -> bool:
    """Whether two rows of bytes are equal; by eight at once where they lie so."""
    if one.size != other.size:
        return False
    straight = one.size // 8 * 8
    if one.ctypes.data % 8 == 0 and straight:
        words = one[:straight].view("u8"), other[:straight].view("u8")
        return np.array_equal(*words) and np.array_equal(one[straight:], other[straight:])
    return np.array_equal(one, other)
