"""The loops of a CPU kernel around its bodies, as LLVM text.

    void kernel(geometry, buffers, params, scratch, out)

walks a box of the space: kept outer loops, reduced outer loops, then tiles. For each tile the
random leaves are generated into L1 buffers, one pipeline stage at a time; then one vector loop
computes the element body and feeds the sink, with a masked copy of itself for the last lanes.

``geometry`` (int64): kept begin, end; reduced begin, end; tile steps begin, end; rows; inner; the
outer extents; then for each leaf and last for the result: offset, outer strides, tile stride.
``buffers`` (pointers): for each leaf its data, then for each leaf and the result its offset table.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...expr.space import TILE
from ..program import LeafCode, Program
from .accumulator import LIMBS_ADD
from .emit import emit
from .float_mode import floating_point_mode
from .memory import ALIGN, LINE, fetch, gather, masked_load, prefetch
from .random import generate
from .sinks import SINKS, Consume, SinkLoops
from .text import SCALAR, Text

HEADER = 8  # geometry words before the extents
BUFFER = 2 * TILE + 256  # elements in a scratch buffer: a tile and a run beyond each end


@dataclass(frozen=True)
class Scratch:
    """Where each buffer lies in the scratch memory, in buffers of 8 * BUFFER bytes."""

    values: tuple[int, ...]  # of each leaf (random ones only are used)
    stage: dict[str, int]
    sink: int
    total: int


def scratch_layout(program: Program) -> Scratch:
    """One buffer for each leaf's values, each stage's outputs (shared), and the sink's terms."""
    names: dict[str, int] = {}
    at = len(program.leaves)
    for leaf in program.leaves:
        for body in leaf.stream.stages[:-1] if leaf.stream else ():
            for name, _ in body.outputs:
                if name not in names:
                    names[name] = at
                    at += 1
    return Scratch(tuple(range(len(program.leaves))), names, at, at + len(program.sink.terms))


def scratch_bytes(program: Program) -> int:
    """Bytes of scratch one call needs."""
    return scratch_layout(program).total * BUFFER * 8


@dataclass
class Tile:
    """Names that hold while one tile is emitted."""

    count: str  # elements
    positions: list[str]  # of the tile's first element, for each leaf
    shifts: list[str]  # where a run leaf's first element lies in its buffer
    out: str  # the result's position


