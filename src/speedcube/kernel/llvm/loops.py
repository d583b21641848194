"""The loops of a CPU kernel around its bodies, as LLVM text.

    void kernel(geometry, buffers, params, scratch, out)

walks a box of the space: kept outer loops, reduced outer loops, then tiles. For each tile the
random leaves are generated into L1 buffers, one phase of the stream at a time; then one vector loop
computes the element body and feeds the sink, with a masked copy of itself for the last lanes.

``geometry`` (int64): kept begin, end; reduced begin, end; tile steps begin, end; rows; inner; the
outer extents; then for each leaf and last for the result: offset, outer strides, tile stride.
``buffers`` (pointers): for each leaf its data, then for each leaf and the result its offset table.
"""

from __future__ import annotations

from typing import Final

from ...dataclass import dataclass
from ...expr.space import TILE
from ..program import Program
from .accumulator import LIMBS_ADD
from .elements import HEADER, Elements, Tile, size_of
from .function import function
from .memory import ALIGN, LINE, fetch
from .random import generate
from .sinks import sink_of
from .text import SCALAR, Style

# Bytes of a row from which on it is stored by whole lines. 40,000 rows of 24 float64 of a larger
# table take 3.0 ms so, 0.4 as they lie; 16,000 of 500 bytes 0.65 and 0.40, of 2 kB 1.7 and 2.0.
_ALIGNED: Final = 1500

# Of rows with gaps between them: bytes that are asked for before they are read, bytes of those that
# are, and bytes of all that are left to lie in the cache. 200,000 rows of 17 float64 out of tables
# twice as wide: 6 to 10 ms without, 2.2 with 512 bytes, 1.6 with 4096, 1.7 with 8192.
ROWS_AHEAD: Final = 4096
_SPAN: Final = 8192
_LARGE: Final = 1 << 17
_TOGETHER: Final = 2  # leaves; Life with nine took a fifth longer
# Bytes of rows that are reduced up to which they are asked for as a whole: more wait for one
# another. `mean(axis=(0, 2))` of (240, 100, 200) float64 takes 1.6 ms so, 3.5 vector by vector.
WHOLE: Final = 1 << 11


@dataclass(frozen=True)
class Row:
    """A row of ``leaf`` to come: bytes of an element and of the row, and how far it is, or 0."""

    leaf: int
    size: int
    span: str
    ahead: str


class Nest:
    """What emits a kernel in a style."""

    def __init__(self, program: Program, style: Style, elements: Elements | None = None) -> None:
        self.program = program
        self.elements = elements or Elements(program, style)
        self.text = self.elements.text

    def emit(self) -> str:
        """The whole function."""
        raise NotImplementedError

    def boxes(self) -> None:
        """The loops over results, where kernels finish them."""
        raise NotImplementedError

    def drawn(self, at: list[str], count: str) -> Tile:
        """The tile of ``count`` elements at ``at``, its random leaves generated."""
        leaves = len(self.program.leaves)
        tile = Tile(count, at[:leaves], ["0"] * leaves, at[leaves])
        for k, leaf in enumerate(self.program.leaves):
            if leaf.stream is not None:
                generate(self.elements, k, tile)
        return tile

    def decompose(self, index: str, bases: list[str], first: int, loops: int) -> list[str]:
        """Positions at linear ``index`` of ``loops`` outer loops from ``first``."""
        t = self.text
        for k in reversed(range(first, first + loops)):
            if k == first:
                digit = index
            else:
                extent = self.elements.word(HEADER + k)
                digit, index = t.i64("srem", index, extent), t.i64("sdiv", index, extent)
            bases = [
                t.i64("add", base, t.i64("mul", digit, self.elements.leaf_word(leaf, 1 + k)))
                for leaf, base in enumerate(bases)
            ]
        return bases

    def rows_to_come(self, most: int = _SPAN, least: int = _LARGE) -> list[Row]:
        """Of each leaf whose rows do not follow one another what is asked for some rows before.

        Processors foresee the next line of memory, not the next row beyond a gap, and the steps
        from row to row leave them too few reads to wait for at once. Of more than ``most`` bytes
        so many at once would wait for one another; of less than ``least`` in all, caches hold it.
        Of many leaves nothing: those of a stencil are one array, whose rows come again and again.
        """
        t, elements = self.text, self.elements
        kept, reduced, steps = (
            t.i64("sub", elements.word(k + 1), elements.word(k)) for k in (0, 2, 4)
        )
        every, found = t.i64("mul", t.i64("mul", kept, reduced), steps), []
        leaves = [
            (k, leaf)
            for k, leaf in enumerate(self.program.leaves)
            if leaf.kind == "stored" and leaf.mode in ("unit", "strided")
        ]
        for k, leaf in leaves if len(leaves) <= _TOGETHER else ():
            size = size_of(leaf)
            step = t.i64("mul", elements.leaf_word(k, elements.outer), size)
            span = t.i64("mul", t.i64("mul", steps, elements.strides[k]), size)
            few = t.op(f"icmp ult i64 {t.i64('sub', span, 1)}, {most}")  # and none backwards
            many = t.op(f"icmp uge i64 {every}, {least // size}")
            there = t.op(f"select i1 {few}, i64 {span}, i64 {most}")
            ahead = t.i64("mul", step, t.i64("add", t.i64("udiv", str(ROWS_AHEAD), there), 1))
            follow = t.op(f"icmp eq i64 {step}, {span}")
            none = t.op(f"or i1 {follow}, {t.op(f'xor i1 {few}, true')}")
            none = t.op(f"or i1 {none}, {t.op(f'xor i1 {many}, true')}")
            found.append(Row(k, size, span, t.op(f"select i1 {none}, i64 0, i64 {ahead}", "i")))
        return found

    def ask_for_row(self, row: Row, place: str) -> None:
        """Ask for the lines of memory of the row that is to come after the one at ``place``."""
        t, elements = self.text, self.elements
        with t.when(t.op(f"icmp ne i64 {row.ahead}, 0")):
            skipped = t.i64("mul", elements.word(4), elements.strides[row.leaf])
            data = t.op(f"ptrtoint ptr {elements.pointer(row.leaf)} to i64", "i")
            here = t.i64("add", data, t.i64("mul", t.i64("add", place, skipped), row.size))
            first = t.i64("add", here, row.ahead)
            with t.loop(t.i64("and", first, -LINE), t.i64("add", first, row.span), LINE) as line:
                fetch(t, t.op(f"inttoptr i64 {line} to ptr"))

    def aligned_rows(self, at: list[str], rows: str) -> str:
        """Rows to take so that the next tile starts at a segment of the first segment leaf."""
        t = self.text
        for k, leaf in enumerate(self.program.leaves):
            if leaf.mode == "segment":
                inside = t.i64("and", at[k], (TILE << leaf.lg) - 1)
                shift = t.i64("lshr", inside, leaf.lg)
                return t.minimum(rows, t.i64("sub", TILE, shift))
        return rows


