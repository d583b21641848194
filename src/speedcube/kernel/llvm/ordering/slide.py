"""Sums of products of a short line that slides along a long one, each term rounded, in its order.

    void kernel(words, long, short, nothing, out)

``words`` (int64): the lengths of both lines, the first result of those that meet any element of
``long``, and how many. Result r is the sum over k of ``long[r - (count - 1) + k] * short[k]``. A
vector has as many results; those that meet all of ``short`` are made so, the last of them once
more where they fill no vector. Others begin and end where ``long`` does.
"""

from __future__ import annotations

from typing import Final

from ....dtypes import is_float, itemsize
from ...orders import Slide
from ..function import function
from ..memory import LINE
from ..text import SCALAR, Text, literal

LENGTH, COUNT, FIRST, RESULTS = range(4)
WORDS: Final = 4
_MOST_LANES: Final = 64
_LINES: Final = 4  # of a vector: as many additions are under way


def emit_slide(program: Slide) -> str:
    """The LLVM text of ``program``."""
    return _SlideText(program).emit()


class _SlideText:
    """The text under construction: vectors of whole results, and those before and behind."""

    def __init__(self, program: Slide) -> None:
        self.dtype, self.kind = program.dtype, SCALAR[program.dtype]
        self.floats = is_float(program.dtype)
        self.lanes = min(_MOST_LANES, _LINES * LINE // itemsize(program.dtype))
        self.text = t = Text(self.lanes)
        self.length, self.count, self.first, self.results = (
            t.load("i64", t.at("%words", k)) for k in range(WORDS)
        )
        self.before = t.i64("sub", t.i64("add", self.first, 1), self.count)  # what result 0 meets

    def emit(self) -> str:
        t = self.text
        whole = self._within(t.i64("sub", 0, self.before))
        end = t.maximum(whole, self._within(t.i64("sub", self.length, self.first)))
        last = t.i64("sub", end, self.lanes)
        some = t.op(f"icmp sle i64 {whole}, {last}")
        few = t.op(f"select i1 {some}, i64 {whole}, i64 {end}", "i")
        self._alone("0", few)
        with t.when(some):
            with t.loop(whole, last, self.lanes) as r:
                self._vector(r)
            self._vector(last)
        self._alone(end, self.results)
        return function(t, ("words", "values", "state", "scratch", "out"), ())

    def _within(self, result: str) -> str:
        """``result``, or the nearest of those that are asked for."""
        t = self.text
        return t.minimum(t.maximum(result, "0"), self.results)

    def _vector(self, r: str) -> None:
        """A vector of results from ``r`` on, which meet all of the short line."""
        t = self.text
        kind = t.vector(self.kind)
        total = t.variable(kind, f"splat ({self.kind} {self._none()})")
        met = t.at("%values", t.i64("add", r, self.before), self.kind)
        with t.loop(0, self.count) as k:
            x = t.load(kind, t.at(met, k, self.kind), itemsize(self.dtype))
            term = t.splat(self.kind, t.load(self.kind, t.at("%state", k, self.kind)))
            self._add(kind, total, x, term)
        place = t.at("%out", r, self.kind)
        t.store(kind, self._as_stored(kind, t.load(kind, total)), place, itemsize(self.dtype))

    def _alone(self, start: str, stop: str) -> None:
        """Results of which each is made of those terms that there are."""
        t = self.text
        with t.loop(start, stop) as r:
            total = t.variable(self.kind, self._none())
            begin = t.i64("add", r, self.before)
            low = t.maximum(t.i64("sub", 0, begin), "0")
            high = t.minimum(t.i64("sub", self.length, begin), self.count)
            with t.loop(low, high) as k:
                x = t.load(self.kind, t.at("%values", t.i64("add", begin, k), self.kind))
                self._add(self.kind, total, x, t.load(self.kind, t.at("%state", k, self.kind)))
            made = self._as_stored(self.kind, t.load(self.kind, total))
            t.store(self.kind, made, t.at("%out", r, self.kind))

    def _none(self) -> str:
        """What a sum begins with: it has the bits of its first term then."""
        return literal(-0.0 if self.floats else 0, self.dtype)

    def _add(self, kind: str, total: str, x: str, term: str) -> None:
        t, letter = self.text, "f" if self.floats else ""
        product = t.op(f"{letter}mul {kind} {x}, {term}")
        t.store(kind, t.op(f"{letter}add {kind} {t.load(kind, total)}, {product}"), total)

    def _as_stored(self, kind: str, x: str) -> str:
        """``x`` with NumPy's NaN."""
        if not self.floats:
            return x
        t = self.text
        nan = literal(float("nan"), self.dtype)
        none, mask = (
            (nan, "i1") if kind == self.kind else (f"splat ({self.kind} {nan})", t.vector("i1"))
        )
        test = t.op(f"fcmp uno {kind} {x}, {x}")
        return t.op(f"select {mask} {test}, {kind} {none}, {kind} {x}")