class Loops:
    """Emits one kernel of vectors of ``lanes`` elements; ``rolled``: rounds stay loops;
    ``permuted``: float32 numbers that one permutation chooses from (8 or 16).
    """

    def __init__(
        self, program: Program, lanes: int, rolled: bool = False, permuted: int = 16
    ) -> None:
        self.program = program
        self.rolled = rolled
        self.text = Text(lanes, permuted)
        self.layout = scratch_layout(program)
        self.outer = program.kept + program.reduced
        self.strides: list[str] = []  # of each leaf and the result along the tile loop
        self.multiples: list[str] = []  # and times the number of the lane

    # Geometry ------------------------------------------------------------------------------

    def word(self, index: int) -> str:
        return self.text.load("i64", self.text.at("%geometry", index))

    def leaf_word(self, leaf: int, which: int) -> str:
        """Word ``which`` of a leaf: 0 offset, 1.. outer strides, last the tile stride."""
        return self.word(HEADER + self.outer + leaf * (self.outer + 2) + which)

    def tile_stride(self, leaf: int) -> str:
        return self.leaf_word(leaf, self.outer + 1)

    def pointer(self, index: int) -> str:
        return self.text.load("ptr", self.text.at("%buffers", index, "ptr"))

    def buffer(self, index: int) -> str:
        return self.text.at("%scratch", index * BUFFER)

    # The nest ------------------------------------------------------------------------------

    def emit(self) -> str:
        """The whole function."""
        sink = SINKS[self.program.sink.kind](self)
        t, program = self.text, self.program
        count = len(program.leaves) + 1
        # Once, since the loops store to memory that, for all LLVM knows, holds the geometry.
        self.strides = [self.tile_stride(k) for k in range(count)]
        self.multiples = [t.multiples(stride) for stride in self.strides]
        kept_begin = self.word(0)
        with t.loop(kept_begin, self.word(1)) as o:
            bases = [self.leaf_word(k, 0) for k in range(count)]
            bases = self.decompose(o, bases, 0, program.kept)
            record = t.i64("mul", t.i64("sub", o, kept_begin), program.sink.words)
            sink.begin(t.at("%out", record))
            with t.loop(self.word(2), self.word(3)) as r:
                inner = self.decompose(r, bases, program.kept, program.reduced)
                self.tiles(inner, sink)
            sink.end()
        return self.function()

    def decompose(self, index: str, bases: list[str], first: int, loops: int) -> list[str]:
        """Positions at linear ``index`` of ``loops`` outer loops from ``first``."""
        t = self.text
        for k in reversed(range(first, first + loops)):
            if k == first:
                digit = index
            else:
                extent = self.word(HEADER + k)
                digit, index = t.i64("srem", index, extent), t.i64("sdiv", index, extent)
            bases = [
                t.i64("add", base, t.i64("mul", digit, self.leaf_word(leaf, 1 + k)))
                for leaf, base in enumerate(bases)
            ]
        return bases

    def tiles(self, bases: list[str], sink: SinkLoops) -> None:
        t = self.text
        end, rows = self.word(5), self.word(6)
        step = t.variable("i64", self.word(4), "j")
        head, body, done = (t.name(h) for h in ("tile", "tilebody", "tiledone"))
        t.line(f"br label %{head}")
        t.label(head)
        j = t.load("i64", step)
        more = t.op(f"icmp slt i64 {j}, {end}")
        t.line(f"br i1 {more}, label %{body}, label %{done}")
        t.label(body)
        count = len(self.program.leaves)
        at = [t.i64("add", base, t.i64("mul", j, self.strides[k])) for k, base in enumerate(bases)]
        taken = self.aligned_rows(at, t.minimum(rows, t.i64("sub", end, j)))
        elements = t.i64("mul", taken, self.word(7)) if self.program.table else taken
        tile = Tile(elements, at[:count], ["0"] * count, at[count])
        self.expect_stores(tile)
        for k, leaf in enumerate(self.program.leaves):
            if leaf.stream is not None:
                generate(self, k, tile)
        sink.tile(tile)
        t.store("i64", t.i64("add", j, taken), step)
        t.line(f"br label %{head}")
        t.label(done)

    def expect_stores(self, tile: Tile) -> None:
        """Ask for the result's memory while random numbers are made that will be stored there."""
        t, sink = self.text, self.program.sink
        drawn = any(leaf.mode == "run" for leaf in self.program.leaves)
        if sink.kind != "store" or not sink.unit_stride or self.program.table or not drawn:
            return
        scalar = "i8" if sink.dtype == "bool" else SCALAR[sink.dtype]
        with t.loop(0, tile.count, LINE // ALIGN[scalar]) as j:
            fetch(t, t.at("%out", t.i64("add", tile.out, j), scalar), write=True)

    def aligned_rows(self, at: list[str], rows: str) -> str:
        """Rows to take so that the next tile starts at a whole run of the first run leaf."""
        t = self.text
        for k, leaf in enumerate(self.program.leaves):
            if leaf.mode == "run":
                inside = t.i64("and", at[k], (TILE << leaf.lg) - 1)
                shift = t.i64("lshr", inside, leaf.lg)
                return t.minimum(rows, t.i64("sub", TILE, shift))
        return rows

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
            prefetch(t, pointer, t.lanes * ALIGN[memory])
            raw = t.load(v, pointer, ALIGN[memory])
        elif leaf.mode == "unit":
            pointer = t.at(data, t.i64("add", start, j), memory)
            raw = masked_load(t, memory, pointer, str(mask))
        else:
            index = self.positions(k, leaf.mode, start, j)
            pointers = t.op(f"getelementptr {memory}, ptr {data}, {t.vector('i64')} {index}")
            raw = gather(t, memory, pointers, mask or t.constant(True, "bool"))
        if leaf.dtype == "bool":
            return t.op(f"icmp ne {v} {raw}, zeroinitializer")
        return raw

    def element_loop(self, tile: Tile, consume: Consume) -> None:
        """Compute every element of the tile and hand each vector to ``consume``."""
        t = self.text
        whole = t.i64("and", tile.count, -t.lanes)
        with t.loop(0, whole, t.lanes) as j:
            consume(self.element(tile, j, None), j, None)
        rest = t.i64("sub", tile.count, whole)
        with t.when(t.op(f"icmp sgt i64 {rest}, 0")):
            lanes = t.iota("0")
            mask = t.op(f"icmp slt {t.vector('i64')} {lanes}, {t.splat('i64', rest)}")
            consume(self.element(tile, whole, mask), whole, mask)

    def element(self, tile: Tile, j: str, mask: str | None) -> dict[str, str]:
        inputs = {
            name: self.fetch(int(name.removeprefix("leaf")), tile, j, mask)
            for name, _ in self.program.element.inputs
        }
        return emit(self.text, self.program.element, inputs, "%params")

    # The function --------------------------------------------------------------------------

    def function(self) -> str:
        from_mode, to_mode, declares = floating_point_mode()
        text = self.text
        return "\n".join(
            [
                *sorted({*text.declares, *declares}),
                *([LIMBS_ADD] if self.program.sink.kind == "exact" else []),
                "define void @kernel(ptr %geometry, ptr %buffers, ptr %params, ptr %scratch, "
                "ptr %out) #0 {",
                "entry:",
                *text.allocas,
                *from_mode,
                *text.lines,
                *to_mode,
                "  ret void",
                "}",
                'attributes #0 = { nounwind "no-builtins" }',
                "",
            ]
        )
