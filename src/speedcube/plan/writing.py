"""How arrays that are written are cut into blocks: boxes of whole chunks of what they go to.

A block is read, computed, encoded and written by one worker, and no two blocks have a chunk of the
target in common. Where sources are read a box at a time, blocks are as long as reads the fewest of
their chunks twice, within the memory that there is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Final, TypeAlias

from .. import dtypes
from ..dataclass import dataclass
from ..expr.nodes import Expr, Leaf, Shape, Tiled
from ..expr.pairs.node import is_pair, parts
from ..expr.piecewise.regions import pieces_within
from ..numbers import bytes_text
from .reads import bytes_of, reads_boxes, units_of
from .stages import WORKER_OVERHEAD
from .streams import tiled

Item: TypeAlias = tuple[slice, ...]

MEMORY: Final = 512_000_000  # bytes of a worker, where nobody says otherwise
OVERHEAD: Final = WORKER_OVERHEAD + (32 << 20)  # and the threads that decode and encode
BLOCK: Final = 24 << 20  # bytes of sources and results that a block grows to
# Copies of what is read: a reader decodes into memory of its own, or turns and moves a part of it.
_DECODED: Final = 3
_READ: Final = 2
_WRITTEN: Final = 4  # copies of a result: its values, a copy of a chunk, and that encoded
_LEAST: Final = 1 << 20  # bytes of a block that is made as fast as two of half of them
_EACH: Final = 4  # blocks of a worker at least, where chunks are small enough
_WASTE: Final = 1.2  # times as many chunks are read where that keeps another thread busy
_AGAIN: Final = 1.5  # times that a chunk is decoded, from which on it is told
ENCODING: Final = 3.0  # times as long as it takes to decode the same


@dataclass(frozen=True)
class WriteGrid:
    """The blocks of arrays of ``shape``; ``first`` is where they begin in the target.

    Borders lie at multiples of ``extents`` in the target.
    """

    shape: Shape
    extents: Shape
    first: Shape

    @cached_property
    def counts(self) -> Shape:
        """How many blocks there are along each axis."""
        each = zip(self.shape, self.extents, self.first, strict=True)
        return tuple(-(-(f + n) // e) - f // e if n else 0 for n, e, f in each)

    @property
    def count(self) -> int:
        """How many there are."""
        return math.prod(self.counts)

    def item(self, number: int) -> Item:
        """Block ``number``, in the order of their elements, as a box of the arrays."""
        places = []
        for count in reversed(self.counts):
            number, place = divmod(number, count)
            places.append(place)
        sizes = zip(reversed(places), self.shape, self.extents, self.first, strict=True)
        return tuple(
            slice(max(0, (f // e + k) * e - f), min(n, (f // e + k + 1) * e - f))
            for k, n, e, f in sizes
        )

    def items(self) -> Iterator[Item]:
        """All of them."""
        return map(self.item, range(self.count))


@dataclass(frozen=True)
class ByScratch:
    """How a write goes by way of a scratch file, so that each chunk of a source is decoded once.

    ``groups`` are boxes of whole blocks which, as far as can be, no chunk of a source lies in two
    of. Of each in turn boxes of at most ``pieces``, with borders at ``begins``, are computed,
    ``at_once`` at a time, and what each block has of them lies in the file. Then that is read.
    """

    folder: str
    groups: WriteGrid
    pieces: Shape
    begins: Shape
    at_once: int
    piece_bytes: int
    size: int  # bytes of the file


@dataclass(frozen=True)
class WritePlan:
    """What a write will do: its blocks, how many at a time, and the bytes of a worker at most.

    ``read_bytes`` counts what is read twice as often as it is read. ``held_bytes`` are those of
    reductions and others that are computed beforehand, and stay; that takes ``before_bytes``.
    ``made``: how often sources are read of which blocks are made by passes over them.
    """

    label: str
    rung: str
    grid: WriteGrid
    at_once: int
    block_bytes: int
    held_bytes: int
    before_bytes: int
    read_bytes: int
    result_bytes: int
    made: tuple[str, ...] = ()
    kept_bytes: int = 0  # of decoded chunks, from what is computed beforehand to the last block
    times: float = 1.0  # that each chunk of what is read most is decoded
    scratch: ByScratch | None = None

    def keeping(self, size: int) -> WritePlan:
        """The same plan, run with ``size`` bytes of decoded chunks kept."""
        return replace(self, kept_bytes=size)

    def after(self, size: int) -> WritePlan:
        """The same plan, where what is computed beforehand keeps ``size`` bytes of chunks."""
        return replace(self, before_bytes=self.before_bytes + size)

    @property
    def peak_bytes(self) -> int:
        """Bytes of a worker, at most."""
        blocks, by = self.at_once * self.block_bytes, self.scratch
        most = max(blocks, by.at_once * by.piece_bytes) if by else blocks
        return max(self.before_bytes, OVERHEAD + self.held_bytes + most) + self.kept_bytes

    def __repr__(self) -> str:
        times = f" (each chunk {self.times:.0f} times)" if self.times >= _AGAIN else ""
        reads = f"reads {bytes_text(self.read_bytes)}{times}, " if self.read_bytes else ""
        lines = "".join(f"\n  {text}" for text in self.made)
        if self.scratch is not None:
            reads = f"reads {bytes_text(self.read_bytes)} (each chunk once), "
            lines += (
                f"\n  by way of a scratch file of {bytes_text(self.scratch.size)} in "
                f"{self.scratch.folder}"
            )
        kept = f"keeps {bytes_text(self.kept_bytes)} decoded; " * bool(self.kept_bytes)
        return (
            f"Write to {self.label} on {self.rung}{lines}\n"
            f"  {self.grid.count:,} block{'s' * (self.grid.count != 1)} of at most "
            f"{self.grid.extents}, {self.at_once} at a time; {reads}writes "
            f"{bytes_text(self.result_bytes)}; {kept}at most {self.peak_bytes:,} bytes per worker"
        )


def reals(roots: Sequence[Expr]) -> list[Expr]:
    """``roots``, of complex ones both parts."""
    return [one for root in roots for one in (parts(root) if is_pair(root) else (root,))]


def block_bytes(roots: Sequence[Expr], extents: Shape) -> int:
    """Bytes of a block of ``extents``: what it reads, and what it gives, with their copies."""
    results = element_bytes(roots) * math.prod(extents)
    return _copies_read(roots) * read_bytes(roots, extents) + _WRITTEN * results


def _copies_read(roots: Sequence[Expr]) -> int:
    """How often a block holds what it reads."""
    decode = any(_decodes(leaf) for root in reals(roots) for leaf in tiled(root))
    return _DECODED if decode or _piece_bytes(roots) else _READ


def element_bytes(roots: Sequence[Expr]) -> int:
    """Bytes of an element of each of ``roots`` together."""
    return sum(int(dtypes.itemsize(root.dtype)) for root in roots)


def read_bytes(roots: Sequence[Expr], extents: Shape) -> int:
    """Bytes that a block of ``extents`` reads of sources that are read a box at a time."""
    read = sum(bytes_of(leaf, extents) for leaf in _read_leaves(roots))  # some may be one box
    return read + math.prod(extents) * _piece_bytes(roots)


def _read_leaves(roots: Sequence[Expr]) -> list[Leaf]:
    """The leaves that read boxes of sources for each box of ``roots``."""
    return [leaf for root in reals(roots) for leaf in tiled(root) if reads_boxes(leaf)]


def _piece_bytes(roots: Sequence[Expr]) -> int:
    """Bytes that an element reads of arrays of pieces, of which some are read a box at a time."""
    found = [source for root in reals(roots) for source in pieces_within(root)]
    read = (s for s in found if any(tiled(piece.expr) for piece in s.pieces))
    return sum(dtypes.itemsize(source.dtype) for source in read)


def write_grid(
    roots: Sequence[Expr], unit: Shape, first: Shape, workers: int, memory: int
) -> tuple[WriteGrid, int]:
    """The blocks of ``roots``, which have one shape, and how many are made at a time.

    ``unit`` is a chunk of the target, ``first`` where the arrays begin in it, ``memory`` the bytes
    of all blocks that are made at a time.
    """
    shape = roots[0].shape
    spans = tuple(f + n for f, n in zip(first, shape, strict=True))
    unit = tuple(max(1, min(u, n)) for u, n in zip(unit, spans, strict=True))
    best = _extents(roots, unit, spans, memory, 1)
    least = touched(roots, best)
    for at_once in range(workers, 1, -1):
        extents = _extents(roots, unit, spans, memory // at_once, at_once)
        fits = block_bytes(roots, extents) * at_once <= memory
        if fits and touched(roots, extents) <= _WASTE * least:
            return WriteGrid(shape, extents, first), at_once
    return WriteGrid(shape, best, first), 1


def _extents(roots: Sequence[Expr], unit: Shape, spans: Shape, memory: int, workers: int) -> Shape:
    """How long blocks are: those within ``memory`` that read least, and of these the smallest.

    They grow to `BLOCK` bytes then, along the last axes first, where all ``workers`` have some.
    """
    units = [length for length, _ in source_units(roots, unit)]
    choices = [
        sorted({min(n, k * u) for k in (1, -(-s // u), math.lcm(s, u) // u, -(-n // u))})
        for u, s, n in zip(unit, units, spans, strict=True)
    ]
    fitting = [one for one in product(*choices) if block_bytes(roots, one) <= memory]
    if not fitting:
        return unit
    extents = list(min(fitting, key=lambda one: (touched(roots, tuple(one)), math.prod(one))))
    share = block_bytes(roots, spans) // (_EACH * workers)
    most = min(memory, max(min(BLOCK, max(_LEAST, share)), block_bytes(roots, tuple(extents))))
    for k in reversed(range(len(extents))):
        times = max(1, most // max(1, block_bytes(roots, tuple(extents))))
        extents[k] = min(spans[k], extents[k] * times)
        if extents[k] < spans[k]:
            break
    return tuple(extents)


def source_units(roots: Sequence[Expr], unit: Shape) -> list[tuple[int, int]]:
    """How long chunks of what is read most are along each axis, and the first of them.

    ``unit`` where nothing is read.
    """
    found = _read_leaves(roots)
    if not found:
        return [(length, 0) for length in unit]
    widest = max(found, key=lambda leaf: bytes_of(leaf, roots[0].shape))
    units = units_of(widest)
    if _decodes(widest):
        return units
    return [*((1, 0) for _ in units[:-1]), *units[-1:]]  # of a plain file any rows are read alone


def _decodes(leaf: Leaf) -> bool:
    """Whether a part of a chunk is read as slowly as all of it."""
    return isinstance(leaf.source, Tiled) and getattr(leaf.source.tiles, "decodes", True)


def touched(roots: Sequence[Expr], extents: Shape) -> float:
    """How often, on average, blocks of ``extents`` read each chunk of what is read most."""
    times = 1.0
    units = source_units(roots, extents)
    for n, extent, (unit, _) in zip(roots[0].shape, extents, units, strict=True):
        if extent < n:
            chunks = extent / unit + 1 - math.gcd(extent, unit) / unit
            times *= chunks / (extent / unit)
    return times


def decoded(roots: Sequence[Expr], extents: Shape) -> float:
    """The same, where that takes time: of a plain file only what is wanted is read."""
    found = _read_leaves(roots)
    return touched(roots, extents) if any(map(_decodes, found)) else 1.0
