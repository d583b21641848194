"""Programs of fixed text that order elements in memory, count them, slide along or pair them."""

from __future__ import annotations

from typing import TypeAlias

from ..dataclass import dataclass


@dataclass(frozen=True)
class Radix:
    """A step of a sort by digits of numbers of ``dtype``, with their ``places`` or without."""

    dtype: str
    step: str
    places: bool = False


@dataclass(frozen=True)
class ByLeadingBits:
    """A step of an order of places, of numbers of ``dtype``, by some ``digits``."""

    dtype: str
    step: str
    digits: int = 0


@dataclass(frozen=True)
class Deal:
    """A kernel that deals numbers of ``dtype`` out by a few ``bounds``."""

    dtype: str
    bounds: int


@dataclass(frozen=True)
class DealLines:
    """The same of lines, each by ``bounds`` of its own."""

    dtype: str
    bounds: int


@dataclass(frozen=True)
class Choose:
    """A kernel that puts elements of ``size`` bytes together where a mask is true."""

    size: int


@dataclass(frozen=True)
class EvenTally:
    """A kernel that counts doubles by bins of one width."""


@dataclass(frozen=True)
class Slide:
    """A kernel that adds products of a short line of ``dtype`` sliding along a long one."""

    dtype: str


@dataclass(frozen=True)
class RowPairs:
    """A kernel that adds up products of pairs of rows, in vectors of ``lanes``.

    ``fused``: products are added in one operation where that is an instruction.
    """

    lanes: int
    fused: bool


@dataclass(frozen=True)
class RowSizes:
    """A kernel that finds the greatest and the least magnitude of each row of doubles."""


Order: TypeAlias = (
    ByLeadingBits | Choose | Deal | DealLines | EvenTally | Radix | RowPairs | RowSizes | Slide
)
