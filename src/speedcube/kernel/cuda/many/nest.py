"""The kernel that finishes its results: where its threads are, and putting their sums together.

A block's threads are `side * deep` for each of `groups` positions of the kept loops. Side by side
they take results (columns) or elements of a result (rows); those deep take other reduced
positions. What is long is cut into parts, each a block's, and the last block of a result puts them
together: their order decides which results are certain, never what they are.

A unit is one part of the results that a block has at once. Arguments are as in `cuda/loops.py`,
but for the first ten words (first unit; end of units; reduced positions; kept positions; steps;
side, or the tiles of a row; deep; parts; reduced positions of a part; steps of a part, or tiles)
and for what comes after the output: how many results failed and, of each block's results, how many
parts have arrived; the places of those that failed, and for how many there is room; where the sums
of parts wait.
"""

from __future__ import annotations

from ...program import Program
from ..hooks import WAIT
from ..loops import parameter_count
from ..prelude import PRELUDE, THREADS
from ..text import HEADER, CudaText
from ..wide import SUPPORT
from .batches import Adding, Batches, by_segments
from .finish import FINISH, giving
from .near import SUMS, words


class ManyLoops:
    """Prints one kernel that finishes its results."""

    def __init__(self, program: Program) -> None:
        assert program.sink.many is not None
        self.program, self.many = program, program.sink.many
        self.text = CudaText(program)
        self.sink = Adding(self.text, self.many)
        self.batches = Batches(self.text, self.sink)
        self.put = self.text.put
        self.segments = by_segments(program)

    def emit(self) -> str:
        put, text = self.put, self.text
        put(f"constexpr int SUMS = {self.many.sums};")
        put(f"__shared__ double waiting[{words(self.many.sums)} * THREADS];")
        put("__shared__ bool complete;")
        side, deep = ("THREADS", "1u") if self.segments else ("(unsigned)g5", "(unsigned)g6")
        put(f"unsigned side = {side}, deep = {deep}, team = side * deep;")
        put("unsigned groups = THREADS / team, group = threadIdx.x / team;")
        put("unsigned d = threadIdx.x / side % deep, i = threadIdx.x % side;")
        steps = "(i64)g5" if self.segments else "(i64)g4"
        put(f"i64 steps = {steps}, each = {'(i64)g9' if self.many.rows else 'side'};")
        put("i64 across = (steps + each - 1) / each;")
        text.open("for (i64 u = (i64)g0 + blockIdx.x; u < (i64)g1; u += gridDim.x)")
        self.place()
        put("Sums<SUMS> sums;")
        put("sums.clear();")
        if not self.sink.fine:
            put("i64 added = 0;")
        self.batches.emit()
        self.sink.done()
        self.together()
        text.close()
        return self.function()

    def place(self) -> None:
        """The kept position, the results' place, and which part of them this is."""
        put, count = self.put, self.text.count
        put("i64 these = u / (i64)g7, part = u % (i64)g7;")
        if self.many.rows:
            put("i64 o = these * groups + group;")
            put("i64 begin = part / across * (i64)g8, j0 = part % across * each;")
            put("i64 j1 = j0 + each < steps ? j0 + each : steps;")
            put("bool inside = o < (i64)g3;")
        else:
            put("i64 o = these / across * groups + group, j = these % across * side + i;")
            put("i64 begin = part * (i64)g8;")
            put("bool inside = o < (i64)g3 && j < steps;")
            put("if (j >= steps) j = steps - 1;")
        put("if (o >= (i64)g3) o = (i64)g3 - 1;")
        put("i64 end = begin + (i64)g8 < (i64)g2 ? begin + (i64)g8 : (i64)g2;")
        for k in range(count + 1):
            put(f"i64 from{k} = {self.text.word(k, 0)};")
        self.batches.digits("o", 0, self.program.kept, "from", count + 1)

    def together(self) -> None:
        """The sums of all threads, and of all parts; one thread of each result's gives it."""
        put, text, rows = self.put, self.text, self.many.rows
        first = "1u" if rows else "side"
        put(f"together(sums, {first}, team, waiting);")
        put(f"bool gives = inside && {'threadIdx.x % team == 0' if rows else 'd == 0'};")
        text.open("if ((i64)g7 > 1)")
        slot, slots = ("group", "groups") if rows else ("group * side + i", "groups * side")
        put(f"i64 slots = {slots}, size = {words(self.many.sums)} * slots;")
        put(f"double *mine = partial + these * (i64)g7 * size + ({slot});")
        put("if (gives) keep(mine + part * size, slots, sums);")
        put("__threadfence();")
        put(WAIT)
        put("if (threadIdx.x == 0)")
        put("  complete = atomicAdd(failed + 1 + these, 1ull) == g7 - 1ull;")
        put(WAIT)
        put("bool all = complete;")
        text.open("if (all)")
        put("__threadfence();")
        put("if (threadIdx.x == 0) failed[1 + these] = 0ull;  /* for the next launch */")
        put("sums.clear();")
        member, members = ("threadIdx.x % team", "team") if rows else ("d", "deep")
        text.open(f"for (i64 p = {member}; p < (i64)g7; p += {members})")
        put("Sums<SUMS> other;")
        put("if (inside) take(mine + p * size, slots, other);")
        put("else other.clear();")
        put("merge(sums, other);")
        text.close()
        put(f"together(sums, {first}, team, waiting);")
        text.close()
        put("gives = gives && all;")
        text.close()
        text.open("if (gives)")
        count = self.text.count
        stride = "" if self.program.sink.unit_stride else f" * {text.word(count, text.outer + 1)}"
        place = f"from{count}" if rows else f"(from{count} + j{stride})"
        for line in giving(self.many, self.program.sink.dtype, place):
            put(line)
        text.close()

    def function(self) -> str:
        text = self.text
        count = HEADER + text.outer + (text.count + 1) * (text.outer + 2)
        arguments = [f"u64 g{k}" for k in range(count)]
        arguments += [f"u64 p{k}" for k in range(parameter_count(self.program))]
        arguments += [f"u64 b{k}" for k in range(text.count)]
        arguments += ["u64 *out", "u64 *failed", "u64 *places", "u64 room", "double *partial"]
        head = f'extern "C" __global__ void __launch_bounds__({THREADS}) kernel('
        return "\n".join(
            [
                PRELUDE,
                *text.constants.lines(),
                SUPPORT,
                SUMS,
                FINISH,
                head + ", ".join(arguments) + ") {",
                *text.constants.lanes(),
                *text.lines,
                "}",
                "",
            ]
        )
