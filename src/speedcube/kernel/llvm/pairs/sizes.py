"""Powers of two above the greatest and below the least magnitude of each row of doubles.

    void kernel(words, rows, shifts, nothing, out)

``words`` (int64): how many rows and columns there are, the distances of rows and of columns.
``shifts``: what is taken off the elements of each row before. ``out``: a power of two for each row
that no element reaches, NaN where that is none of those between ``2**-RANGE`` and ``2**RANGE``; for
each row one that is not above an element, but for zeros, 0 where that is none of them; and the
shifts. Of zeros alone 1, and ``2**RANGE``.

The bits of magnitudes order as these do, NaN above all; less one, a zero is greater than any. Where
rows lie side by side, a vector has an element of each of some rows, and blocks of columns come one
after the other.
"""

from __future__ import annotations

import math
from typing import Final

from ...orders import RowSizes
from ..function import function
from ..many.doubles import SIZE
from ..memory import masked_load, masked_store
from ..text import Text, literal

RANGE: Final = 400
_LANES: Final = 8
_BLOCK: Final = 64  # columns
# Of the greatest and the least: the operation, and what it begins with.
_LINES: Final = (("umax", 0), ("umin", -1))


def emit_sizes(program: RowSizes) -> str:
    """The LLVM text of ``program``."""
    return _SizesText().emit()


def _number(value: float) -> str:
    return literal(value, "float64")


def first_lanes(t: Text, count: str) -> str:
    """The mask of the first ``count`` lanes."""
    v = t.vector("i64")
    return t.op(f"icmp slt {v} {t.iota('0')}, {t.splat('i64', count)}")


class _SizesText:
    """The text under construction: row after row, or rows side by side."""

    def __init__(self) -> None:
        self.text = t = Text(_LANES)
        self.rows, self.columns, self.by_row, self.by_column = (
            t.load("i64", t.at("%words", k)) for k in range(4)
        )

    def emit(self) -> str:
        t = self.text
        turned = t.op(f"icmp eq i64 {self.by_row}, 1")
        beside = t.op(f"icmp eq i64 {self.by_column}, 1")
        across = t.op(f"and i1 {turned}, {t.op(f'xor i1 {beside}, true')}")
        with t.when(across):
            self._across()
        with t.when(t.op(f"xor i1 {across}, true")):
            self._along(beside)
        with t.loop(0, self.rows) as row:
            self._powers(row)
        return function(t, ("words", "values", "state", "scratch", "out"), ())

    def _powers(self, row: str) -> None:
        """What is asked for of ``row``, in the places of what was found."""
        t = self.text
        most, least = places = self._out(row)
        shift = t.load("i64", t.at("%state", row))
        t.store("i64", shift, t.at(least, self.rows))
        greatest = t.load("i64", most)
        zero = t.op(f"icmp eq i64 {greatest}, 0")
        smallest = t.i64("add", t.load("i64", least), 1)
        cases = ((greatest, 1, math.nan, 1.0), (smallest, 0, 0.0, 2.0**RANGE))
        for place, (bits, above, unusual, of_zeros) in zip(places, cases, strict=True):
            binade = t.i64("add", t.i64("lshr", bits, 52), above)
            usual = t.op(f"icmp ult i64 {t.i64('sub', binade, 1024 - RANGE)}, {2 * RANGE - 1}")
            power = t.op(f"bitcast i64 {t.i64('shl', binade, 52)} to double")
            power = t.op(f"select i1 {usual}, double {power}, double {_number(unusual)}")
            power = t.op(f"select i1 {zero}, double {_number(of_zeros)}, double {power}")
            t.store("double", power, place)

    def _out(self, row: str) -> list[str]:
        """Where the numbers of ``row`` and those behind it go."""
        t = self.text
        return [t.at("%out", row), t.at("%out", t.i64("add", row, self.rows))]

    def _across(self) -> None:
        t, words = self.text, self.text.vector("i64")
        for (_, start), place in zip(_LINES, self._out("0"), strict=True):
            with t.loop(0, self.rows) as row:
                t.store("i64", str(start), t.at(place, row))
        with (
            t.loop(0, self.columns, _BLOCK) as first,
            t.loop(0, self.rows, _LANES) as row,
        ):
            mask = first_lanes(t, t.i64("sub", self.rows, row))
            shift = masked_load(t, "double", t.at("%state", row), mask)
            places = self._out(row)
            many = [t.variable(words, masked_load(t, "i64", place, mask)) for place in places]
            with t.loop(first, t.minimum(t.i64("add", first, _BLOCK), self.columns)) as j:
                at = t.i64("add", t.i64("mul", j, self.by_column), row)
                some = masked_load(t, "double", t.at("%values", at), mask)
                self._take(many, words, t.vector("double"), some, shift)
            for place, variable in zip(places, many, strict=True):
                masked_store(t, "i64", t.load(words, variable), place, mask)

    def _along(self, beside: str) -> None:
        t, words = self.text, self.text.vector("i64")
        whole = t.i64("and", self.columns, -_LANES)
        vectors = t.op(f"select i1 {beside}, i64 {whole}, i64 0", "i")
        with t.loop(0, self.rows) as row:
            source = t.at("%values", t.i64("mul", row, self.by_row))
            shift = t.load("double", t.at("%state", row))
            all_shifts = t.splat("double", shift)
            many = [t.variable(words, f"splat (i64 {start})") for _, start in _LINES]
            with t.loop(0, vectors, _LANES) as j:
                some = t.load(t.vector("double"), t.at(source, j), 8)
                self._take(many, words, t.vector("double"), some, all_shifts)
            each = []
            for (name, _), variable in zip(_LINES, many, strict=True):
                reduced = f"llvm.vector.reduce.{name}.v{_LANES}i64"
                found = t.call("i64", reduced, words, t.load(words, variable))
                each.append(t.variable("i64", found))
            with t.loop(vectors, self.columns) as j:
                one = t.load("double", t.at(source, t.i64("mul", j, self.by_column)))
                self._take(each, "i64", "double", one, shift)
            for place, one in zip(self._out(row), each, strict=True):
                t.store("i64", t.load("i64", one), place)

    def _take(self, variables: list[str], words: str, kind: str, x: str, shift: str) -> None:
        """Elements ``x`` into what the greatest and the least are so far."""
        t = self.text
        size, one = (str(n) if words == "i64" else f"splat (i64 {n})" for n in (SIZE, 1))
        bits = t.op(f"bitcast {kind} {t.op(f'fsub {kind} {x}, {shift}')} to {words}")
        bits = t.op(f"and {words} {bits}, {size}")
        less = t.op(f"sub {words} {bits}, {one}")
        suffix = ".i64" if words == "i64" else f".v{_LANES}i64"
        for variable, (name, _), value in zip(variables, _LINES, (bits, less), strict=True):
            before = t.load(words, variable)
            t.store(words, t.call(words, f"llvm.{name}{suffix}", words, before, value), variable)
