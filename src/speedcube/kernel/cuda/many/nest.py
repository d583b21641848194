"""The kernel that finishes its results: where its threads are, and putting their sums together.

A block's threads are `side * deep` for each of `groups` positions of the kept loops. Side by side
they take results (columns) or elements of a result (rows); those deep take other reduced
positions. What is long is cut into parts, each a block's, and the last block of a result puts them
together: their order decides which results are certain, never what they are.

A unit is one part of the results that a block has at once. Arguments are as in `cuda/loops.py`,
but for the first ten words (first unit; end of units; reduced positions; kept positions; steps;
side, or the tiles of a row; deep; parts; reduced positions of a part; steps of a part, or tiles)
and for what comes after the output: how many results failed, their places, and for how many there
is room; how many parts of each block's results have arrived, and where those wait.
"""

from __future__ import annotations

from typing import Final

from ...folds import FOLDS
from ...program import Program
from ..hooks import WAIT
from ..loops import parameter_count
from ..prelude import PRELUDE, THREADS
from ..text import HEADER, CudaText
from ..wide import SUPPORT
from .batches import Adding, ThreadBatches, by_segments
from .finish import FINISH, giving
from .folds import Folding, folding, giving_fold
from .near import SUMS, TOGETHER
from .state import FOLD_TYPES, Together, numbers_of, state_of, state_type, state_words

# By sums a result: of how many parts a thread loads them before it puts any together, and how many
# blocks a multiprocessor holds at least, for which registers are kept few.
PARTS: Final = {1: 4, 2: 2}
LEAST_BLOCKS: Final = 2  # where there are more sums
SHORT_BLOCKS: Final = {1: 5, 2: 4}
BLOCKS: Final = {False: {1: 4, 2: 3}, True: {1: 3, 2: 3}}  # of columns, of rows


