"""Which kernel a scan on a GPU needs, how its elements lie, and how much a thread block takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from .... import dtypes
from ....dataclass import dataclass
from ..prelude import THREADS

ITEMS: Final = 16  # elements a thread takes
BLOCK: Final = THREADS * ITEMS  # and a thread block
# Blocks that a multiprocessor holds at least, by kernel, for which registers are kept few.
BLOCKS: Final = {"range": 6, "lines": 4, "span products": 4}
GROUPS: Final = 2 * THREADS  # of pieces of a running product, that a block makes larger groups of
SIDE: Final = 32  # columns side by side, where there are enough rows
PAIRS: Final = 4  # words up to which sums stay in registers
WIDER: Final = (6, 9, 18, 35)  # and those that are wider; the last holds every sum of doubles


@dataclass(frozen=True)
class DeviceScan:
    """A kernel of a scan, of the ``kind`` that `emit.py` names.

    Elements are ``read`` from memory, taken as ``dtype`` (float64, int64 or uint64) and given as
    ``out``, to which floats are rounded once; ``odd`` sums are rounded to odd. Sums have ``words``
    of 64 bits. ``special``: some elements are infinite or NaN.
    """

    kind: str
    read: str
    dtype: str
    out: str
    words: int = 1
    special: bool = False
    odd: bool = False

    @property
    def size(self) -> int:
        """Words of a sum as it is kept: one more says which special values it has met."""
        return self.words + self.special

    @property
    def exact(self) -> bool:
        return dtypes.is_float(self.dtype)

    def of_kind(self, kind: str) -> DeviceScan:
        return replace(self, kind=kind)


@dataclass(frozen=True)
class Lie:
    """Where elements lie: steps between matrices, along a line, between lines side by side."""

    matrix: int
    row: int
    column: int


@dataclass(frozen=True)
class Shape:
    """``outer`` matrices of ``inner`` lines, each of ``length`` elements."""

    outer: int
    length: int
    inner: int

    @property
    def lines(self) -> int:
        return self.outer * self.inner

    @property
    def size(self) -> int:
        return self.lines * self.length

    def flat(self, lie: Lie) -> bool:
        """Whether one step walks line after line."""
        return self.inner == 1 and (self.outer == 1 or lie.matrix == lie.row * self.length)


@dataclass(frozen=True)
class Tiles:
    """How blocks share elements: ``across`` blocks of lines, each with ``along`` one after another.

    ``side`` lines are a block's at once: 0 where it takes them one after the other.
    """

    side: int
    across: int
    along: int

    @property
    def blocks(self) -> int:
        return self.across * self.along


def tiles_of(shape: Shape, size: int) -> Tiles:
    """The blocks for ``shape`` and sums of ``size`` words."""
    if shape.inner == 1 or size > PAIRS + 1:
        return Tiles(0, 1, -(-shape.size // BLOCK))
    deep = THREADS // min(SIDE, _power(shape.lines))
    deep = min(deep, _power(-(-shape.length // ITEMS)))
    side = THREADS // deep
    return Tiles(side, -(-shape.lines // side), -(-shape.length // (deep * ITEMS)))


def words_of(bits: int) -> int:
    """Words for sums of ``bits``, the sign among them."""
    words = -(-bits // 64)
    return words if words <= PAIRS else next(w for w in WIDER if w >= words)


def _power(number: int) -> int:
    """The least power of two that is ``number`` or more."""
    return 1 << max(0, number - 1).bit_length()


def span_of(length: int) -> int:
    """Elements of a line of ``length`` that a block multiplies: a power of two."""
    return min(BLOCK, _power(length))


def pieces_of(length: int) -> int:
    """Pieces of running products that a block takes: more of short lines."""
    return min(THREADS, max(64, BLOCK // _power(length)))
