"""Vectors of doubles in LLVM's text: operations by name, and those whose error is known exactly."""

from __future__ import annotations

from functools import reduce

from ..text import Text

SIZE = 2**63 - 1  # the bits of a double without its sign
SLACK = 1.0 + 2.0**-30  # more than the roundings of a few products and sums of bounds


class Doubles:
    """Operations on vectors of doubles; what is named `bits` is the same as vectors of i64."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.double, self.word, self.one = (text.vector(s) for s in ("double", "i64", "i1"))

    def constant(self, value: float) -> str:
        return self.text.constant(value, "float64")

    def parameter(self, number: int) -> str:
        t = self.text
        return t.splat("double", t.load("double", t.at("%params", number)))

    # Arithmetic ----------------------------------------------------------------------------

    def _do(self, name: str, a: str, b: str) -> str:
        return self.text.op(f"{name} {self.double} {a}, {b}")

    def add(self, a: str, b: str) -> str:
        return self._do("fadd", a, b)

    def sub(self, a: str, b: str) -> str:
        return self._do("fsub", a, b)

    def sub_beside(self, a: str, b: str) -> str:
        """``a - b``, by the units that multiply where others add.

        Sums add and subtract, nothing else. A Zen 4 takes one addition and one product of 64 bytes
        at a time: sums of 8 MB 250 us, with two of seven made so 190.
        """
        return self.fma(b, self.constant(-1.0), a) if self.text.adds_beside else self.sub(a, b)

    def mul(self, a: str, b: str) -> str:
        return self._do("fmul", a, b)

    def div(self, a: str, b: str) -> str:
        return self._do("fdiv", a, b)

    def neg(self, a: str) -> str:
        return self.text.op(f"fneg {self.double} {a}")

    def fma(self, a: str, b: str, c: str) -> str:
        name = f"llvm.fma.v{self.text.lanes}f64"
        return self.text.call(self.double, name, self.double, a, b, c)

    def root(self, a: str) -> str:
        return self.text.call(self.double, f"llvm.sqrt.v{self.text.lanes}f64", self.double, a)

    def size(self, a: str) -> str:
        """The magnitude of ``a``."""
        return self.text.call(self.double, f"llvm.fabs.v{self.text.lanes}f64", self.double, a)

    def sum_of_lanes(self, x: str) -> tuple[str, str]:
        """The lanes' sum, and what was rounded away on the way: two doubles."""
        t = self.text
        total, lost = "0.0", "0.0"
        for lane in range(t.lanes):
            one = t.op(f"extractelement {self.double} {x}, i64 {lane}")
            sum_ = t.op(f"fadd double {total}, {one}")
            part = t.op(f"fsub double {sum_}, {total}")
            left = t.op(f"fsub double {total}, {t.op(f'fsub double {sum_}, {part}')}")
            left = t.op(f"fadd double {left}, {t.op(f'fsub double {one}, {part}')}")
            total, lost = sum_, t.op(f"fadd double {lost}, {left}")
        return total, lost

    def total(self, *parts: str) -> str:
        return reduce(self.add, parts)

    def two_sum(self, a: str, b: str) -> tuple[str, str]:
        """``a + b`` rounded, and what was rounded away, exactly (Knuth)."""
        s = self.add(a, b)
        z = self.sub(s, a)
        return s, self.add(self.sub_beside(a, self.sub(s, z)), self.sub_beside(b, z))

    def two_product(self, a: str, b: str) -> tuple[str, str]:
        """``a * b`` rounded, and what was rounded away."""
        p = self.mul(a, b)
        return p, self.fma(a, b, self.neg(p))

    # Comparisons and bits ------------------------------------------------------------------

    def is_(self, relation: str, a: str, b: str) -> str:
        """Where an ordered comparison holds (never for NaN)."""
        return self.text.op(f"fcmp o{relation} {self.double} {a}, {b}")

    def both(self, *conditions: str) -> str:
        return reduce(lambda a, b: self.text.op(f"and {self.one} {a}, {b}"), conditions)

    def either(self, *conditions: str) -> str:
        return reduce(lambda a, b: self.text.op(f"or {self.one} {a}, {b}"), conditions)

    def choose(self, condition: str, a: str, b: str) -> str:
        v = self.double
        return self.text.op(f"select {self.one} {condition}, {v} {a}, {v} {b}")

    def bits(self, a: str) -> str:
        return self.text.op(f"bitcast {self.double} {a} to {self.word}")

    def of_bits(self, a: str) -> str:
        return self.text.op(f"bitcast {self.word} {a} to {self.double}")

    def words(self, name: str, a: str, b: str) -> str:
        """An integer operation on bits."""
        return self.text.op(f"{name} {self.word} {a}, {b}")

    def splat_bits(self, value: int) -> str:
        return self.text.constant(value, "int64")

    def nothing(self, bits: str) -> str:
        """Where ``bits``, but for the sign, are zero."""
        size = self.words("and", bits, self.splat_bits(SIZE))
        return self.text.op(f"icmp eq {self.word} {size}, zeroinitializer")
