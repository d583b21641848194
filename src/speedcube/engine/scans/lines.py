"""Scans: products, running products and running sums of a part's elements, in their order.

The part's own kernel computes the elements, block after block in C order; a small kernel
(`kernel/llvm/scans/`) takes them from memory. What a GPU's kernels do not do (`running.py`,
`trees.py`) is made there and taken here, by the CPU's kernel.

Parts that share a line are first folded, each to a record: its exact sum (an accumulator; one
word for integers), or the products of its blocks. A part then goes on from the records before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import dataclass
from ...expr.nodes import Scanned, Staged
from ...expr.space import TILE
from ...kernel.llvm.scans.layout import LIMBS_AT, PARTS
from ...kernel.program import Scan
from .call import ScanCall

Array: TypeAlias = NDArray[Any]
Blocks: TypeAlias = Iterator[Array]


# Products ----------------------------------------------------------------------------------------


class Products:
    """The products of lines of ``length`` elements that come one after the other.

    A long line is cut into pieces of `TILE` elements, whose products are a line of their own.
    The products go to ``out``.
    """

    def __init__(self, length: int, dtype: str, out: Array) -> None:
        self.length = length
        self.call = ScanCall(Scan("prod", dtype, dtype))
        self.rest = np.empty(0, dtype)
        self.position = 0
        self.out, self.made = out, 0
        self.above = Products(-(-length // TILE), dtype, out) if length > TILE else None

    def feed(self, values: Array, last: bool = False) -> None:
        """Take ``values``; those of a piece that is not whole wait for more."""
        if len(self.rest):
            values = np.concatenate([self.rest, values])
        if len(values) < TILE and not last:
            self.rest = values.copy()
            return
        above = self.above
        results = self.out[self.made :] if above is None else np.empty(len(values), values.dtype)
        taken, count = self.call(values, self.position, self.length, results, last)
        self.position = (self.position + taken) % self.length
        self.rest = values[taken:].copy()
        if above is not None:
            above.feed(results[:count], last)
        else:
            self.made += count

    def finish(self) -> None:
        """The products of what waits; the last line may be shorter."""
        self.feed(np.empty(0, self.rest.dtype), last=True)
        if self.above is not None:
            self.above.finish()


def products(blocks: Blocks, length: int, out: Array) -> Array:
    """The product of each ``length`` elements of ``blocks``, into ``out``."""
    if length:
        lines = Products(length, out.dtype.name, out)
        for values in blocks:
            lines.feed(values)
        lines.finish()
    return out


# Running sums and products -----------------------------------------------------------------------


@dataclass(eq=False)
class Results:
    """Where a scan's results go: lines in ``whole``; the next result is that of element ``at``.

    A line of ``whole`` may begin with the result of no elements, which is there already.
    """

    whole: Array  # (lines, elements), contiguous
    length: int  # of a line of elements
    at: int = 0

    def room(self, count: int) -> Array:
        """An array for the next ``count`` results, to be handed to `put`."""
        if self.whole.shape[1] == self.length:
            return self.whole.reshape(-1)[self.at : self.at + count]
        return np.empty(count, self.whole.dtype)

    def put(self, results: Array) -> None:
        lead = self.whole.shape[1] - self.length
        if not lead:
            self.at += len(results)
            return
        while len(results):
            line, place = divmod(self.at, self.length)
            lines = len(results) // self.length if place == 0 else 0
            count = lines * self.length or min(self.length - place, len(results))
            if lines:
                room = self.whole[line : line + lines, lead:]
            else:
                room = self.whole[line : line + 1, lead + place : lead + place + count]
            room[...] = results[:count].reshape(room.shape)
            self.at, results = self.at + count, results[count:]


class Nowhere:
    """Results that nobody asked for."""

    def __init__(self, dtype: str) -> None:
        self.memory = np.empty(0, dtype)

    def room(self, count: int) -> Array:
        if len(self.memory) < count:
            self.memory = np.empty(count, self.memory.dtype)
        return self.memory[:count]

    def put(self, results: Array) -> None:
        pass


@dataclass(eq=False)
class Line:
    """Elements of lines of ``length``: the next one's position in its line."""

    source: Scanned
    length: int
    position: int
    call: ScanCall = field(init=False)

    def __post_init__(self) -> None:
        source = self.source
        self.call = ScanCall(Scan(source.op, source.arg.dtype, source.dtype, source.odd))

    def scan(self, blocks: Blocks, results: Results | Nowhere) -> None:
        for values in blocks:
            self.feed(values, results)

    def feed(self, values: Array, results: Results | Nowhere, last: bool = False) -> int:
        """Hand ``values`` to the kernel; how many it took."""
        room = results.room(len(values))
        taken, _ = self.call(values, self.position, self.length, room, last)
        self.position = (self.position + taken) % self.length
        results.put(room[:taken])
        return taken


