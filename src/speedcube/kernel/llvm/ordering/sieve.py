"""Numbers in memory beside two bounds: how many are not below, not above; and those between, kept.

    void kernel(words, values, bounds, nothing, kept)

``words`` (int64): how many ``values`` there are; then three answers: how many are at least the
first of ``bounds``, at most the second, and both. The last ones are copied to ``kept`` in order.
NaN is none of them. Few are kept: a vector that has none costs two comparisons.
"""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ...program import Sieve
from ..function import function
from ..text import SCALAR, Text

COUNT, REACH, UNDER, INSIDE = range(4)
WORDS: Final = 4
_VECTOR: Final = 128  # bytes


class _SieveText:
    """One kernel under construction."""

    def __init__(self, program: Sieve) -> None:
        self.kind = SCALAR[program.dtype]
        self.lanes = _VECTOR // dtypes.itemsize(program.dtype)
        self.text = Text(self.lanes)
        t = self.text
        sign = "s" if program.dtype in dtypes.SIGNED else "u"
        is_float = dtypes.is_float(program.dtype)
        self.least = "fcmp oge" if is_float else f"icmp {sign}ge"
        self.most = "fcmp ole" if is_float else f"icmp {sign}le"
        self.low, self.high = (t.load(self.kind, t.at("%state", k, self.kind)) for k in range(2))
        self.found = [t.variable("i64", "0", "found") for _ in range(3)]

    def emit(self) -> str:
        t = self.text
        v, mask = t.vector(self.kind), f"<{self.lanes} x i1>"
        count = t.load("i64", t.at("%words", COUNT))
        low, high = t.splat(self.kind, self.low), t.splat(self.kind, self.high)
        whole = t.i64("and", count, -self.lanes)
        with t.loop(0, whole, self.lanes) as j:
            x = t.load(v, t.at("%values", j, self.kind), dtypes.itemsize("uint8"))
            reach = t.op(f"{self.least} {v} {x}, {low}")
            under = t.op(f"{self.most} {v} {x}, {high}")
            self._count(reach, 0)
            self._count(under, 1)
            bits = self._bits(t.op(f"and {mask} {reach}, {under}"))
            with t.when(t.op(f"icmp ne i64 {bits}, 0")):
                self._keep(bits, j)
        with t.loop(whole, count) as j:
            x = t.load(self.kind, t.at("%values", j, self.kind), 1)
            reach = t.op(f"{self.least} {self.kind} {x}, {self.low}")
            under = t.op(f"{self.most} {self.kind} {x}, {self.high}")
            both = t.op(f"and i1 {reach}, {under}")
            with t.when(both):
                self._store(x)
            for k, one in enumerate((reach, under)):
                self._add(k, t.op(f"zext i1 {one} to i64"))
        for word, found in zip((REACH, UNDER, INSIDE), self.found, strict=True):
            t.store("i64", t.load("i64", found), t.at("%words", word))
        return function(t, ("words", "values", "state", "scratch", "out"), ())

    def _bits(self, mask: str) -> str:
        t = self.text
        bits = t.op(f"bitcast <{self.lanes} x i1> {mask} to i{self.lanes}")
        return t.op(f"zext i{self.lanes} {bits} to i64")

    def _count(self, mask: str, which: int) -> None:
        self.text.declares.add("declare i64 @llvm.ctpop.i64(i64)")
        self._add(which, self.text.op(f"call i64 @llvm.ctpop.i64(i64 {self._bits(mask)})"))

    def _add(self, which: int, number: str) -> None:
        t, found = self.text, self.found[which]
        t.store("i64", t.i64("add", t.load("i64", found), number), found)

    def _keep(self, bits: str, first: str) -> None:
        """Copy the elements from ``first`` on that have a bit."""
        t = self.text
        t.declares.add("declare i64 @llvm.cttz.i64(i64, i1)")
        left = t.variable("i64", bits, "left")
        head, done = t.name("keep"), t.name("kept")
        t.line(f"br label %{head}")
        t.label(head)
        now = t.load("i64", left)
        place = t.i64("add", first, t.op(f"call i64 @llvm.cttz.i64(i64 {now}, i1 true)"))
        self._store(t.load(self.kind, t.at("%values", place, self.kind), 1))
        rest = t.i64("and", now, t.i64("sub", now, 1))
        t.store("i64", rest, left)
        t.line(f"br i1 {t.op(f'icmp ne i64 {rest}, 0')}, label %{head}, label %{done}")
        t.label(done)

    def _store(self, x: str) -> None:
        t = self.text
        at = t.load("i64", self.found[2])
        t.store(self.kind, x, t.at("%out", at, self.kind), 1)
        self._add(2, "1")


def emit_sieve(program: Sieve) -> str:
    """The LLVM text of ``program``."""
    return _SieveText(program).emit()