class ManyLoops:
    """Prints one kernel that finishes its results."""

    def __init__(self, program: Program) -> None:
        assert program.sink.many is not None
        self.program, self.many = program, program.sink.many
        self.text = CudaText(program)
        self.folds = program.sink.kind in FOLDS
        self.words = state_words(program)
        self.sums = sum(s.many.sums for s in program.sink.sinks if s.many and s.kind not in FOLDS)
        several = bool(program.sink.parts)
        self.type, self.name = ("State", "state") if several else ("Sums<SUMS>", "sums")
        self.sink = self.taking()
        self.batches = ThreadBatches(self.text, self.sink, self.many)
        self.put = self.text.put
        self.segments = by_segments(program)

    def taking(self) -> Adding | Folding | Together:
        """What takes the elements."""
        parts: list[Adding | Folding] = []
        for k, sink in enumerate(self.program.sink.sinks):
            if sink.kind in FOLDS:
                name = state_type(sink) if self.program.sink.parts else "Sums<SUMS>"
                parts.append(Folding(self.text, sink, name))
            else:
                assert sink.many is not None
                parts.append(Adding(self.text, sink, sink.many, self.many.short, str(k)))
        several = self.program.sink.parts
        return Together(self.text, parts) if several else parts[0]

    def emit(self) -> str:
        put, text = self.put, self.text
        if not self.program.sink.parts:
            put(f"constexpr int SUMS = {self.words if self.folds else self.many.sums};")
        if not self.many.short:
            put(f"__shared__ double waiting[{self.words} * THREADS];")
            put("__shared__ bool complete;")
        self.team()
        text.open("for (i64 u = (i64)g0 + blockIdx.x; u < (i64)g1; u += gridDim.x)")
        self.place()
        put(f"{self.type} {self.name};")
        put(f"{self.name}.clear();")
        if not self.sink.fine:
            put("i64 added = 0;")
        self.sink.start()
        self.batches.emit()
        self.sink.done()
        put("bool gives = inside;")
        if not self.many.short:
            self.together()
        self.give()
        text.close()
        return self.function()

    def team(self) -> None:
        """Where a thread is in its block, and how many blocks lie across."""
        put = self.put
        if self.segments:
            put("constexpr unsigned side = THREADS, deep = 1u, team = THREADS;")
            put("unsigned groups = 1u, group = 0u, d = 0u, i = threadIdx.x;")
            put("i64 steps = (i64)g5;")
        elif self.many.short:
            put("constexpr unsigned side = 1u, deep = 1u, groups = THREADS, d = 0u, i = 0u;")
            put("unsigned group = threadIdx.x;")
            put("i64 steps = (i64)g4;")
            return
        else:
            put("unsigned side = 1u << (int)g5, deep = 1u << (int)g6, team = side * deep;")
            put("int shift = (int)(g5 + g6);")
            put("unsigned groups = THREADS >> shift, group = threadIdx.x >> shift;")
            put("unsigned d = threadIdx.x >> (int)g5 & (deep - 1u), i = threadIdx.x & (side - 1u);")
            put("i64 steps = (i64)g4;")
        if self.many.rows:
            put("i64 each = (i64)g9, none, across = 1;")
            put("if ((i64)g7 > 1) across = quotient_of(steps + each - 1, each, none);")
        else:
            put("i64 across = (steps + side - 1) >> (int)g5;")

    def place(self) -> None:
        """The kept position, the results' place, and which part of them this is."""
        put, count = self.put, self.text.count
        if not self.many.short:
            put("i64 these = u, part = 0;")
            put("if ((i64)g7 > 1) these = quotient_of(u, (i64)g7, part);")
        if self.many.short:
            put("i64 o = u * groups + group, begin = 0, end = 1, j0 = 0, j1 = steps;")
            put("bool inside = o < (i64)g3;")
        elif self.many.rows:
            put("i64 o = these * groups + group;")
            put("i64 begin = 0, j0 = 0;")
            put("if ((i64)g7 > 1) begin = quotient_of(part, across, j0);")
            put("begin *= (i64)g8; j0 *= each;")
            put("i64 j1 = j0 + each < steps ? j0 + each : steps;")
            put("bool inside = o < (i64)g3;")
        else:
            put("i64 j, o = quotient_of(these, across, j) * groups + group;")
            put("j = j * side + i;")
            put("i64 begin = part * (i64)g8;")
            put("bool inside = o < (i64)g3 && j < steps;")
            put("if (j >= steps) j = steps - 1;")
        put("if (o >= (i64)g3) o = (i64)g3 - 1;")
        if not self.many.short:
            put("i64 end = begin + (i64)g8 < (i64)g2 ? begin + (i64)g8 : (i64)g2;")
        for k in range(count + 1):
            put(f"i64 from{k} = {self.text.word(k, 0)};")
        self.batches.digits("o", 0, self.program.kept, "from", count + 1)

    def together(self) -> None:
        """The sums of all threads, and of all parts; one thread of each result's has them."""
        put, text, rows = self.put, self.text, self.many.rows
        first = "1u" if rows else "side"
        put(f"together({self.name}, {first}, team, waiting);")
        put(f"gives = inside && {'(threadIdx.x & (team - 1u)) == 0u' if rows else 'd == 0'};")
        text.open("if ((i64)g7 > 1)")
        slot, slots = ("group", "groups") if rows else ("group * side + i", "groups * side")
        put(f"i64 slots = {slots}, size = {self.words} * slots;")
        put(f"double *mine = partial + these * (i64)g7 * size + ({slot});")
        put(
            "if (gives) keep(mine + part * size, slots, {self.name});".replace(
                "{self.name}", self.name
            )
        )
        put("__threadfence();")
        put(WAIT)
        put("if (threadIdx.x == 0)")
        put("  complete = atomicAdd(arrived + these, 1ull) == g7 - 1ull;")
        put(WAIT)
        put("bool all = complete;")
        text.open("if (all)")
        put("__threadfence();")
        put("if (threadIdx.x == 0) arrived[these] = 0ull;  /* for the next launch */")
        put(f"{self.name}.clear();")
        parts = PARTS.get(self.sums or 1, 1)
        member, members = ("threadIdx.x & (team - 1u)", "team") if rows else ("d", "deep")
        put(f"i64 members = {members};")
        text.open(f"for (i64 p = {member}; p < (i64)g7; p += {parts} * members)")
        put(f"{self.type} other[{parts}];")
        put("#pragma unroll")
        text.open(f"for (int a = 0; a < {parts}; a++)")
        put(
            "if (p + a * members < (i64)g7) take(mine + (p + a * members) * size, slots, other[a]);"
        )
        put("else other[a].clear();")
        text.close()
        put("#pragma unroll")
        put(f"for (int a = 0; a < {parts}; a++) merge({self.name}, other[a]);")
        text.close()
        put(f"together({self.name}, {first}, team, waiting);")
        text.close()
        put("gives = gives && all;")
        text.close()

    def give(self) -> None:
        """The result of a thread that has it all."""
        text, rows = self.text, self.many.rows
        text.open("if (gives)")
        count = self.text.count
        stride = "" if self.program.sink.unit_stride else f" * {text.word(count, text.outer + 1)}"
        place = f"from{count}" if rows else f"(from{count} + j{stride})"
        if self.program.sink.parts:
            self.give_several(place)
        elif self.folds:
            self.lines(giving_fold(self.many.op, self.program.sink.dtype, place))
        else:
            self.lines(giving(self.many, self.program.sink.dtype, place))
        text.close()

    def give_several(self, place: str) -> None:
        """Every result of every part."""
        of = [(k, n) for k, sink in enumerate(self.program.sink.parts) for n in numbers_of(sink)]
        for output, (k, n) in enumerate(of):
            sink = self.program.sink.parts[k]
            assert sink.many is not None
            self.text.open("")
            self.put(f"auto &sums = state.part{k};")
            self.put(f"u64 *out = out_{output};")
            code = f"({place}) * {len(of)} + {output}"
            if sink.kind in FOLDS:
                self.lines(giving_fold(sink.many.op, sink.dtype, place))
            else:
                self.put(f"constexpr int SUMS = {sink.many.sums};")
                self.lines(giving(sink.many, sink.dtype, place, n, code))
            self.text.close()

    def lines(self, lines: list[str]) -> None:
        for line in lines:
            self.put(line)

    def support(self) -> list[str]:
        """What a thread has of a result, and what is done with it."""
        sinks = self.program.sink.sinks
        kinds = dict.fromkeys(sink.kind for sink in sinks)
        texts = [SUMS] if "many" in kinds else []
        if self.program.sink.parts:
            texts += [folding(kind, FOLD_TYPES[kind]) for kind in kinds if kind in FOLDS]
            texts.append(state_of(sinks))
        elif self.folds:
            texts.append(folding(self.program.sink.kind))
        return [*texts, TOGETHER, *([FINISH] if "many" in kinds else [])]

    def function(self) -> str:
        text = self.text
        count = HEADER + text.outer + (text.count + 1) * (text.outer + 2)
        arguments = [f"u64 g{k}" for k in range(count)]
        arguments += [f"u64 p{k}" for k in range(parameter_count(self.program))]
        arguments += [f"u64 b{k}" for k in range(text.count)]
        outputs = range(sum(len(numbers_of(sink)) for sink in self.program.sink.parts))
        arguments += [f"u64 *out_{k}" for k in outputs] or ["u64 *out"]
        arguments += ["u64 *failed", "u64 *places", "u64 room"]
        arguments += ["u64 *arrived", "double *partial"]
        blocks = SHORT_BLOCKS if self.many.short else BLOCKS[self.many.rows]
        bounds = f"{THREADS}, {blocks.get(self.sums or 1, LEAST_BLOCKS)}"
        head = f'extern "C" __global__ void __launch_bounds__({bounds}) kernel('
        return "\n".join(
            [
                PRELUDE,
                *text.constants.lines(),
                SUPPORT,
                *self.support(),
                head + ", ".join(arguments) + ") {",
                *text.constants.lanes(),
                *text.lines,
                "}",
                "",
            ]
        )
