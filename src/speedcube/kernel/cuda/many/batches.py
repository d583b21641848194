"""The elements of a unit, added to a thread's sums: several loaded before any is added."""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ...many import Many
from ...program import Program, Sink
from ..segments import segment_tile
from ..text import HEADER, CudaText, memory
from ..wide import WIDE, wide
from .folds import Taking
from .near import AT_ONCE

SHORT: Final = 32  # instructions of a body that may as well stand there twice
# Bytes, and elements, of a row that a thread loads at once, where their instructions are no more.
AHEAD, MOST, UNROLLED = 64, 32, 768


class Adding(Taking):
    """Adds elements to the thread's sums.

    ``third``: a thread takes a whole row of few, and keeps what its tail rounds away.
    """

    def __init__(self, text: CudaText, sink: Sink, many: Many, third: bool, name: str = "") -> None:
        super().__init__(text, sink, "")
        self.many = many
        self.fine = all(map(many.is_fine, range(many.sums)))
        self.counts = not self.fine  # elements, for what is coarse
        self.pairs = many.sums == 1 and _has_error(text.program, name)
        # Those that are added some at once.
        self.singles = many.whole and many.sums == 1 and not self.pairs
        self.some, self.at_once = f"some{name}", False
        self.third = f"third{name}" if third and many.fine else None

    def start(self) -> None:
        if self.third:
            self.put(f"double {self.third} = 0.0;")

    def begin(self) -> None:
        if self.singles:
            self.put(f"double {self.some} = 0.0;")
            self.at_once = True

    def end(self) -> None:
        if self.singles:
            self.put(f"add_coarse(sums.of[0], {self.some});")
            self.at_once = False

    def take(self, outputs: dict[str, str], condition: str | None) -> None:
        """Add an element, or nothing where ``condition`` does not hold."""
        put, many, x = self.put, self.many, outputs["x"]
        put(f"double x = {_where(condition, x)};")
        if self.at_once:
            put("note_single(sums, x);")
            put(f"{self.some} += x;")
        else:
            put("note_most(sums, x);")
            self.add(_where(condition, outputs["error"]) if self.pairs else None)
        if many.sums == 2 and many.whole:
            put("add_coarse(sums.of[1], x * x);")
        elif many.sums == 2:
            put("add_square(sums.of[1], x);")
            put("note_least(sums, x);")
        if self.counts:
            put("added++;")

    def add(self, error: str | None) -> None:
        """Add ``x`` to the first sum, and what was rounded away from it, if there is any."""
        if error is not None:
            self.put(f"add_pair(sums.of[0], x, {error});")
        elif self.third:
            self.put(f"add_finest(sums.of[0], {self.third}, x);")
        else:
            self.put(f"add_{'fine' if self.many.fine else 'coarse'}(sums.of[0], x);")

    def done(self) -> None:
        """The thread has added all of its elements."""
        for k in range(self.many.sums):
            if not self.many.is_fine(k):
                self.put(f"scaled(sums.of[{k}], added);")
        if self.singles:
            self.put("at_once(sums, added);")
        if self.third:
            self.put(f"take_third(sums.of[0], {self.third}, {self.straight()});")

    def straight(self) -> str:
        """Whether all results are the first sum, or that divided by a power of two."""
        ops = set(self.many.ops)
        if ops == {"sum"}:
            return "true"
        count = f"bits_to_double(p{self.many.parameter})"
        return f"(double_to_bits({count}) << 12) == 0ull" if ops <= {"sum", "mean"} else "false"


def _where(condition: str | None, x: str) -> str:
    return x if condition is None else f"{condition} ? {x} : 0.0"


def _has_error(program: Program, name: str) -> bool:
    """Whether elements come with what was rounded away from them."""
    return any(output in ("error", f"{name}.error") for output, _ in program.element.outputs)


def by_segments(program: Program) -> bool:
    """Whether a block takes whole segments of a stream, along a row."""
    many = program.sink.many
    return many is not None and many.rows and any(leaf.mode == "segment" for leaf in program.leaves)


