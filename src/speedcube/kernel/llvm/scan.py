"""Products, running products and running sums on a CPU: elements in memory, in their order.

    void kernel(words, values, state, scratch, out)

``values`` holds ``count`` elements of lines of ``length``, the first at ``position`` of its line.
``words`` (int64) are these three; then ``last``: not 0 where no more elements follow; then two
answers: how many elements were taken, and how many results a product gave. What goes on from one
call to the next is in ``state``.

* A product is a balanced tree fixed by the elements' places in their line: neighbours 2k and
  2k + 1 are multiplied, then the products of neighbours, and so on; what has no neighbour stays.
  ``prod`` gives the products of pieces of `TILE` elements, aligned in their line.
* A running product is the tree's product of all whole pieces before, times the elements of its
  own piece multiplied from the left. ``state`` is the number of pieces before, then the products
  of the aligned groups of 2**k pieces that they make up.
* A running sum is exact. With the tile's largest magnitude below 2**E three units are chosen, 43
  bits apart; x is split into a multiple of each, by adding and subtracting 1.5 * 2**k. The three
  running sums cannot round, and their sum is rounded once. A tile that is too wide (a bit is left
  over: 2**-128 of the largest), too large, or has infinities or NaNs goes to limbs, one by one.
  ``state`` is whether the sum so far is in limbs, its three parts, its limbs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ... import dtypes
from ...expr.space import TILE
from ..program import LIMBS, Ordered
from .accumulator import LIMB_CARRY, LIMB_ROUND, LIMBS_ADD
from .float_mode import floating_point_mode
from .memory import ALIGN, masked_load, masked_store
from .text import SCALAR, Text, kept, literal

COUNT, POSITION, LENGTH, LAST, TAKEN, MADE = range(6)
WORDS: Final = 6
PARTS: Final = 3  # parts of a running sum
LIMBS_AT: Final = 4  # of a state
STATE: Final = LIMBS_AT + LIMBS  # 8-byte words
SCRATCH: Final = (PARTS * TILE + 256) * 8  # bytes

_CHUNK: Final = 11  # a tile and what came before it are fewer than 2**11 terms
_APART: Final = 54 - _CHUNK
# Biased exponents of a tile's largest magnitude. The least sets the last unit to 2**-1074; the
# greatest leaves room for 2**11 such terms.
_LEAST: Final = 1 + 2 * _APART - _CHUNK
_MOST: Final = 2046 - _CHUNK - 1
_SIGNLESS: Final = 2**63 - 1
_NANS: Final = {"float64": 0x7FF8 << 48, "float32": 0x7FC0 << 16}


class OrderedLoops:
    """Emits one kernel with vectors of ``lanes`` elements."""

    def __init__(self, program: Ordered, lanes: int) -> None:
        self.program = program
        self.text = Text(lanes)
        self.float = dtypes.is_float(program.dtype)
        self.scalar = SCALAR[program.dtype]
        self.out = SCALAR[program.out]
        self.odd = program.odd or program.out == "float32"  # since it is rounded again
        self.one = literal(1, program.dtype)
        self.limbs = ""  # a pointer, where they are needed

    def emit(self) -> str:
        """The whole function."""
        t = self.text
        self.count, self.length, last = (self.word(k) for k in (COUNT, LENGTH, LAST))
        self.last = t.op(f"icmp ne i64 {last}, 0")
        BODIES[self.program.op, self.float](self)
        return self.function()

    def function(self) -> str:
        from_mode, to_mode, declares = floating_point_mode()
        head = "define void @kernel(ptr %words, ptr %values, ptr %state, ptr %scratch, ptr %out) #0"
        return "\n".join(
            [
                *sorted({*self.text.declares, *declares}),
                *((LIMBS_ADD, LIMB_CARRY, LIMB_ROUND) if self.limbs else ()),
                head + " {",
                "entry:",
                *self.text.allocas,
                *from_mode,
                *self.text.lines,
                *to_mode,
                "  ret void",
                "}",
                'attributes #0 = { nounwind "no-builtins" }',
                "",
            ]
        )

    # Words, vectors ------------------------------------------------------------------------

    def word(self, index: int) -> str:
        return self.text.load("i64", self.text.at("%words", index))

    def answer(self, index: int, value: str) -> None:
        self.text.store("i64", value, self.text.at("%words", index))

    def value(self, index: str) -> str:
        return self.text.at("%values", index, self.scalar)

    def part(self, k: int) -> str:
        return self.text.at("%scratch", k * TILE)

    def each(self, count: str, body: Callable[[str, str | None], None]) -> None:
        """``body(j, mask)`` for vector after vector; the last with a mask (others: None)."""
        t = self.text
        whole = t.i64("and", count, -t.lanes)
        with t.loop(0, whole, t.lanes) as j:
            body(j, None)
        rest = t.i64("sub", count, whole)
        with t.when(t.op(f"icmp sgt i64 {rest}, 0")):
            v = t.vector("i64")
            body(whole, t.op(f"icmp slt {v} {t.iota('0')}, {t.splat('i64', rest)}"))

    def fetch(self, pointer: str, mask: str | None) -> str:
        t = self.text
        if mask is not None:
            return masked_load(t, self.scalar, pointer, mask)
        return t.load(t.vector(self.scalar), pointer, 8)

    def put(self, value: str, pointer: str, mask: str | None) -> None:
        if mask is not None:
            masked_store(self.text, self.out, value, pointer, mask)
        else:
            self.text.store(self.text.vector(self.out), value, pointer, ALIGN[self.out])

    def multiply(self, a: str, b: str, vector: bool = False) -> str:
        name = "fmul" if self.float else "mul"
        kind = self.text.vector(self.scalar) if vector else self.scalar
        return self.text.op(f"{name} {kind} {a}, {b}")

    def finished(self, x: str, vector: bool = False) -> str:
        """``x`` as it is given: rounded to the result's dtype, with NumPy's NaN."""
        t = self.text
        if not self.float:
            return x
        word = "i64" if self.out == "double" else "i32"
        wide, narrow, bits = (t.vector(s) if vector else s for s in (self.scalar, self.out, word))
        which = t.vector("i1") if vector else "i1"
        if self.out != self.scalar:
            x = t.op(f"fptrunc {wide} {x} to {narrow}")
        odd = t.op(f"fcmp uno {narrow} {x}, {x}")
        raw = t.op(f"bitcast {narrow} {x} to {bits}")
        nan = _NANS[self.program.out]
        nan_ = f"splat ({word} {nan})" if vector else str(nan)
        chosen = t.op(f"select {which} {odd}, {bits} {nan_}, {bits} {raw}")
        return t.op(f"bitcast {bits} {chosen} to {narrow}")

    # Products ------------------------------------------------------------------------------

    @contextmanager
    def pieces(self) -> Iterator[tuple[str, str, str]]:
        """``(first element, its position in its line, elements)`` of piece after whole piece."""
        t = self.text
        at = t.variable("i64", "0", "at")
        position = t.variable("i64", self.word(POSITION), "position")
        head, begun, body, done = (t.name(h) for h in ("piece", "begun", "piecebody", "piecedone"))
        t.line(f"br label %{head}")
        t.label(head)
        first, place = t.load("i64", at), t.load("i64", position)
        left = t.i64("sub", self.count, first)
        t.line(f"br i1 {t.op(f'icmp sgt i64 {left}, 0')}, label %{begun}, label %{done}")
        t.label(begun)
        inside = t.i64("sub", TILE, t.i64("and", place, TILE - 1))
        size = t.minimum(inside, t.i64("sub", self.length, place))
        whole = t.op(f"icmp sle i64 {size}, {left}")
        size = t.minimum(size, left)
        t.line(f"br i1 {t.op(f'or i1 {whole}, {self.last}')}, label %{body}, label %{done}")
        t.label(body)
        yield first, place, size
        t.store("i64", t.i64("add", first, size), at)
        after = t.i64("add", place, size)
        ended = t.op(f"icmp eq i64 {after}, {self.length}")
        t.store("i64", t.op(f"select i1 {ended}, i64 0, i64 {after}"), position)
        t.line(f"br label %{head}")
        t.label(done)
        self.answer(TAKEN, t.load("i64", at))

    def product(self, first: str, size: str) -> str:
        """The product of ``size`` elements, neighbours first, in the scratch memory."""
        t = self.text
        v = t.vector(self.scalar)
        ones = t.constant(1, self.program.dtype)

        def copy(j: str, mask: str | None) -> None:
            x = self.fetch(self.value(t.i64("add", first, j)), mask)
            x = kept(t, self.scalar, mask, x, ones)
            t.store(v, x, t.at("%scratch", j), 8)

        def pad(used: str) -> None:
            """Ones behind the ``used`` elements, as far as pairs of vectors reach."""
            end = t.i64("and", t.i64("add", used, t.lanes - 1), -t.lanes)
            t.store(v, ones, t.at("%scratch", end), 8)

        self.each(size, copy)
        pad(size)
        left = t.variable("i64", size, "left")
        head, body, done = (t.name(h) for h in ("level", "levelbody", "leveldone"))
        t.line(f"br label %{head}")
        t.label(head)
        now = t.load("i64", left)
        t.line(f"br i1 {t.op(f'icmp sgt i64 {now}, 1')}, label %{body}, label %{done}")
        t.label(body)
        half = t.i64("lshr", t.i64("add", now, 1), 1)
        with t.loop(0, half, t.lanes) as k:
            source = t.at("%scratch", t.i64("shl", k, 1))
            low, high = t.load(v, source, 8), t.load(v, t.at(source, t.lanes), 8)
            pair = [
                t.op(f"shufflevector {v} {low}, {v} {high}, {_every_second(t.lanes, start)}")
                for start in (0, 1)
            ]
            t.store(v, self.multiply(pair[0], pair[1], vector=True), t.at("%scratch", k), 8)
        pad(half)
        t.store("i64", half, left)
        t.line(f"br label %{head}")
        t.label(done)
        return t.load(self.scalar, "%scratch")

    def products(self) -> None:
        """prod: one result for each piece."""
        t = self.text
        made = t.variable("i64", "0", "made")
        with self.pieces() as (first, _, size):
            k = t.load("i64", made)
            found = self.finished(self.product(first, size))
            t.store(self.out, found, t.at("%out", k, self.out))
            t.store("i64", t.i64("add", k, 1), made)
        self.answer(MADE, t.load("i64", made))

    def running_products(self) -> None:
        """cumprod: the product of the pieces before, times what the piece has had."""
        t = self.text
        with self.pieces() as (first, place, size):
            with t.when(t.op(f"icmp eq i64 {place}, 0")):
                t.store("i64", "0", "%state")
            before = t.load("i64", "%state")
            base = self.before(before)
            run = t.variable(self.scalar, self.one, "run")
            with t.loop(first, t.i64("add", first, size)) as j:
                x = t.load(self.scalar, self.value(j))
                x = self.multiply(t.load(self.scalar, run), x)
                t.store(self.scalar, x, run)
                found = self.finished(self.multiply(base, x))
                t.store(self.out, found, t.at("%out", j, self.out))
            more = t.op(f"icmp slt i64 {t.i64('add', place, size)}, {self.length}")
            with t.when(more):
                self.push(before, self.product(first, size))

    def before(self, count: str) -> str:
        """The product of the first ``count`` pieces: groups of 2**k, the last ones first."""
        t = self.text
        total = t.variable(self.scalar, self.one, "before")
        t.declares.add("declare i64 @llvm.ctlz.i64(i64, i1)")
        levels = t.i64("sub", 64, t.op(f"call i64 @llvm.ctlz.i64(i64 {count}, i1 false)"))
        with t.loop(0, levels) as k:
            bit = t.i64("and", t.i64("lshr", count, k), 1)
            with t.when(t.op(f"icmp ne i64 {bit}, 0")):
                group = t.load(self.scalar, self.group(k))
                t.store(self.scalar, self.multiply(group, t.load(self.scalar, total)), total)
        return t.load(self.scalar, total)

    def push(self, count: str, product: str) -> None:
        """One more piece: groups of equal size become one."""
        t = self.text
        total = t.variable(self.scalar, product, "group")
        t.declares.add("declare i64 @llvm.cttz.i64(i64, i1)")
        free = t.i64("xor", count, -1)
        level = t.op(f"call i64 @llvm.cttz.i64(i64 {free}, i1 false)")
        with t.loop(0, level) as k:
            group = t.load(self.scalar, self.group(k))
            t.store(self.scalar, self.multiply(group, t.load(self.scalar, total)), total)
        t.store(self.scalar, t.load(self.scalar, total), self.group(level))
        t.store("i64", t.i64("add", count, 1), "%state")

    def group(self, level: str) -> str:
        return self.text.at("%state", self.text.i64("add", level, 1))

    # Running sums --------------------------------------------------------------------------

    def lines(
        self, first: str, size: str, position: str, body: Callable[[str], None], reset: list[str]
    ) -> None:
        """``body(j)`` for elements in order; variables ``reset`` become 0 at the end of a line."""
        t = self.text
        with t.loop(first, t.i64("add", first, size)) as j:
            body(j)
            with t.when(self.step(position), rarely=True):
                for variable in reset:
                    t.store(self.scalar, literal(0, self.program.dtype), variable)

    def step(self, position: str) -> str:
        """One element on; whether a line ended."""
        t = self.text
        after = t.i64("add", t.load("i64", position), 1)
        ended = t.op(f"icmp eq i64 {after}, {self.length}")
        t.store("i64", t.op(f"select i1 {ended}, i64 0, i64 {after}"), position)
        return ended

    def wrapping_sums(self) -> None:
        """Running sums of integers."""
        t = self.text
        position = t.variable("i64", self.word(POSITION), "position")
        total = t.variable(self.scalar, t.load(self.scalar, "%state"), "total")

        def add(j: str) -> None:
            x = t.i64("add", t.load("i64", total), t.load("i64", self.value(j)))
            t.store("i64", x, total)
            t.store("i64", x, t.at("%out", j))

        self.lines("0", self.count, position, add, [total])
        t.store("i64", t.load("i64", total), "%state")
        self.answer(TAKEN, self.count)

    def exact_sums(self) -> None:
        """Running sums of floats, a tile at a time."""
        t = self.text
        self.limbs = t.at("%state", LIMBS_AT)
        parts = [t.at("%state", 1 + k) for k in range(PARTS)]
        position = t.variable("i64", self.word(POSITION), "position")
        with t.loop(0, self.count, TILE) as first:
            size = t.minimum(str(TILE), t.i64("sub", self.count, first))
            wide = t.variable("i64", t.load("i64", "%state"), "wide")
            with t.when(t.op(f"icmp eq i64 {t.load('i64', wide)}, 0")):
                before = [t.load("double", part) for part in parts]
                exponent = self.exponent(first, size, before)
                t.store("i64", "1", wide)
                with t.when(t.op(f"icmp sle i64 {exponent}, {_MOST}")):
                    totals, left = self.split_tile(first, size, before, exponent)
                    with t.when(t.op(f"icmp eq i64 {left}, 0")):
                        t.store("i64", "0", wide)
                        self.accumulate(size, position, totals)
                        self.round_tile(first, size)
                        for part, total in zip(parts, totals, strict=True):
                            t.store("double", t.load("double", total), part)
            with t.when(t.op(f"icmp ne i64 {t.load('i64', wide)}, 0"), rarely=True):
                self.to_limbs(parts)
                self.one_by_one(first, size, position)
                self.from_limbs(parts)
        with t.when(self.last):
            self.to_limbs(parts)
        self.answer(TAKEN, self.count)

    # The slow way: limbs -------------------------------------------------------------------

    def limbs_add(self, terms: str, count: int) -> None:
        self.text.line(f"call void @limbs_add(ptr {self.limbs}, ptr {terms}, i64 {count})")

    def limb_carry(self, first: str | int, last: str | int) -> None:
        args = f"ptr {self.limbs}, i64 {first}, i64 {last}"
        self.text.line(f"call void @limb_carry({args})")

    def to_limbs(self, parts: list[str]) -> None:
        """The sum so far in limbs, where it is not."""
        t = self.text
        with t.when(t.op(f"icmp eq i64 {t.load('i64', '%state')}, 0")):
            self.clear()
            self.limbs_add(parts[0], PARTS)
            for part in parts:
                t.store("double", "0.0", part)
            self.limb_carry(0, LIMBS)
            t.store("i64", "1", "%state")

    def clear(self) -> None:
        with self.text.loop(0, str(LIMBS)) as k:
            self.text.store("i64", "0", self.text.at(self.limbs, k))

    def one_by_one(self, first: str, size: str, position: str) -> None:
        """Add each element to the limbs, and round."""
        t = self.text
        odd = "true" if self.odd else "false"
        with t.loop(first, t.i64("add", first, size)) as j:
            x = t.load("double", self.value(j))
            self.limbs_add(self.value(j), 1)
            biased = t.i64("and", t.i64("lshr", t.op(f"bitcast double {x} to i64"), 52), 2047)
            digit = t.i64("lshr", biased, 5)  # the one it begins in, or the next
            digit = t.i64("sub", digit, t.op(f"zext i1 {t.op(f'icmp ne i64 {digit}, 0')} to i64"))
            self.limb_carry(digit, t.i64("add", digit, 4))
            found = t.op(f"call double @limb_round(ptr {self.limbs}, i1 {odd})")
            if self.out == "float":
                found = t.op(f"fptrunc double {found} to float")
            t.store(self.out, found, t.at("%out", j, self.out))
            with t.when(self.step(position), rarely=True):
                self.clear()

    def from_limbs(self, parts: list[str]) -> None:
        """The sum in parts again, if they can hold it."""
        t = self.text
        nearest = t.op(f"call double @limb_round(ptr {self.limbs}, i1 false)")
        minus = t.variable("double", nearest, "minus")
        bits = t.i64("and", t.op(f"bitcast double {nearest} to i64"), _SIGNLESS)
        with t.when(t.op(f"icmp ult i64 {bits}, {2047 << 52}")):
            for k, part in enumerate(parts):
                x = nearest
                if k:
                    x = t.op(f"call double @limb_round(ptr {self.limbs}, i1 false)")
                t.store("double", x, part)
                t.store("double", t.op(f"fneg double {x}"), minus)
                self.limbs_add(minus, 1)
                self.limb_carry(0, LIMBS)
            left = t.variable("i64", "0", "left")
            with t.loop(0, str(LIMBS)) as k_:
                digit = t.load("i64", t.at(self.limbs, k_))
                t.store("i64", t.i64("or", t.load("i64", left), digit), left)
            held = t.op(f"icmp eq i64 {t.load('i64', left)}, 0")
            with t.when(held):
                t.store("i64", "0", "%state")
            with t.when(t.op(f"xor i1 {held}, true")):
                self.limbs_add(parts[0], PARTS)
                self.limb_carry(0, LIMBS)

    # The quick way: three parts ------------------------------------------------------------

    def exponent(self, first: str, size: str, before: list[str]) -> str:
        """The biased exponent of the largest magnitude, at least `_LEAST`."""
        t = self.text
        i = t.vector("i64")
        largest = t.variable(i, "zeroinitializer", "largest")

        def look(j: str, mask: str | None) -> None:
            x = self.fetch(self.value(t.i64("add", first, j)), mask)
            bits = t.op(f"bitcast {t.vector('double')} {x} to {i}")
            bits = t.op(f"and {i} {bits}, {t.constant(_SIGNLESS, 'int64')}")
            found = t.call(i, f"llvm.smax.v{t.lanes}i64", i, t.load(i, largest), bits)
            t.store(i, found, largest)

        self.each(size, look)
        name = f"llvm.vector.reduce.smax.v{t.lanes}i64"
        most = t.call("i64", name, i, t.load(i, largest))
        for part in before:
            bits = t.i64("and", t.op(f"bitcast double {part} to i64"), _SIGNLESS)
            most = t.call("i64", "llvm.smax.i64", "i64", most, bits)
        return t.call("i64", "llvm.smax.i64", "i64", t.i64("lshr", most, 52), str(_LEAST))

    def split_tile(
        self, first: str, size: str, before: list[str], exponent: str
    ) -> tuple[list[str], str]:
        """Every element's parts into the scratch memory; where the sums begin; bits left over."""
        t = self.text
        v, i = t.vector("double"), t.vector("i64")
        units = []
        for k in range(PARTS):
            biased = t.i64("add", exponent, _CHUNK - k * _APART)
            bits = t.i64("or", t.i64("shl", biased, 52), 1 << 51)
            units.append(t.op(f"bitcast i64 {bits} to double"))
        left = t.variable("i64", "0", "left")
        totals = [t.variable("double", "0.0", "total") for _ in range(PARTS)]
        for x in before:
            for unit, total in zip(units, totals, strict=True):
                near, x = self.split("double", x, unit)
                t.store("double", t.op(f"fadd double {t.load('double', total)}, {near}"), total)
            bits = t.i64("and", t.op(f"bitcast double {x} to i64"), _SIGNLESS)
            t.store("i64", t.i64("or", t.load("i64", left), bits), left)
        wide = [t.splat("double", unit) for unit in units]
        rests = t.variable(i, "zeroinitializer", "rests")

        def look(j: str, mask: str | None) -> None:
            x = self.fetch(self.value(t.i64("add", first, j)), mask)
            for k, unit in enumerate(wide):
                near, x = self.split(v, x, unit)
                t.store(v, near, t.at(self.part(k), j), 8)
            bits = t.op(f"bitcast {v} {x} to {i}")
            bits = t.op(f"and {i} {bits}, {t.constant(_SIGNLESS, 'int64')}")
            t.store(i, t.op(f"or {i} {t.load(i, rests)}, {bits}"), rests)

        self.each(size, look)
        name = f"llvm.vector.reduce.or.v{t.lanes}i64"
        return totals, t.i64("or", t.load("i64", left), t.call("i64", name, i, t.load(i, rests)))

    def split(self, kind: str, x: str, unit: str) -> tuple[str, str]:
        """The multiple of the unit's last place that is nearest to x, and the rest."""
        t = self.text
        shifted = t.op(f"fadd {kind} {x}, {unit}")
        near = t.op(f"fsub {kind} {shifted}, {unit}")
        return near, t.op(f"fsub {kind} {x}, {near}")

    def accumulate(self, size: str, position: str, totals: list[str]) -> None:
        """Running sums of each part, in place."""
        t = self.text
        parts = [self.part(k) for k in range(PARTS)]

        def add(j: str) -> None:
            for total, part in zip(totals, parts, strict=True):
                place = t.at(part, j)
                x = t.op(f"fadd double {t.load('double', total)}, {t.load('double', place)}")
                t.store("double", x, total)
                t.store("double", x, place)

        self.lines("0", size, position, add, totals)

    def round_tile(self, first: str, size: str) -> None:
        """The three parts' sums, rounded once: high + (middle + low rounded to odd).

        Boldo and Melquiond, Emulation of FMA and correctly rounded sums (2008).
        """
        t = self.text
        v = t.vector("double")

        def look(j: str, mask: str | None) -> None:
            high, middle, low = (t.load(v, t.at(self.part(k), j), 8) for k in range(PARTS))
            a, b = self.two_sum(high, middle)
            rest = self.to_odd(*self.two_sum(b, low))
            if self.odd:
                found = self.to_odd(*self.two_sum(a, rest))
            else:
                found = t.op(f"fadd {v} {a}, {rest}")
            if self.out == "float":
                found = t.op(f"fptrunc {v} {found} to {t.vector('float')}")
            self.put(found, t.at("%out", t.i64("add", first, j), self.out), mask)

        self.each(size, look)

    def two_sum(self, a: str, b: str) -> tuple[str, str]:
        """The sum rounded, and its error: Knuth, The Art of Computer Programming 2, 4.2.2."""
        t = self.text
        v = t.vector("double")
        total = t.op(f"fadd {v} {a}, {b}")
        part = t.op(f"fsub {v} {total}, {a}")
        other = t.op(f"fsub {v} {total}, {part}")
        left, right = t.op(f"fsub {v} {a}, {other}"), t.op(f"fsub {v} {b}, {part}")
        return total, t.op(f"fadd {v} {left}, {right}")

    def to_odd(self, x: str, rest: str) -> str:
        """Their sum (x is the nearest to it) rounded to odd: an even x moves to the rest."""
        t = self.text
        v, i = t.vector("double"), t.vector("i64")
        bits, more = (t.op(f"bitcast {v} {value} to {i}") for value in (x, rest))
        apart = t.op(f"ashr {i} {t.op(f'xor {i} {bits}, {more}')}, {t.constant(63, 'int64')}")
        step = t.op(f"or {i} {apart}, {t.constant(1, 'int64')}")  # -1 where the signs differ
        even = t.op(
            f"icmp eq {i} {t.op(f'and {i} {bits}, ' + t.constant(1, 'int64'))}, zeroinitializer"
        )
        inexact = t.op(f"fcmp une {v} {rest}, zeroinitializer")
        moves = t.op(f"and {t.vector('i1')} {even}, {inexact}")
        moved = t.op(f"add {i} {bits}, {step}")
        found = t.op(f"select {t.vector('i1')} {moves}, {i} {moved}, {i} {bits}")
        return t.op(f"bitcast {i} {found} to {v}")


def _every_second(lanes: int, start: int) -> str:
    places = ", ".join(f"i32 {start + 2 * k}" for k in range(lanes))
    return f"<{lanes} x i32> <{places}>"


BODIES: Final[dict[tuple[str, bool], Callable[[OrderedLoops], None]]] = {
    ("prod", True): OrderedLoops.products,
    ("prod", False): OrderedLoops.products,
    ("cumprod", True): OrderedLoops.running_products,
    ("cumprod", False): OrderedLoops.running_products,
    ("cumsum", True): OrderedLoops.exact_sums,
    ("cumsum", False): OrderedLoops.wrapping_sums,
}
