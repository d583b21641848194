"""The elements of a tile on a CPU: where they lie, fetching them, computing them, as LLVM text."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Final, TypeAlias

from ...dataclass import dataclass
from ..ir import Body
from ..program import LeafCode, Program
from .emit import emit, has_many_rare
from .memory import (
    AHEAD,
    ALIGN,
    FAR,
    FAR_TOGETHER,
    NEAREST,
    apart,
    ask_for_gathered,
    gather,
    masked_load,
    prefetch,
    starts_at,
    whole_vectors,
)
from .scratch import BUFFER, scratch_layout, sink_buffers
from .text import SCALAR, Style, Text

HEADER: Final = 8  # geometry words before the extents
_SHORT_ROW: Final = 1 << 14  # bytes from a row to the next up to which its end is not far
# Rows of 2 kB up to which a tile and the next one lie in L2: 0.3 of the speed where they do not.
_FEW_ROWS: Final = 64
# Bytes after which the L1 cache's sets begin anew. Sums of 1,000 rows of 8 kB: 0.70 -> 0.52 ms.
_SETS: Final = 1 << 12
_SOON: Final = 512  # bytes ahead along one of several rows that are read together

COUNTED: Final = ("position", "unit")
STREAMED: Final = ("stored", "unit")
NEAR: Final = 3 << 20  # bytes that are read, up to which they and what is stored may lie in L2
_LEAST_STORE: Final = 32  # bytes of a vector that does


def size_of(leaf: LeafCode) -> int:
    """Bytes of an element of a stored leaf."""
    return ALIGN["i8" if leaf.dtype == "bool" else SCALAR[leaf.dtype]]


def _streamed(leaf: LeafCode) -> bool:
    """Whether a leaf's elements are read one after the other."""
    return (leaf.kind, leaf.mode) == STREAMED


# Takes the outputs of a vector of elements, its first one's number, and the lanes that count.
Consume: TypeAlias = Callable[[dict[str, str], str, str | None], None]


@dataclass
class Tile:
    """Names that hold while one tile is emitted."""

    count: str  # elements
    positions: list[str]  # of the tile's first element, for each leaf
    shifts: list[str]  # where a segment leaf's first element lies in its buffer
    out: str  # the result's position