class ThreadBatches:
    """Prints the loops over a thread's elements."""

    def __init__(self, text: CudaText, sink: Taking, many: Many) -> None:
        self.text, self.sink, self.put = text, sink, text.put
        self.program, self.many = text.program, many
        self.loaded = self._loaded()

    def _loaded(self) -> list[int]:
        """The leaves that are loaded beforehand."""
        leaves = self.program.leaves
        if any(leaf.stream is not None for leaf in leaves):
            return []
        moving = ("unit", "strided")
        return [k for k, leaf in enumerate(leaves) if leaf.kind == "stored" and leaf.mode in moving]

    def digits(self, index: str, first: int, loops: int, to: str, count: int) -> None:
        """Add the offsets of position ``index`` of ``loops`` loops."""
        text = self.text
        if not loops:
            return
        text.open("")
        self.put(f"i64 rest = {index}" + ", digit;" * (loops > 1) + ";" * (loops == 1))
        for d in reversed(range(first, first + loops)):
            extent = f"(i64)g{HEADER + d}"
            if d > first:
                self.put(f"rest = quotient_of(rest, {extent}, digit);")
            for k in range(count):
                digit = "digit" if d > first else "rest"
                self.put(f"{to}{k} += {digit} * {text.word(k, 1 + d)};")
        text.close()

    def emit(self) -> None:
        """All elements of the unit that are this thread's."""
        if by_segments(self.program):
            self.stretches()
        elif self.many.rows:
            self.put("int count = (int)(j1 - j0);")
            self.text.open("for (i64 r = begin + d; r < end; r += deep)")
            self.bases("r", "from")
            for k in range(self.text.count):
                self.put(f"base{k} += j0 * {self.text.word(k, 1 + self.text.outer)};")
            self.batches("side", "i")
            self.text.close()
        else:
            self.put("int count = (int)(end - begin);")
            if self.program.reduced == 1:
                for k in range(self.text.count):
                    self.put(f"from{k} += begin * {self.text.word(k, 1 + self.program.kept)};")
                self.put("begin = 0;")
            self.batches("deep", "d")

    def bases(self, row: str, start: str) -> None:
        """The positions of leaves at reduced position ``row``."""
        for k in range(self.text.count):
            self.put(f"i64 base{k} = {start}{k};")
        self.digits(row, self.program.kept, self.program.reduced, "base", self.text.count)

    def stretches(self) -> None:
        """Tiles of whole segments, all of a block's."""
        leaf = next(leaf for leaf in self.program.leaves if leaf.mode == "segment")
        assert leaf.stream is not None
        self.text.open("for (i64 r = begin; r < end; r++)")
        self.bases("r", "from")
        self.text.open("for (i64 t = j0; t < j1; t++)")
        segment_tile(self.text, self.sink, leaf, leaf.stream)
        self.text.close()
        self.text.close()

    def at(self, n: str) -> None:
        """Element ``n`` of the unit: ``j`` of a row, or a reduced position of a column."""
        if self.many.rows:
            self.put(f"i64 j = {n};")
        else:
            self.bases(f"begin + {n}" if self.program.reduced > 1 else n, "from")

    def batches(self, step: str, mine: str) -> None:
        """The unit's elements ``mine``, and so on, ``step`` apart."""
        put, text = self.put, self.text
        if not self.loaded or len(self.program.element.instrs) > SHORT:
            text.open(f"for (int n = {mine}; n < count; n += {step})")
            self.at("n")
            self.sink.consume(text.element("j", "0", {}), "j", "0", "0")
            text.close()
            return
        put("int m = 0;")
        for size in dict.fromkeys((self.most(), AT_ONCE)):
            text.open(f"for (int batch = {size} * {step}; m + batch <= count; m += batch)")
            self.batch(size, self.near(), step, mine, False)
            text.close()
        text.open("if (m < count)")
        self.batch(AT_ONCE, 1, step, mine, True)
        text.close()

    def most(self) -> int:
        """Elements that a thread loads at once, of few bytes more than `AT_ONCE` of them.

        What is under way has to cover the time that memory takes: 32 bytes of a thread do not. Sums
        of rows of float32 on an H200: 428 -> 381 us.
        """
        if self.near() == 1 or self.many.short:
            return AT_ONCE
        size = sum(dtypes.itemsize(self.program.leaves[k].dtype) for k in self.loaded)
        fits = UNROLLED // max(1, len(self.program.element.instrs))
        return max(AT_ONCE, min(AHEAD // size, MOST, 1 << max(0, fits.bit_length() - 1)))

    def near(self) -> int:
        """Neighbours that a thread loads at once, along a row."""
        leaves = [self.program.leaves[k] for k in self.loaded]
        if not self.many.rows or any(leaf.mode != "unit" for leaf in leaves):
            return 1
        return min(AT_ONCE, WIDE // max(dtypes.itemsize(leaf.dtype) for leaf in leaves))

    def batch(self, size: int, near: int, step: str, mine: str, some: bool) -> None:
        """``size`` elements of a thread, or as many as there are; ``AT_ONCE`` are added at once."""
        put, text, nothing = self.put, self.text, " = {}" * some
        for k in self.loaded:
            kind = wide(self.program.leaves[k].dtype, near)
            put(f"{kind} ahead{k}[{size // near}]{nothing};")
        first = f"m + {near} * ((int){mine} + a * (int){step})"
        there = f"if (m + a * (int){step} < count)" * some
        put("#pragma unroll")
        text.open(f"for (int a = 0; a < {size // near}; a++)")
        text.open(there)
        put(f"int n = {first};")
        if some:
            put("if (n >= count) n = count - 1;")
        self.at("n")
        for k in self.loaded:
            self.load(k, near)
        text.close()
        text.close()
        if size > AT_ONCE:
            put("#pragma unroll")
            text.open(f"for (int s = 0; s < {size // near}; s += {AT_ONCE // near})")
        self.sink.begin()
        put("#pragma unroll")
        low, high = ("s", f"s + {AT_ONCE // near}") if size > AT_ONCE else (0, size // near)
        text.open(f"for (int a = {low}; a < {high}; a++)")
        text.open(there)
        put("#pragma unroll")
        text.open(f"for (int v = 0; v < {near}; v++)")
        put(f"int n = {first} + v;")
        self.at("n")
        outputs = text.element("j", "0", {f"leaf{k}": self.ahead(k) for k in self.loaded})
        self.sink.take(outputs, "n < count" if some else None)
        for _ in range(3):
            text.close()
        self.sink.end()
        if size > AT_ONCE:
            text.close()

    def load(self, k: int, near: int) -> None:
        """Leaf ``k`` of the elements from ``n`` on."""
        leaf = self.program.leaves[k]
        if near > 1:
            place = self.text.position(k, "j", "0")
            self.put(f"ahead{k}[a].load((const {memory(leaf.dtype)} *)b{k} + {place});")
        else:
            self.put(f"ahead{k}[a].x[0] = {self.text.fetch(k, 'j', '0')};")

    def ahead(self, k: int) -> str:
        """What was loaded, as the element body takes it."""
        loaded = f"ahead{k}[a].x[v]"
        return f"({loaded} != 0)" if self.program.leaves[k].dtype == "bool" else loaded
