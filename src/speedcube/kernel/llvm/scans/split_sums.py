"""The quick way of an exact running sum: elements split into three parts, each summed by itself."""

from __future__ import annotations

from typing import Final

from ....expr.space import TILE
from ..text import Text
from .frame import LineFrame
from .layout import PARTS
from .limb_sums import SIGNLESS

_CHUNK: Final = 11  # a tile and what came before it are fewer than 2**11 terms
_APART: Final = 54 - _CHUNK
# Biased exponents of a tile's largest magnitude. The least sets the last unit to 2**-1074; the
# greatest leaves room for 2**11 such terms.
LEAST: Final = 1 + 2 * _APART - _CHUNK
MOST: Final = 2046 - _CHUNK - 1


class SplitSums:
    """A tile's running sums in parts; ``odd``: rounded to odd, to be rounded again."""

    def __init__(self, frame: LineFrame, odd: bool) -> None:
        self.frame = frame
        self.odd = odd

    def part(self, k: int) -> str:
        """The address of part ``k`` of the tile's elements."""
        return self.frame.text.at("%scratch", k * TILE)

    def exponent(self, first: str, size: str, before: list[str]) -> str:
        """The biased exponent of the largest magnitude, at least `LEAST`."""
        frame, t = self.frame, self.frame.text
        i = t.vector("i64")
        largest = t.variable(i, "zeroinitializer", "largest")

        def look(j: str, mask: str | None) -> None:
            x = frame.fetch(frame.value(t.i64("add", first, j)), mask)
            bits = t.op(f"bitcast {t.vector('double')} {x} to {i}")
            bits = t.op(f"and {i} {bits}, {t.constant(SIGNLESS, 'int64')}")
            larger = t.call(i, f"llvm.smax.v{t.lanes}i64", i, t.load(i, largest), bits)
            t.store(i, larger, largest)

        frame.each(size, look)
        name = f"llvm.vector.reduce.smax.v{t.lanes}i64"
        most = t.call("i64", name, i, t.load(i, largest))
        for part in before:
            bits = t.i64("and", t.op(f"bitcast double {part} to i64"), SIGNLESS)
            most = t.call("i64", "llvm.smax.i64", "i64", most, bits)
        return t.call("i64", "llvm.smax.i64", "i64", t.i64("lshr", most, 52), str(LEAST))

    def split_tile(
        self, first: str, size: str, before: list[str], exponent: str
    ) -> tuple[list[str], str]:
        """Every element's parts into the scratch memory; where the sums begin; bits left over."""
        t = self.frame.text
        units = self.units(exponent)
        left = t.variable("i64", "0", "left")
        totals = [t.variable("double", "0.0", "total") for _ in range(PARTS)]
        for x in before:
            for unit, total in zip(units, totals, strict=True):
                near, x = split(t, "double", x, unit)
                t.store("double", t.op(f"fadd double {t.load('double', total)}, {near}"), total)
            bits = t.i64("and", t.op(f"bitcast double {x} to i64"), SIGNLESS)
            t.store("i64", t.i64("or", t.load("i64", left), bits), left)
        rests = self.split_elements(first, size, units)
        i = t.vector("i64")
        name = f"llvm.vector.reduce.or.v{t.lanes}i64"
        return totals, t.i64("or", t.load("i64", left), t.call("i64", name, i, t.load(i, rests)))

    def units(self, exponent: str) -> list[str]:
        """1.5 * 2**k for each part of terms with the biased ``exponent`` and less."""
        return [unit(self.frame.text, "i64", exponent, k) for k in range(PARTS)]

    def split_elements(self, first: str, size: str, units: list[str]) -> str:
        """Every element's parts into the scratch memory; the variable of the bits left over."""
        frame, t = self.frame, self.frame.text
        v, i = t.vector("double"), t.vector("i64")
        wide = [t.splat("double", unit) for unit in units]
        rests = t.variable(i, "zeroinitializer", "rests")

        def look(j: str, mask: str | None) -> None:
            x = frame.fetch(frame.value(t.i64("add", first, j)), mask)
            for k, unit in enumerate(wide):
                near, x = split(t, v, x, unit)
                t.store(v, near, t.at(self.part(k), j), 8)
            bits = t.op(f"bitcast {v} {x} to {i}")
            bits = t.op(f"and {i} {bits}, {t.constant(SIGNLESS, 'int64')}")
            t.store(i, t.op(f"or {i} {t.load(i, rests)}, {bits}"), rests)

        frame.each(size, look)
        return rests

    def accumulate(self, size: str, position: str, totals: list[str]) -> None:
        """Running sums of each part, in place."""
        t = self.frame.text
        parts = [self.part(k) for k in range(PARTS)]

        def add(j: str) -> None:
            for total, part in zip(totals, parts, strict=True):
                place = t.at(part, j)
                x = t.op(f"fadd double {t.load('double', total)}, {t.load('double', place)}")
                t.store("double", x, total)
                t.store("double", x, place)

        self.frame.in_lines("0", size, position, add, totals)

    def round_tile(self, first: str, size: str) -> None:
        """The three parts' sums, rounded once."""
        frame, t = self.frame, self.frame.text
        v = t.vector("double")

        def look(j: str, mask: str | None) -> None:
            x = round_parts(
                t, [t.load(v, t.at(self.part(k), j), 8) for k in range(PARTS)], self.odd
            )
            if frame.out == "float":
                x = t.op(f"fptrunc {v} {x} to {t.vector('float')}")
            frame.put(x, t.at("%out", t.i64("add", first, j), frame.out), mask)

        frame.each(size, look)


