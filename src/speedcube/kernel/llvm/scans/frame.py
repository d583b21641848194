"""What all scans share: the words of a call, vectors of its elements, the function around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from .... import dtypes
from ...program import Scan
from ..function import function
from ..memory import ALIGN, masked_load, masked_store
from ..text import SCALAR, Text, literal
from .layout import COUNT, LAST, LENGTH

_NANS: Final = {"float64": 0x7FF8 << 48, "float32": 0x7FC0 << 16}


class ScanFrame:
    """One kernel under construction, with vectors of ``lanes`` elements."""

    def __init__(self, program: Scan, lanes: int) -> None:
        self.program = program
        self.text = Text(lanes)
        self.float = dtypes.is_float(program.dtype)
        self.scalar = SCALAR[program.dtype]
        self.out = SCALAR[program.out]

    def function(self, support: Sequence[str]) -> str:
        """The whole function, and the functions it calls."""
        return function(self.text, ("words", "values", "state", "scratch", "out"), support)

    # Words ---------------------------------------------------------------------------------

    def word(self, index: int) -> str:
        return self.text.load("i64", self.text.at("%words", index))

    def answer(self, index: int, value: str) -> None:
        self.text.store("i64", value, self.text.at("%words", index))

    # Vectors of elements -------------------------------------------------------------------

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

    # Results -------------------------------------------------------------------------------

    def finished(self, x: str, shaped: Callable[[str], str] = str) -> str:
        """``x`` as it is given: rounded to the result's dtype, with NumPy's NaN.

        ``shaped`` makes the type of ``x`` of that of an element: itself, or a vector of it.
        """
        t, out = self.text, shaped(self.out)
        if not self.float:
            return x
        word = "i64" if self.out == "double" else "i32"
        if self.out != self.scalar:
            x = t.op(f"fptrunc {shaped(self.scalar)} {x} to {out}")
        nan = str(_NANS[self.program.out])
        nan = nan if shaped(word) == word else f"splat ({word} {nan})"
        word = shaped(word)
        odd = t.op(f"fcmp uno {out} {x}, {x}")
        raw = t.op(f"bitcast {out} {x} to {word}")
        chosen = t.op(f"select {shaped('i1')} {odd}, {word} {nan}, {word} {raw}")
        return t.op(f"bitcast {word} {chosen} to {out}")


class LineFrame(ScanFrame):
    """A kernel that takes lines one after the other."""

    def __init__(self, program: Scan, lanes: int) -> None:
        super().__init__(program, lanes)
        self.count, self.length, last = (self.word(k) for k in (COUNT, LENGTH, LAST))
        self.last = self.text.op(f"icmp ne i64 {last}, 0")

    # Elements, one by one ------------------------------------------------------------------

    def value(self, index: str) -> str:
        """The address of element ``index``."""
        return self.text.at("%values", index, self.scalar)

    def step(self, position: str) -> str:
        """One element on in its line; whether the line ended."""
        t = self.text
        after = t.i64("add", t.load("i64", position), 1)
        ended = t.op(f"icmp eq i64 {after}, {self.length}")
        t.store("i64", t.op(f"select i1 {ended}, i64 0, i64 {after}"), position)
        return ended

    @contextmanager
    def segments(self, position: str) -> Iterator[tuple[str, str, str]]:
        """``(first element, elements, whether the line ends there)``, line after line."""
        t = self.text
        at = t.variable("i64", "0", "at")
        head, body, done = (t.name(h) for h in ("line", "linebody", "linedone"))
        t.line(f"br label %{head}")
        t.label(head)
        first, place = t.load("i64", at), t.load("i64", position)
        left = t.i64("sub", self.count, first)
        t.line(f"br i1 {t.op(f'icmp sgt i64 {left}, 0')}, label %{body}, label %{done}")
        t.label(body)
        size = t.minimum(left, t.i64("sub", self.length, place))
        after = t.i64("add", place, size)
        ended = t.op(f"icmp eq i64 {after}, {self.length}")
        yield first, size, ended
        t.store("i64", t.i64("add", first, size), at)
        t.store("i64", t.op(f"select i1 {ended}, i64 0, i64 {after}"), position)
        t.line(f"br label %{head}")
        t.label(done)

    def running(self, first: str, size: str, op: str, carry: str, put: Callable[..., None]) -> None:
        """Running results of integers by ``op`` (add, mul), from ``carry`` on, which moves on.

        ``put(j, x, kind)`` takes those of a vector, or of an element, at j.
        """
        t = self.text
        v, neutral = t.vector(self.scalar), int(op == "mul")
        whole = t.i64("and", size, -t.lanes)
        wide = t.variable(v, t.splat(self.scalar, t.load(self.scalar, carry)), "wide")
        shifts = [1 << k for k in range(t.lanes.bit_length() - 1)]
        with t.loop(first, t.i64("add", first, whole), t.lanes) as j:
            x = t.load(v, self.value(j), 8)
            for shift in shifts:
                moved = _lanes(t, v, x, [k - shift for k in range(t.lanes)], neutral)
                x = t.op(f"{op} {v} {x}, {moved}")
            before = t.load(v, wide)
            put(j, t.op(f"{op} {v} {before}, {x}"), v)
            last = _lanes(t, v, x, [t.lanes - 1] * t.lanes, neutral)
            t.store(v, t.op(f"{op} {v} {before}, {last}"), wide)
        t.store(self.scalar, t.op(f"extractelement {v} {t.load(v, wide)}, i64 0"), carry)
        with t.loop(t.i64("add", first, whole), t.i64("add", first, size)) as j:
            x = t.load(self.scalar, self.value(j))
            x = t.op(f"{op} {self.scalar} {t.load(self.scalar, carry)}, {x}")
            t.store(self.scalar, x, carry)
            put(j, x, self.scalar)

    def in_lines(
        self, first: str, size: str, position: str, body: Callable[[str], None], reset: list[str]
    ) -> None:
        """``body(j)`` for elements in order; variables ``reset`` become 0 at the end of a line."""
        t = self.text
        with t.loop(first, t.i64("add", first, size)) as j:
            body(j)
            with t.when(self.step(position), rarely=True):
                for variable in reset:
                    t.store(self.scalar, literal(0, self.program.dtype), variable)


def _lanes(text: Text, kind: str, x: str, places: Sequence[int], otherwise: int) -> str:
    """The lanes of ``x`` at ``places``; ``otherwise`` where a place is below 0."""
    others = f"splat (i64 {otherwise})"
    mask = ", ".join(f"i32 {place if place >= 0 else len(places)}" for place in places)
    return text.op(f"shufflevector {kind} {x}, {kind} {others}, <{len(places)} x i32> <{mask}>")
