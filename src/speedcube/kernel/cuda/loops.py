"""The loops of a GPU kernel around its bodies, as CUDA C.

A unit is one piece of one result record: block ``u % gridDim`` takes unit u, walks the piece's
tiles with all its threads, and adds to the record by integer atomics, whose order cannot matter
(argmin writes a record for each unit, merged by the host). In a
tile of a ``segment`` leaf each thread takes whole blocks of the stream: the values of a block lie
W / stride elements apart, so each thread computes that many elements. Otherwise a thread takes
single elements.

Arguments, all 8 bytes: geometry ``g0 ...`` (kept begin; kept count; reduced begin, count; tile
steps; rows; inner; pieces; tiles of a row; tiles of a piece; then, for each leaf and the result:
offset, outer strides, tile stride; the outer extents before them), parameters ``p0 ...``,
leaf addresses ``b0 ...``, offset tables ``t0 ...``, the output.
"""

from __future__ import annotations

from typing import Final

from ... import dtypes
from ..program import Program
from .prelude import ELEMENTS, PRELUDE, THREADS, TILE
from .segments import segment_tile
from .sinks import sink_of
from .text import HEADER, CudaText
from .wide import SUPPORT as WIDE_SUPPORT
from .wide import batches, tile_of_neighbours

# Numbers that are never negative: a division of 64 bits takes as long as eighty operations.
QUOTIENT: Final = """\
__device__ __forceinline__ i64 quotient(i64 a, i64 b) {
  return (u64)(a | b) >> 32 ? a / b : (i64)((unsigned)a / (unsigned)b);
}
"""


