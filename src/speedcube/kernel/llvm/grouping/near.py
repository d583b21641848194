"""Sums by group that miss hardly a bit, with a bound of what they miss.

    void kernel(words, values, state, table, sums)

A sum is a double, its tail, which takes what additions to the double round away, and a bound of
what additions to the tail round away; the double and the tail of the squares' sum; a count.
``words`` (int64): how many elements or groups there are, how many columns, and from row to row.

* Scattered: ``state`` has the number of each element's group, int64; ``sums`` has the parts of a
  group side by side, and behind those of all columns what is in no group.
* Rows: ``state`` has the places of rows, group after group; ``table`` has of each group where its
  rows begin and end there, the address of its sums (arrays of parts, each as long as a row's
  columns), and a word that is 1 afterwards if any part but the double was written. The count is of
  what is left out alone, below 0. Of short numbers most additions are exact: then one double of a
  sum is read and written, and nothing of the other parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ....dataclass import dataclass
from ....dtypes import SIGNED, is_float
from ..function import function
from ..text import SCALAR, Text
from .program import Grouped

ROWS, COLUMNS, STRIDE = range(3)
WORDS: Final = 3
TABLE: Final = 4  # numbers of a group of rows, the last one: whether any of its sums is inexact
HIGH, LOW, BOUND, COUNT, HIGH2, LOW2 = range(6)
PARTS: Final = 8  # of a sum: a power of two, and of a sum of no squares half as many
_TINY: Final = "0x0360000000000000"  # 2**-969: rounding errors of squares above are doubles

_COLUMNS: Final = 512  # whose sums a first cache holds beside what is read


def parts_of(squares: bool) -> int:
    """How many doubles a sum has."""
    return PARTS if squares else PARTS // 2


@dataclass
class _Adding:
    """What is added to sums, as values of one type: a double or a vector of them."""

    text: Text
    kind: str
    program: Grouped

    def op(self, name: str, a: str, b: str) -> str:
        return self.text.op(f"{name} {self.kind} {a}, {b}")

    def call(self, name: str, *values: str) -> str:
        lanes = self.text.lanes
        suffix = f"v{lanes}f64" if self.kind != "double" else "f64"
        return self.text.call(self.kind, f"llvm.{name}.{suffix}", self.kind, *values)

    def constant(self, value: str) -> str:
        return value if self.kind == "double" else f"splat (double {value})"

    def mask(self) -> str:
        return "i1" if self.kind == "double" else f"<{self.text.lanes} x i1>"

    def choose(self, mask: str, a: str, b: str) -> str:
        return self.text.op(f"select {self.mask()} {mask}, {self.kind} {a}, {self.kind} {b}")

    def two_sum(self, a: str, b: str) -> tuple[str, str]:
        """``a + b`` and what that rounds away, exactly."""
        total = self.op("fadd", a, b)
        c = self.op("fsub", total, a)
        error = self.op(
            "fadd",
            self.op("fsub", a, self.op("fsub", total, c)),
            self.op("fsub", b, c),
        )
        return total, error

    def add(self, sums: list[str], x: str) -> list[str]:
        """``sums`` with ``x``."""
        one = self.constant("0x3FF0000000000000")
        if self.program.skip:
            nan = self.text.op(f"fcmp uno {self.kind} {x}, {x}")
            zero = self.constant("0x0000000000000000")
            one = self.choose(nan, zero, one)
            x = self.choose(nan, zero, x)
        found = list(sums)
        found[HIGH], found[LOW], missed = self._add(sums[HIGH], sums[LOW], x)
        found[BOUND] = self.op("fadd", sums[BOUND], missed)
        found[COUNT] = self.op("fadd", sums[COUNT], one)
        if self.program.squares:
            square = self.op("fmul", x, x)
            rest = self.call(
                "fma", x, x, self.op("fsub", self.constant("0x8000000000000000"), square)
            )
            found[HIGH2], low, missed = self._add(sums[HIGH2], sums[LOW2], square)
            found[LOW2], more = self.two_sum(low, rest)
            missed = self.op("fadd", missed, self.call("fabs", more))
            infinite = self.constant("0x7FF0000000000000")
            missed = self.choose(self._lost(square, x), infinite, missed)
            found[BOUND] = self.op("fadd", found[BOUND], missed)
        return found

    def add_at(self, places: list[str], told: str, x: str) -> None:
        """The same to sums in memory, of which only what changes is read; counts fall by NaN.

        ``told`` is set where that is more than the doubles.
        """
        zero, nan = self.constant("0x0000000000000000"), None
        if self.program.skip:
            nan = self.text.op(f"fcmp uno {self.kind} {x}, {x}")
            x = self.choose(nan, zero, x)
        error = self._begun(places[HIGH], x)
        with self._some(nan, error):
            self.text.store("i64", "1", told)
            self._end(places[LOW], places[BOUND], error)
        if nan is not None:
            with self._some(nan):
                count = self.text.load(self.kind, places[COUNT], 8)
                one = self.choose(nan, self.constant("0x3FF0000000000000"), zero)
                self.text.store(self.kind, self.op("fsub", count, one), places[COUNT], 8)
        if self.program.squares:
            square = self.op("fmul", x, x)
            negative = self.op("fsub", self.constant("0x8000000000000000"), square)
            rest = self.call("fma", x, x, negative)
            error, lost = self._begun(places[HIGH2], square), self._lost(square, x)
            with self._some(lost, error, rest):
                self.text.store("i64", "1", told)
                self._end(places[LOW2], places[BOUND], error, rest, lost)

    def _begun(self, place: str, x: str) -> str:
        """What an addition of ``x`` to the double at ``place`` rounds away."""
        total, error = self.two_sum(self.text.load(self.kind, place, 8), x)
        self.text.store(self.kind, total, place, 8)
        return error

    def _end(self, low: str, bound: str, error: str, rest: str = "", lost: str = "") -> None:
        """What the tail takes of it, and the bound of the tail."""
        tail, missed = self.two_sum(self.text.load(self.kind, low, 8), error)
        missed = self.call("fabs", missed)
        if rest:
            tail, more = self.two_sum(tail, rest)
            missed = self.op("fadd", missed, self.call("fabs", more))
            missed = self.choose(lost, self.constant("0x7FF0000000000000"), missed)
        self.text.store(self.kind, tail, low, 8)
        so_far = self.text.load(self.kind, bound, 8)
        self.text.store(self.kind, self.op("fadd", so_far, missed), bound, 8)

    @contextmanager
    def _some(self, mask: str | None, *values: str) -> Iterator[None]:
        """A block for where ``mask`` is set, or one of ``values`` is not 0; of doubles one is."""
        t, zero = self.text, self.constant("0x0000000000000000")
        if values and self.program.dtype == "float64":
            yield
            return
        for value in values:
            other = t.op(f"fcmp une {self.kind} {value}, {zero}")
            mask = other if mask is None else t.op(f"or {self.mask()} {mask}, {other}")
        assert mask is not None
        if self.kind == "double":
            any_of_them = mask
        else:
            word = t.op(f"bitcast {self.mask()} {mask} to i{t.lanes}")
            any_of_them = t.op(f"icmp ne i{t.lanes} {word}, 0")
        with t.when(any_of_them, rarely=True):
            yield

    def _lost(self, square: str, x: str) -> str:
        """Where the rounding error of a ``square`` may be no double."""
        small = self.text.op(f"fcmp olt {self.kind} {square}, {self.constant(_TINY)}")
        some = self.text.op(f"fcmp une {self.kind} {x}, {self.constant('0x0000000000000000')}")
        return self.text.op(f"and {self.mask()} {small}, {some}")

    def _add(self, high: str, low: str, x: str) -> tuple[str, str, str]:
        high, error = self.two_sum(high, x)
        low, missed = self.two_sum(low, error)
        return high, low, self.call("fabs", missed)

    def widened(self, value: str, dtype: str) -> str:
        """An element as a double."""
        kind = SCALAR[dtype] if self.kind == "double" else f"<{self.text.lanes} x {SCALAR[dtype]}>"
        if dtype == "float64":
            return value
        if is_float(dtype):
            return self.text.op(f"fpext {kind} {value} to {self.kind}")
        how = "sitofp" if dtype in SIGNED else "uitofp"
        return self.text.op(f"{how} {kind} {value} to {self.kind}")


def emit_grouped(program: Grouped, lanes: int) -> str:
    """The LLVM text of ``program``."""
    t = Text(lanes)
    rows, columns, stride = (t.load("i64", t.at("%words", k)) for k in range(WORDS))
    if program.rows:
        with t.loop(0, rows) as g:
            first, last, sums = (t.load("i64", t.at("%scratch", _entry(t, g, k))) for k in range(3))
            start = t.op(f"inttoptr i64 {sums} to ptr")
            told = t.at("%scratch", _entry(t, g, TABLE - 1))
            _down_rows(t, program, (first, last), columns, stride, (start, told))
    else:
        _scattered(t, program, rows, columns)
    return function(t, ("words", "values", "state", "scratch", "out"), ())


def _parts(program: Grouped) -> int:
    return len(_used(program))


def _used(program: Grouped) -> list[int]:
    """The parts of a sum that are kept."""
    return [HIGH, LOW, BOUND, COUNT, *((HIGH2, LOW2) if program.squares else ())]


def _scattered(t: Text, program: Grouped, count: str, groups: str) -> None:
    adding, kind = _Adding(t, "double", program), SCALAR[program.dtype]
    with t.loop(0, count) as j:
        group = t.load("i64", t.at("%state", j))
        inside = t.op(f"icmp ult i64 {group}, {groups}")
        group = t.op(f"select i1 {inside}, i64 {group}, i64 {groups}")
        x = t.load(kind, t.at("%values", j, kind), 1)
        base = t.at("%out", t.i64("mul", group, parts_of(program.squares)), "double")
        places = [t.at(base, k, "double") for k in _used(program)]
        sums = [t.load("double", place) for place in places]
        for place, value in zip(
            places, adding.add(sums, adding.widened(x, program.dtype)), strict=True
        ):
            t.store("double", value, place)


def _entry(t: Text, group: str, number: int) -> str:
    """Where in the table the ``number`` of a group stands."""
    return t.i64("add", t.i64("mul", group, TABLE), number)


def _down_rows(
    t: Text,
    program: Grouped,
    rows: tuple[str, str],
    columns: str,
    stride: str,
    given: tuple[str, str],
) -> None:
    """Some columns at a time, whose sums stay in the first cache."""
    sums, told = given
    starts = [t.at(sums, t.i64("mul", columns, k), "double") for k in range(_parts(program))]
    vectors = t.i64("and", columns, -t.lanes)
    with t.loop(0, columns, _COLUMNS) as first:
        last = t.minimum(t.i64("add", first, _COLUMNS), columns)
        whole = t.minimum(last, vectors)
        with t.loop(*rows) as j:
            row = t.i64("mul", t.load("i64", t.at("%state", j)), stride)
            line = t.at("%values", row, SCALAR[program.dtype])
            _add_row(t, program, line, (*starts, told), (first, whole, t.lanes))
            _add_row(t, program, line, (*starts, told), (t.maximum(first, whole), last, 1))


def _add_row(
    t: Text, program: Grouped, line: str, given: tuple[str, ...], span: tuple[str, str, int]
) -> None:
    """Add the elements of ``line`` from one column to another, some at a time."""
    *starts, told = given
    first, last, width = span
    scalar, kind = SCALAR[program.dtype], "double" if width == 1 else t.vector("double")
    adding = _Adding(t, kind, program)
    with t.loop(first, last, width) as i:
        x = t.load(scalar if width == 1 else t.vector(scalar), t.at(line, i, scalar), 1)
        places = [t.at(start, i, "double") for start in starts]
        adding.add_at(places, told, adding.widened(x, program.dtype))
