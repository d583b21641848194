"""The loops of a GPU kernel around its bodies, as CUDA C.

A unit is one piece of one result record: block ``u % gridDim`` takes unit u, walks the piece's
tiles with all its threads, and adds to the record by integer atomics, whose order cannot matter
(argmin writes a record for each unit, merged by the host). In a
tile of a ``run`` leaf each thread takes whole blocks of the stream: the values of a block lie
W / stride elements apart, so each thread computes that many elements. Otherwise a thread takes
single elements.

Arguments, all 8 bytes: geometry ``g0 ...`` (kept begin; kept count; reduced begin, count; tile
steps; rows; inner; pieces; tiles of a row; tiles of a piece; then, for each leaf and the result:
offset, outer strides, tile stride; the outer extents before them), parameters ``p0 ...``,
leaf addresses ``b0 ...``, offset tables ``t0 ...``, the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ... import dtypes
from ..ir import Body
from ..math.positions import SEGMENT
from ..math.streams import Stream
from ..program import LeafCode, Program
from .emit import CTYPE, Constants, emit
from .prelude import ELEMENTS, PRELUDE, THREADS, TILE
from .sinks import SINKS, CudaSink
from .wide import SUPPORT as WIDE_SUPPORT
from .wide import batches, whole_tile

HEADER: Final = 10  # geometry words before the extents


@dataclass
class CudaLoops:
    """Prints one kernel."""

    program: Program
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    serial: int = 0
    constants: Constants = field(default_factory=Constants)

    # Helpers -------------------------------------------------------------------------------

    @property
    def outer(self) -> int:
        return self.program.kept + self.program.reduced

    def put(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def open(self, text: str) -> None:
        self.put(text + " {")
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.put("}")

    def word(self, leaf: int, which: int) -> str:
        """Geometry of a leaf: 0 offset, 1.. outer strides, last the tile stride."""
        return f"(i64)g{HEADER + self.outer + leaf * (self.outer + 2) + which}"

    def body(self, body: Body, inputs: dict[str, str]) -> dict[str, str]:
        self.serial += 1
        prefix, indent = f"v{self.serial}_", "  " * self.depth
        return emit(self.lines, body, inputs, prefix, indent, self.constants)

    @property
    def count(self) -> int:
        return len(self.program.leaves)

    @property
    def primary(self) -> LeafCode | None:
        """The leaf whose runs the tiles follow."""
        return next((leaf for leaf in self.program.leaves if leaf.mode == "run"), None)

    # The nest ------------------------------------------------------------------------------

    def emit(self) -> str:
        sink = SINKS[self.program.sink.kind](self)
        sink.declare()
        kept, pieces, row_tiles, piece_tiles = "(i64)g1", "(i64)g7", "(i64)g8", "(i64)g9"
        self.open(f"for (i64 u = blockIdx.x; u < {kept} * {pieces}; u += gridDim.x)")
        if sink.dealt:
            self.dealt(sink)
            self.close()
            return self.function(sink)
        sink.begin()
        self.put(f"i64 o = (i64)g0 + u / {pieces}, q = (u % {pieces}) * {piece_tiles};")
        self.put(f"i64 stop = q + {piece_tiles}, all = (i64)g3 * {row_tiles};")
        self.put("if (stop > all) stop = all;")
        self.put(f"i64 r = (i64)g2 + q / {row_tiles}, t = q % {row_tiles};")
        self.open("while (q < stop)")
        self.bases()
        self.put(f"i64 row_stop = q + ({row_tiles} - t); if (row_stop > stop) row_stop = stop;")
        self.open("for (; q < row_stop; q++, t++)")
        self.tile(sink)
        sink.after_tile()
        self.close()
        self.put("t = 0; r++;")
        self.close()
        sink.end()
        self.close()
        return self.function(sink)

    def dealt(self, sink: CudaSink) -> None:
        """A piece is one tile of the only row (every ``pieces``-th if those would be too many).

        The hardware then hands tiles out in their order. Blocks that stay and walk through the row
        reach 86 to 93 % of a copy's speed on an H200, side by side or apart; these reach all of it.
        """
        self.put("i64 o = (i64)g0, t = u, r = (i64)g2;")
        self.put("if ((i64)g1 > 1) { o += u / (i64)g7; t = u % (i64)g7; }")
        self.bases()
        self.open("for (; t < (i64)g8; t += (i64)g7)")
        self.tile(sink)
        self.close()

    def bases(self) -> None:
        """Positions of each leaf and the result at the start of row (o, r)."""
        for k in range(self.count + 1):
            self.put(f"i64 base{k} = {self.word(k, 0)};")
        for index, first, loops in (
            ("o", 0, self.program.kept),
            ("r", self.program.kept, self.program.reduced),
        ):
            self.open("")
            self.put(f"i64 rest = {index};")
            for d in reversed(range(first, first + loops)):
                extent = f"(i64)g{HEADER + d}"
                digit = "rest" if d == first else f"rest % {extent}"
                self.put(f"i64 digit{d} = {digit};" + ("" if d == first else f" rest /= {extent};"))
                for k in range(self.count + 1):
                    self.put(f"base{k} += digit{d} * {self.word(k, 1 + d)};")
            self.close()

    def tile(self, sink: CudaSink) -> None:
        leaf = self.primary
        if leaf is not None and leaf.stream is not None:
            self.run_tile(sink, leaf, leaf.stream)
        else:
            self.element_tile(sink)

    def run_tile(self, sink: CudaSink, leaf: LeafCode, stream: Stream) -> None:
        """``TILE`` stream blocks from run ``t * runs`` of the row."""
        k = self.program.leaves.index(leaf)
        width, lg = stream.segment_blocks, leaf.lg
        blocks, elements = width >> lg, SEGMENT >> lg
        runs = TILE // blocks
        self.put(f"i64 run0 = (base{k} >> 10) + t * {runs}, first = base{k} & {(1 << lg) - 1};")
        self.put(f"i64 j0 = ((run0 << 10) + first - base{k}) >> {lg}, room = (i64)g4 - j0;")
        self.put("int low = j0 < 0 ? (int)-j0 : 0;")
        full = runs * elements
        self.put(f"int high = room > {full} ? {full} : (int)room;")
        self.put(f"u64 block0 = (u64)(run0 * {width} + first);")
        self.open(f"if (low == 0 && high == {full})")
        self.blocks(sink, leaf, stream, False)
        self.depth -= 1
        self.open("} else if (high > low)")
        self.blocks(sink, leaf, stream, True)
        self.close()

    def blocks(self, sink: CudaSink, leaf: LeafCode, stream: Stream, guarded: bool) -> None:
        """The tile's stream blocks, THREADS at a time; guarded: some elements are outside."""
        width, lg = stream.segment_blocks, leaf.lg
        blocks, elements = width >> lg, SEGMENT >> lg
        runs = TILE // blocks
        if blocks > THREADS:
            self.open(f"for (int run = 0; run < {runs}; run++)")
            self.put("#pragma unroll 1")
            self.open(f"for (int k = threadIdx.x; k < {blocks}; k += THREADS)")
        else:
            self.put(f"int k = threadIdx.x % {blocks};")
            self.put("#pragma unroll 1")
            step = f"(THREADS > {blocks} ? THREADS / {blocks} : 1)"
            self.open(f"for (int run = threadIdx.x / {blocks}; run < {runs}; run += {step})")
        self.put(f"int e = run * {elements} + k;")
        self.put(f"u64 block = block0 + (u64)(unsigned)(run * {width} + (k << {lg}));")
        values = self.twins(leaf)
        sink.batch(stream.per_block)
        for q in range(stream.per_block):
            self.put(f"int e{q} = e + {q * blocks};")
            if guarded:
                self.open(f"if (e{q} >= low && e{q} < high)")
            else:
                self.open("")
            fetched = {name: outputs[f"v{q}"] for name, outputs in values.items()}
            self.element(sink, f"(j0 + e{q})", f"e{q}", fetched, str(q))
            self.close()
        sink.after_batch(stream.per_block)
        self.close()
        if blocks > THREADS:
            self.close()

    def twins(self, leaf: LeafCode) -> dict[str, dict[str, str]]:
        """All values of the current block, for each leaf that shares the primary's positions."""
        found = {}
        for k, other in enumerate(self.program.leaves):
            if other.mode == "run" and other.twin == leaf.twin and other.stream is not None:
                found[f"leaf{k}"] = self.pipeline(other.stream.bodies, {"block": "block"})
        return found

    def pipeline(self, bodies: Sequence[Body], names: dict[str, str]) -> dict[str, str]:
        """``bodies`` one after the other; the names of all they are given and give."""
        for body in bodies:
            names = names | self.body(body, names)
        return names

    def element_tile(self, sink: CudaSink) -> None:
        """Elements one by one; ``t`` counts tiles of the row."""
        if self.program.table:
            self.put("i64 j0 = t * (i64)g5, left = (i64)g4 - j0;")
            self.put("i64 take = left > (i64)g5 ? (i64)g5 : left;")
            self.put("int high = (int)(take * (i64)g6);")
        else:
            size = elements_of_tile(self.program)
            self.put(f"i64 j0 = t * {size}, left = (i64)g4 - j0;")
            self.put(f"int high = left > {size} ? {size} : (int)left;")
        self.put("int e = threadIdx.x;")
        self.batches(sink)
        self.open("for (; e < high; e += THREADS)")
        sink.batch(1)
        self.element(sink, "j0" if self.program.table else "(j0 + e)", "e", {})
        sink.after_batch(1)
        self.close()

    def batches(self, sink: CudaSink) -> None:
        """Elements of stored leaves, many of a thread's at a time (`wide.py`)."""
        loaded = [
            k
            for k, leaf in enumerate(self.program.leaves)
            if leaf.kind == "stored" and leaf.mode in ("unit", "strided")
        ]
        if not loaded or self.program.table:
            return
        if sink.dealt:
            whole_tile(self, sink, loaded)
        else:
            batches(self, sink, loaded, self.batch_size(loaded))

    def batch_size(self, loaded: list[int]) -> int:
        """Elements of a batch: 64 bytes of each leaf, fewer where much is kept of each element."""
        widest = max(dtypes.itemsize(self.program.leaves[k].dtype) for k in loaded)
        short = len(self.program.element.instrs) <= 2 * len(loaded)
        kept = sum(
            term.bins.mode in ("residual", "search", "rare") for term in self.program.sink.terms
        )
        return max(1, min(64 // widest, 16 if short else 8) // max(1, kept))

    # Elements ------------------------------------------------------------------------------

    def element(
        self, sink: CudaSink, j: str, e: str, fetched: dict[str, str], a: str = "0"
    ) -> None:
        """Element (j, e), number ``a`` of its batch."""
        inputs = dict(fetched)
        for name, _ in self.program.element.inputs:
            if name not in inputs:
                inputs[name] = self.fetch(int(name.removeprefix("leaf")), j, e)
        sink.consume(self.body(self.program.element, inputs), j, e, a)

    def position(self, k: int, j: str, e: str) -> str:
        """The position element (j, e) reads of leaf ``k``."""
        leaves, sink = self.program.leaves, self.program.sink
        unit = leaves[k].mode == "unit" if k < len(leaves) else sink.unit_stride
        stride = "" if unit and not self.program.table else f" * {self.word(k, self.outer + 1)}"
        start = f"base{k} + {j}{stride}"
        return f"({start} + tables{k}[{e}])" if self.program.table else f"({start})"

    def fetch(self, k: int, j: str, e: str) -> str:
        leaf = self.program.leaves[k]
        at = self.position(k, j, e)
        if leaf.kind == "position":
            return at
        if leaf.kind == "stored":
            memory = "unsigned char" if leaf.dtype == "bool" else CTYPE[leaf.dtype]
            loaded = f"((const {memory} *)b{k})[{at}]"
            return f"({loaded} != 0)" if leaf.dtype == "bool" else loaded
        assert leaf.stream is not None
        return self.single(leaf.stream, at)

    def single(self, stream: Stream, at: str) -> str:
        """The value of ``stream`` at position ``at``."""
        self.serial += 1
        self.put(f"i64 at{self.serial} = {at};")
        return self.pipeline(stream.from_position, {"position": f"at{self.serial}"})["x"]

    # The function --------------------------------------------------------------------------

    def function(self, sink: CudaSink) -> str:
        words = HEADER + self.outer + (self.count + 1) * (self.outer + 2)
        slots = parameter_slots(self.program)
        arguments = [f"u64 g{k}" for k in range(words)]
        arguments += [f"u64 p{k}" for k in range(slots)]
        arguments += [f"u64 b{k}" for k in range(self.count)]
        if self.program.table:
            arguments += [f"const i64 *tables{k}" for k in range(self.count + 1)]
        arguments += ["u64 *out"]
        head = f'extern "C" __global__ void __launch_bounds__({THREADS}) kernel('
        return "\n".join(
            [
                PRELUDE,
                *self.constants.lines(),
                WIDE_SUPPORT,
                *sink.support(),
                head + ", ".join(arguments) + ") {",
                *self.constants.lanes(),
                *self.lines,
                "}",
                "",
            ]
        )


def elements_of_tile(program: Program) -> int:
    """Where a tile holds no runs: stores take small ones (`CudaLoops.dealt`)."""
    return TILE if program.sink.kind == "store" else ELEMENTS


def parameter_slots(program: Program) -> int:
    """How many parameter words the kernel takes."""
    bodies = [program.element]
    bodies += [s for leaf in program.leaves if leaf.stream for s in leaf.stream.bodies]
    used = [i.imm for body in bodies for i in body.instrs if i.op == "param"]
    used += [t.bins.slot + 1 for t in program.sink.terms if t.bins.mode in ("split", "residual")]
    return max(used, default=-1) + 1