class Loops(Nest):
    """Kernels with a sink: a store, or one record for each kept position."""

    def __init__(self, program: Program, style: Style) -> None:
        super().__init__(program, style)
        self.sink = sink_of(self.elements)

    # The nest ------------------------------------------------------------------------------

    def emit(self) -> str:
        """The whole function."""
        t, program, word = self.text, self.program, self.elements.word
        coming = self.rows_to_come() if self.elements.outer and not program.table else []
        kept_begin = word(0)
        with t.loop(kept_begin, word(1)) as o:
            bases = [self.elements.leaf_word(k, 0) for k in range(len(program.leaves) + 1)]
            bases = self.decompose(o, bases, 0, program.kept)
            record = t.i64("mul", t.i64("sub", o, kept_begin), program.sink.words)
            self.sink.begin(t.at("%out", record))
            with t.loop(word(2), word(3)) as r:
                row = self.decompose(r, bases, program.kept, program.reduced)
                for one in coming:
                    self.ask_for_row(one, row[one.leaf])
                self.tiles(row)
            self.sink.end()
        if self.elements.far:  # other threads see what went past the cache
            t.line("fence seq_cst")
        exact = any(sink.kind == "exact" for sink in program.sink.sinks)
        support = [LIMBS_ADD] if exact else []
        return function(t, ("geometry", "buffers", "params", "scratch", "out"), support)

    def tiles(self, bases: list[str]) -> None:
        """Tile after tile of the row that begins at ``bases``."""
        t, strides = self.text, self.elements.strides
        end, rows = self.elements.word(5), self.elements.word(6)
        step = t.variable("i64", self.elements.word(4), "j")
        head, body, done = (t.name(h) for h in ("tile", "tilebody", "tiledone"))
        t.line(f"br label %{head}")
        t.label(head)
        j = t.load("i64", step)
        more = t.op(f"icmp slt i64 {j}, {end}")
        t.line(f"br i1 {more}, label %{body}, label %{done}")
        t.label(body)
        count = len(self.program.leaves)
        at = [t.i64("add", base, t.i64("mul", j, strides[k])) for k, base in enumerate(bases)]
        left = t.i64("sub", end, j)
        # Nothing waits where elements are streamed: a tile of a thousand bools is 16 vectors.
        rows = left if self.program.streams else self.aligned_rows(at, t.minimum(rows, left))
        rows = self.to_a_line(at[count], rows)
        elements = t.i64("mul", rows, self.elements.word(7)) if self.program.table else rows
        tile = Tile(elements, at[:count], ["0"] * count, at[count])
        self.expect_stores(tile)
        for k, leaf in enumerate(self.program.leaves):
            if leaf.stream is not None:
                generate(self.elements, k, tile)
        self.sink.take(tile)
        t.store("i64", t.i64("add", j, rows), step)
        t.line(f"br label %{head}")
        t.label(done)

    def to_a_line(self, place: str, rows: str) -> str:
        """Rows to take so that the next tile is stored from the beginning of a line of memory.

        Where rows are long: each short one would be two tiles, which take longer than their stores.
        """
        t, sink = self.text, self.program.sink
        if not self.program.streams:
            return rows
        scalar = "i8" if sink.dtype == "bool" else SCALAR[sink.dtype]
        address = t.op(f"ptrtoint ptr {t.at('%out', place, scalar)} to i64", "i")
        before = t.i64("and", t.i64("sub", 0, address), LINE - 1)
        before = t.i64("udiv", before, ALIGN[scalar])
        inside = t.op(f"icmp ne i64 {before}, 0")
        if self.elements.outer:
            row = t.i64("sub", self.elements.word(5), self.elements.word(4))
            long = t.op(f"icmp uge i64 {row}, {_ALIGNED // ALIGN[scalar]}")
            inside = t.op(f"and i1 {inside}, {long}")
        return t.op(f"select i1 {inside}, i64 {t.minimum(rows, before)}, i64 {rows}", "i")

    def expect_stores(self, tile: Tile) -> None:
        """Ask for the result's memory while random numbers are made that will be stored there."""
        t, sink = self.text, self.program.sink
        drawn = any(leaf.mode == "segment" for leaf in self.program.leaves)
        if sink.kind != "store" or not sink.unit_stride or self.program.table or not drawn:
            return
        scalar = "i8" if sink.dtype == "bool" else SCALAR[sink.dtype]
        with t.loop(0, tile.count, LINE // ALIGN[scalar]) as j:
            fetch(t, t.at("%out", t.i64("add", tile.out, j), scalar), write=True)