class CudaLoops:
    """Prints one kernel."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.text = CudaText(program)
        self.sink = sink_of(self.text)

    # The nest ------------------------------------------------------------------------------

    def emit(self) -> str:
        self.sink.declare()
        kept, pieces, row_tiles, piece_tiles = "(i64)g1", "(i64)g7", "(i64)g8", "(i64)g9"
        self.text.open(f"for (i64 u = blockIdx.x; u < {kept} * {pieces}; u += gridDim.x)")
        if self.sink.dealt:
            self.dealt()
            self.text.close()
            return self.function()
        self.sink.begin()
        self.text.put(f"i64 o = (i64)g0 + u / {pieces}, q = (u % {pieces}) * {piece_tiles};")
        self.text.put(f"i64 stop = q + {piece_tiles}, all = (i64)g3 * {row_tiles};")
        self.text.put("if (stop > all) stop = all;")
        self.text.put(f"i64 r = (i64)g2 + q / {row_tiles}, t = q % {row_tiles};")
        self.text.open("while (q < stop)")
        self.bases()
        self.text.put(
            f"i64 row_stop = q + ({row_tiles} - t); if (row_stop > stop) row_stop = stop;"
        )
        self.text.open("for (; q < row_stop; q++, t++)")
        self.tile()
        self.sink.after_tile()
        self.text.close()
        self.text.put("t = 0; r++;")
        self.text.close()
        self.sink.end()
        self.text.close()
        return self.function()

    def dealt(self) -> None:
        """A piece is one tile of the only row (every ``pieces``-th if those would be too many).

        The hardware then hands tiles out in their order. Blocks that stay and walk through the row
        reach 86 to 93 % of a copy's speed on an H200, side by side or apart; these reach all of it.
        """
        self.text.put("i64 o = (i64)g0, t = u, r = (i64)g2;")
        self.text.put(
            "if ((i64)g1 > 1) { i64 row = quotient(u, (i64)g7); o += row; t -= row * (i64)g7; }"
        )
        self.bases()
        self.text.open("for (; t < (i64)g8; t += (i64)g7)")
        self.tile()
        self.text.close()

    def bases(self) -> None:
        """Positions of each leaf and the result at the start of row (o, r)."""
        for k in range(self.text.count + 1):
            self.text.put(f"i64 base{k} = {self.text.word(k, 0)};")
        for index, first, loops in (
            ("o", 0, self.program.kept),
            ("r", self.program.kept, self.program.reduced),
        ):
            self.text.open("")
            self.text.put(f"i64 rest = {index};")
            for d in reversed(range(first, first + loops)):
                if d == first:
                    self.text.put(f"i64 digit{d} = rest;")
                else:
                    extent = f"(i64)g{HEADER + d}"
                    self.text.put(f"i64 rows{d} = quotient(rest, {extent});")
                    self.text.put(f"i64 digit{d} = rest - rows{d} * {extent}; rest = rows{d};")
                for k in range(self.text.count + 1):
                    self.text.put(f"base{k} += digit{d} * {self.text.word(k, 1 + d)};")
            self.text.close()

    def tile(self) -> None:
        """Segments of the stream where a leaf follows them, else elements one by one."""
        for leaf in self.program.leaves:
            if leaf.mode == "segment" and leaf.stream is not None:
                return segment_tile(self.text, self.sink, leaf, leaf.stream)
        self.element_tile()

    def element_tile(self) -> None:
        """Elements one by one; ``t`` counts tiles of the row."""
        if self.program.table:
            self.text.put("i64 j0 = t * (i64)g5, left = (i64)g4 - j0;")
            self.text.put("i64 take = left > (i64)g5 ? (i64)g5 : left;")
            self.text.put("int high = (int)(take * (i64)g6);")
        else:
            size = elements_of_tile(self.program)
            self.text.put(f"i64 j0 = t * {size}, left = (i64)g4 - j0;")
            self.text.put(f"int high = left > {size} ? {size} : (int)left;")
        self.text.put("int e = threadIdx.x;")
        self.text.open(self.batches())
        self.sink.batch(1)
        j = "j0" if self.program.table else "(j0 + e)"
        self.sink.consume(self.text.element(j, "e", {}), j, "e", "0")
        self.sink.after_batch(1)
        self.text.close()

    def batches(self) -> str:
        """Elements of stored leaves, many at a time (`wide.py`); what comes round the others."""
        one_by_one = "for (; e < high; e += THREADS)"
        loaded = [
            k
            for k, leaf in enumerate(self.program.leaves)
            if leaf.kind == "stored" and leaf.mode in ("unit", "strided")
        ]
        if not loaded or self.program.table:
            return one_by_one
        if self.sink.dealt:
            return tile_of_neighbours(self.text, self.sink, loaded)
        batches(self.text, self.sink, loaded, self.batch_size(loaded))
        return one_by_one

    def batch_size(self, loaded: list[int]) -> int:
        """Elements of a batch: 64 bytes of each leaf, fewer where much is held of each element."""
        widest = max(dtypes.itemsize(self.program.leaves[k].dtype) for k in loaded)
        short = len(self.program.element.instrs) <= 2 * len(loaded)
        held = sum(
            term.bins.mode in ("residual", "search", "rare") for term in self.program.sink.all_terms
        )
        return max(1, min(64 // widest, 16 if short else 8) // max(1, held))

    # The function --------------------------------------------------------------------------

    def function(self) -> str:
        words = HEADER + self.text.outer + (self.text.count + 1) * (self.text.outer + 2)
        parameters = parameter_count(self.program)
        arguments = [f"u64 g{k}" for k in range(words)]
        arguments += [f"u64 p{k}" for k in range(parameters)]
        arguments += [f"u64 b{k}" for k in range(self.text.count)]
        if self.program.table:
            arguments += [f"const i64 *tables{k}" for k in range(self.text.count + 1)]
        parts = range(len(self.program.sink.parts))
        arguments += [f"u64 *out_{k}" for k in parts] or ["u64 *out"]
        head = f'extern "C" __global__ void __launch_bounds__({THREADS}) kernel('
        return "\n".join(
            [
                PRELUDE,
                *self.text.constants.lines(),
                WIDE_SUPPORT,
                QUOTIENT,
                *self.sink.support(),
                head + ", ".join(arguments) + ") {",
                *self.text.constants.lanes(),
                *self.text.lines,
                "}",
                "",
            ]
        )


def elements_of_tile(program: Program) -> int:
    """Where a tile holds no segments: stores take small ones (`CudaLoops.dealt`)."""
    return TILE if program.sink.stores else ELEMENTS


def parameter_count(program: Program) -> int:
    """How many parameter words the kernel takes."""
    bodies = [program.element]
    bodies += [s for leaf in program.leaves if leaf.stream for s in leaf.stream.bodies]
    used = [i.imm for body in bodies for i in body.instrs if i.op == "param"]
    bins = [term.bins for term in program.sink.all_terms]
    used += [b.parameter + 1 for b in bins if b.mode in ("split", "residual")]
    for sink in program.sink.sinks:
        if sink.many is not None and sink.kind == "many":
            used += [sink.many.spread(k) for k in range(len(sink.many.ops))]
    return max(used, default=-1) + 1