def unit(t: Text, kind: str, exponent: str, part: int) -> str:
    """1.5 * 2**k for ``part`` of terms with the biased ``exponent`` and less: of ``kind``, i64."""

    def constant(number: int) -> str:
        return str(number) if kind == "i64" else f"splat (i64 {number})"

    biased = t.op(f"add {kind} {exponent}, {constant(_CHUNK - part * _APART)}")
    bits = t.op(f"or {kind} {t.op(f'shl {kind} {biased}, {constant(52)}')}, {constant(1 << 51)}")
    return t.op(f"bitcast {kind} {bits} to {kind.replace('i64', 'double')}")


def split(t: Text, kind: str, x: str, unit: str) -> tuple[str, str]:
    """The multiple of the unit's last place that is nearest to x, and the rest."""
    shifted = t.op(f"fadd {kind} {x}, {unit}")
    near = t.op(f"fsub {kind} {shifted}, {unit}")
    return near, t.op(f"fsub {kind} {x}, {near}")


def round_parts(t: Text, parts: list[str], odd: bool) -> str:
    """The sum of three parts, rounded once (``odd``: to odd): high + odd(middle + low).

    Boldo and Melquiond, Emulation of FMA and correctly rounded sums (2008).
    """
    high, middle, low = parts
    a, b = two_sum(t, high, middle)
    rest = to_odd(t, *two_sum(t, b, low))
    if odd:
        return to_odd(t, *two_sum(t, a, rest))
    return t.op(f"fadd {t.vector('double')} {a}, {rest}")


def two_sum(t: Text, a: str, b: str) -> tuple[str, str]:
    """The sum rounded, and its error: Knuth, The Art of Computer Programming 2, 4.2.2."""
    v = t.vector("double")
    total = t.op(f"fadd {v} {a}, {b}")
    part = t.op(f"fsub {v} {total}, {a}")
    other = t.op(f"fsub {v} {total}, {part}")
    left, right = t.op(f"fsub {v} {a}, {other}"), t.op(f"fsub {v} {b}, {part}")
    return total, t.op(f"fadd {v} {left}, {right}")


def to_odd(t: Text, x: str, rest: str) -> str:
    """Their sum (x is the nearest to it) rounded to odd: an even x moves to the rest."""
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
    odd = t.op(f"select {t.vector('i1')} {moves}, {i} {moved}, {i} {bits}")
    return t.op(f"bitcast {i} {odd} to {v}")