class WrappingSums(Line):
    """Running sums of integers. The record is the sum of the line so far."""

    def start(self, record: Array) -> None:
        self.call.state[:1] = record

    def record(self) -> Array:
        return self.call.state[:1].copy()


class ExactSums(Line):
    """Running sums of floats. The record is the exact sum of the line so far, as limbs."""

    def start(self, record: Array) -> None:
        words = self.call.state.view(np.int64)
        words[0], words[LIMBS_AT:] = 1, record  # the kernel takes them to parts when it can

    def go_on(self, parts: Array) -> None:
        """Go on from a sum in three parts."""
        self.call.state[1 : 1 + PARTS] = parts

    def record(self) -> Array:
        """By a call that has no more elements, after which the limbs hold the sum."""
        nothing = np.empty(0)
        self.call(nothing, self.position, self.length, nothing, last=True)
        return self.call.state.view(np.int64)[LIMBS_AT:].copy()


class RunningProducts(Line):
    """Running products. ``start`` takes the products of the blocks before, ``block`` long."""

    block: int = TILE

    def start(self, record: Array) -> None:
        pieces = len(record) * (self.block // TILE)
        state, per_block = self.call.state, self.block // TILE
        state[:1].view(np.int64)[0] = pieces
        for level in range(pieces.bit_length()):
            if pieces >> level & 1:  # the group of 2**level pieces before the smaller ones
                first = (pieces >> (level + 1) << (level + 1)) // per_block
                group = record[first : first + (1 << level) // per_block]
                products(iter([group]), len(group), state[1 + level : 2 + level])

    def scan(self, blocks: Blocks, results: Results | Nowhere) -> None:
        rest = np.empty(0, self.call.state.dtype)
        for values in blocks:
            whole = np.concatenate([rest, values]) if len(rest) else values
            rest = whole[self.feed(whole, results) :].copy()
        self.feed(rest, results, last=True)


def line_of(source: Scanned, position: int, block: int) -> Any:
    """What takes the elements of a line of ``source`` from ``position`` on."""
    if source.op == "cumprod":
        line = RunningProducts(source, source.count, position)
        line.block = block or TILE
        return line
    kind = ExactSums if dtypes.is_float(source.arg.dtype) else WrappingSums
    return kind(source, source.count, position)


# Parts -------------------------------------------------------------------------------------------


def fold(source: Staged, block: int, place: int, count: int, blocks: Blocks) -> Array:
    """The record of ``count`` elements of one line, the first at ``place``."""
    if not isinstance(source, Scanned) or source.op == "cumprod":
        return products(blocks, block, np.empty(-(-count // block), source.arg.dtype))
    line = line_of(source, place, block)
    line.scan(blocks, Nowhere(source.dtype))
    return np.asarray(line.record())


def scan(
    source: Scanned, block: int, place: int, lines: Array, blocks: Blocks, before: Array | None
) -> None:
    """The results of ``blocks``, the first at ``place`` of its line, into ``lines`` (contiguous).

    ``before`` is the record of the first line's elements before ``place``.
    """
    lead = int(source.initial and place == 0)
    lines[:, :lead] = 0 if source.op == "cumsum" else 1
    if source.count == 0:
        return
    line = line_of(source, place, block)
    if before is not None:
        line.start(before)
    line.scan(blocks, Results(lines, lines.shape[1] - lead))