class Elements:
    """A kernel's elements, written in ``style``."""

    def __init__(self, program: Program, style: Style) -> None:
        self.program, self.style = program, style
        in_rows = any((leaf.kind, leaf.mode) == COUNTED for leaf in program.leaves)
        calls = style.calls or has_many_rare(program.element)
        self.text = Text(style.lanes, style.permuted, in_rows, calls, style.adds_beside)
        self.layout = scratch_layout(program)
        self.outer = program.kept + program.reduced
        # Of each leaf and the result along the tile loop, and times the number of the lane. Read
        # once, since the loops store to memory that, for all LLVM knows, holds the geometry.
        self.strides = [self.leaf_word(k, self.outer + 1) for k in range(len(program.leaves) + 1)]
        self.ahead: dict[int, str] = {}  # bytes from what is read of a leaf to what is asked for
        self.multiples = [self.text.multiples(stride) for stride in self.strides]
        self.data: dict[int, str] = {}  # where leaves lie, as far as it is read once, too
        self.usual, self.nearness = str(AHEAD), NEAREST  # of other leaves, and into which cache
        self.near = ""  # whether to look ahead; no name: always
        self.far = ""  # whether stores go past the cache; no name: never
        # In the loop that is written; of rows see `rows_to_come`.
        self.looks, self.passes = not (program.streams and self.outer), False
        if program.streams:
            self.look_ahead_in_cache()
            self.pass_the_cache()

    def of_part(self, number: int) -> Elements:
        """The elements of part ``number`` of the program's sink, in the same text."""
        own = copy(self)
        own.program = self.program.part(number)
        before = sum(map(sink_buffers, self.program.sink.parts[:number]))
        own.layout = replace(self.layout, sink=self.layout.sink + before)
        return own

    # Geometry ------------------------------------------------------------------------------

    def word(self, index: int) -> str:
        return self.text.load("i64", self.text.at("%geometry", index))

    def leaf_word(self, leaf: int, which: int) -> str:
        """Word ``which`` of a leaf: 0 offset, 1.. outer strides, last the tile stride."""
        return self.word(HEADER + self.outer + leaf * (self.outer + 2) + which)

    def look_rows_ahead(self, rows: int, nearness: int = NEAREST) -> None:
        """Where rows are walked down: ask for what is read of a leaf ``rows`` rows later.

        Where they are long and few, and where they begin in one set of the L1 cache, which does not
        hold those that wait, too: for what comes soon along each of them.
        """
        if not self.program.reduced:
            return
        t, self.nearness = self.text, nearness
        deep = t.op(f"icmp sgt i64 {self.word(3)}, {_FEW_ROWS}")
        for k, leaf in enumerate(self.program.leaves):
            if leaf.kind != "stored" or leaf.mode not in ("unit", "strided"):
                continue
            row, step = t.i64("mul", self.leaf_word(k, self.outer), size_of(leaf)), self.strides[k]
            short = t.op(f"icmp ule i64 {row}, {t.i64('mul', step, _SHORT_ROW)}")
            short = t.op(f"or i1 {short}, {deep}")
            below, beside = t.i64("mul", row, rows), t.i64("mul", step, _SOON)
            crowded = t.op(f"icmp eq i64 {t.i64('and', row, _SETS - 1)}, 0")
            apart = t.op(f"xor i1 {crowded}, true")
            both = t.op(f"and i1 {short}, {apart}")
            self.ahead[k] = t.op(f"select i1 {both}, i64 {below}, i64 {beside}", "i")

    def ask_for_next(self, tile: Tile, j: str, loop: int) -> None:
        """Ask for what is read of leaves with the next step of outer loop ``loop``, from 1 on.

        Where that lies before: else it comes by itself.
        """
        t = self.text
        for k, leaf in enumerate(self.program.leaves):
            if leaf.kind == "stored" and leaf.mode == "unit":
                step = self.leaf_word(k, loop)
                with t.when(t.op(f"icmp slt i64 {step}, 0")):
                    place = t.i64("add", t.i64("add", tile.positions[k], step), j)
                    bytes_ = t.i64("mul", place, size_of(leaf))
                    prefetch(t, self.pointer(k), t.lanes * size_of(leaf), bytes_)

    def look_ahead_in_cache(self) -> None:
        """Where elements go straight from memory to memory: look ahead if all of them are near.

        Else what is asked for early takes the place of what is about to be read.
        """
        t, leaves = self.text, enumerate(self.program.leaves)
        sizes = {k: size_of(leaf) for k, leaf in leaves if _streamed(leaf)}
        self.data = {k: self.pointer(k) for k in sizes}
        if sizes and self.style.asks and not self.outer:
            self.near = t.op(f"icmp ule i64 {self.elements()}, {NEAR // sum(sizes.values())}")

    def pass_the_cache(self) -> None:
        """Where so many elements are stored that they would fill it, and vectors are long."""
        t, size = self.text, self.stored_size()
        if t.lanes * size >= _LEAST_STORE:
            most = FAR // size
            if not self.outer:  # else a row may be read again and again
                each = size + sum(size_of(leaf) for leaf in self.program.leaves if _streamed(leaf))
                most = min(most, FAR_TOGETHER // each)
            self.far = t.op(f"icmp uge i64 {self.elements()}, {most}")
            if self.outer:
                row = t.i64("mul", t.i64("sub", self.word(5), self.word(4)), size)
                first = t.at("%out", self.leaf_word(len(self.program.leaves), 0), f"[{size} x i8]")
                whole = whole_vectors(t, first, row, t.lanes * size)
                self.far = t.op(f"and i1 {self.far}, {whole}")

    def elements(self) -> str:
        """How many elements there are in a call where all is in order."""
        t = self.text
        rows, steps = (t.i64("sub", self.word(k + 1), self.word(k)) for k in (0, 4))
        return t.i64("mul", rows, steps)

    def stored_size(self) -> int:
        """Bytes of an element that is stored."""
        sink = self.program.sink
        return ALIGN["i8" if sink.dtype == "bool" else SCALAR[sink.dtype]]

    def pointer(self, index: int) -> str:
        if index in self.data:
            return self.data[index]
        return self.text.load("ptr", self.text.at("%buffers", index, "ptr"))

    def buffer(self, index: int) -> str:
        return self.text.at("%scratch", index * BUFFER)

    # Elements ------------------------------------------------------------------------------

    def fetch(self, k: int, tile: Tile, j: str, mask: str | None) -> str:
        """Leaf ``k`` of elements j, j + 1, ... of the tile; lanes outside ``mask`` are not read."""
        t, leaf = self.text, self.program.leaves[k]
        if leaf.kind == "random":
            index = "0" if leaf.mode == "splat" else t.i64("add", tile.shifts[k], j)
            pointer = t.at(self.buffer(k), index, SCALAR[leaf.dtype])
            size = 8 if SCALAR[leaf.dtype] in ("i64", "double") else 4
            return t.load(t.vector(SCALAR[leaf.dtype]), pointer, size)
        if leaf.kind == "position":
            return self.positions(k, leaf.mode, tile.positions[k], j)
        return self.stored(k, leaf, tile.positions[k], j, mask)

    def positions(self, k: int, mode: str, start: str, j: str) -> str:
        t = self.text
        if mode == "splat":
            return t.splat("i64", start)
        if mode == "table":
            table = t.at(self.pointer(len(self.program.leaves) + k), j)
            offsets = t.load(t.vector("i64"), table, 8)
            return t.op(f"add {t.vector('i64')} {offsets}, {t.splat('i64', start)}")
        if mode == "unit":
            return t.iota(t.i64("add", start, j))
        first = t.i64("add", start, t.i64("mul", j, self.strides[k]))
        return t.iota(first, self.multiples[k])

    def stored(self, k: int, leaf: LeafCode, start: str, j: str, mask: str | None) -> str:
        t = self.text
        memory = "i8" if leaf.dtype == "bool" else SCALAR[leaf.dtype]
        v = t.vector(memory)
        data = self.pointer(k)
        if leaf.mode == "splat":
            raw = t.splat(memory, t.load(memory, t.at(data, start, memory)))
        elif leaf.mode == "unit" and mask is None:
            pointer = t.at(data, t.i64("add", start, j), memory)
            self.ask_ahead(k, pointer, t.lanes * ALIGN[memory])
            raw = t.load(v, pointer, ALIGN[memory])
        elif leaf.mode == "unit":
            pointer = t.at(data, t.i64("add", start, j), memory)
            raw = masked_load(t, memory, pointer, str(mask))
        elif 0 < leaf.apart <= t.lanes and mask is None:
            pointer = t.at(data, t.i64("add", start, t.i64("mul", j, leaf.apart)), memory)
            self.ask_ahead(k, pointer, leaf.apart * t.lanes * ALIGN[memory])
            raw = apart(t, memory, pointer, leaf.apart)
        else:
            index = self.positions(k, leaf.mode, start, j)
            pointers = t.op(f"getelementptr {memory}, ptr {data}, {t.vector('i64')} {index}")
            if leaf.mode == "strided" and mask is None:
                first = t.at(data, start, memory)
                ask_for_gathered(t, first, j, self.strides[k], memory, self.ahead.get(k))
            raw = gather(t, memory, pointers, mask or t.constant(True, "bool"))
        if leaf.dtype == "bool":
            return t.op(f"icmp ne {v} {raw}, zeroinitializer")
        return raw

    def ask_ahead(self, k: int, pointer: str, size: int) -> None:
        """Ask for what is read of leaf ``k`` after ``size`` bytes at ``pointer``.

        Where processors have to be asked, and where it does not lie behind.
        """
        if self.looks and not self.passes and (self.style.asks or k in self.ahead):
            prefetch(self.text, pointer, size, self.ahead.get(k, self.usual), self.nearness)

    def element_loop(self, tile: Tile, consume: Consume, body: Body | None = None) -> None:
        """Compute every element of the tile and hand each vector to ``consume``.

        ``body`` is the program's element, or a part of it.
        """
        t, body = self.text, body or self.program.element
        whole = t.i64("and", tile.count, -t.lanes)
        near = t.op(f"select i1 {self.near}, i64 {whole}, i64 0", "i") if self.near else whole
        # Loops of their own: instructions are what their speed depends on.
        far = self.far_end(tile, whole) if self.far else "0"
        if self.far:
            self.passes = True
            with t.loop(0, far, t.lanes) as j:
                consume(self.element(tile, j, None, body), j, None)
            self.passes = False
        with t.loop(far, near, t.lanes) as j:
            consume(self.element(tile, j, None, body), j, None)
        if self.near:
            self.looks = False
            with t.loop(t.maximum(far, near), whole, t.lanes) as j:
                consume(self.element(tile, j, None, body), j, None)
        rest = t.i64("sub", tile.count, whole)
        with t.when(t.op(f"icmp sgt i64 {rest}, 0")):
            lanes = t.iota("0")
            mask = t.op(f"icmp slt {t.vector('i64')} {lanes}, {t.splat('i64', rest)}")
            consume(self.element(tile, whole, mask, body), whole, mask)

    def far_end(self, tile: Tile, whole: str) -> str:
        """Where the elements end that are stored past the cache: vectors have to be aligned."""
        t, size = self.text, self.stored_size()
        first = t.at("%out", tile.out, f"[{size} x i8]")
        beside = starts_at(t, t.op(f"ptrtoint ptr {first} to i64", "i"), t.lanes * size)
        passes = t.op(f"and i1 {self.far}, {beside}")
        return t.op(f"select i1 {passes}, i64 {whole}, i64 0", "i")

    def element(
        self, tile: Tile, j: str, mask: str | None, body: Body | None = None
    ) -> dict[str, str]:
        """The outputs of a vector of elements; ``body`` as for `element_loop`."""
        body = body or self.program.element
        inputs = {
            name: self.fetch(int(name.removeprefix("leaf")), tile, j, mask)
            for name, _ in body.inputs
        }
        return emit(self.text, body, inputs, "%params")
