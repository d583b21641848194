"""What kernels that finish their results have in common: the function, and giving the results."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, TypeAlias

from ...many import NEAR
from ...program import Program
from ..elements import Elements
from ..function import function
from ..loops import Nest
from ..memory import masked_load, masked_store, scatter
from ..text import SCALAR, Style
from .doubles import SLACK
from .finish import Finish
from .sums import Sums

# In the place of a result that is not certain: a NaN that is none of ours. How many there are is
# left in the first word of the geometry.
SENTINEL: Final = {"float64": 0x7FF800000000DEAD, "float32": 0x7FC0DEAD}

# Of an operation, results from the given one on, in the lanes that count, and where they are
# certain: both again.
Again: TypeAlias = Callable[[str, str, str, str, str], tuple[str, str]]


class ManyNest(Nest):
    """Emits a kernel that finishes its results."""

    def __init__(self, program: Program, style: Style, elements: Elements | None = None) -> None:
        super().__init__(program, style, elements)
        self.sums = Sums(self.elements)
        self.d, self.many = self.sums.d, self.sums.many
        self.failed = ""
        self.outs: list[str] = ["%out"]

    def emit(self) -> str:
        t = self.text
        self.failed = t.variable("i64", "0", "failed")
        if len(self.many.ops) > 1:
            self.outs = [t.load("ptr", t.at("%out", k, "ptr")) for k in range(len(self.many.ops))]
        self.boxes()
        t.store("i64", t.load("i64", self.failed), "%geometry")
        return function(t, ("geometry", "buffers", "params", "scratch", "out"), [])

    def give(self, out: str, j: str, count: str, again: Again | None = None) -> None:
        """Results j, j + 1, ... of a batch of ``count`` to their places from ``out`` on.

        ``again`` looks at the elements of those that are not certain.
        """
        mask = self.text.op(
            f"icmp slt {self.d.word} {self.text.iota(j)}, {self.text.splat('i64', count)}"
        )
        if self.many.onto:
            for first in range(0, len(self.many.ops), len(NEAR)):
                numbers = range(first, first + len(NEAR))
                self._add_onto(
                    first, [self.found(k, j, mask, again) for k in numbers], mask, out, j
                )
            return
        for number in range(len(self.many.ops)):
            value, certain = self.found(number, j, mask, again)
            self._store(number, value, certain, mask, out, j)
            self._count(certain, mask)

    def found(self, number: int, j: str, mask: str, again: Again | None) -> tuple[str, str]:
        """The results of operation ``number``, and where they are certain."""
        t, d, finish = self.text, self.d, Finish(self.sums, number)
        value, certain = finish.result(j)
        if again is not None:
            known = t.variable(d.double, value), t.variable(d.one, certain)
            wrong = t.op(f"xor {d.one} {certain}, {t.constant(True, 'bool')}")
            with t.when(self.any_lane(d.both(wrong, mask)), rarely=True):
                value, certain = again(finish.op, j, mask, value, certain)
                t.store(d.double, value, known[0])
                t.store(d.one, certain, known[1])
            value, certain = t.load(d.double, known[0]), t.load(d.one, known[1])
        return value, certain

    def _add_onto(
        self, first: int, found: list[tuple[str, str]], mask: str, out: str, j: str
    ) -> None:
        """Add what is known of a sum to what lies in the places of operation ``first`` and on.

        As `engine/streams/sums.py` does. An endless bound says that nothing is known.
        """
        t, d, zero = self.text, self.d, self.d.constant(0.0)
        (value, certain), (tail, _), (bound, _) = found
        nan = d.both(certain, t.op(f"fcmp uno {d.double} {value}, {value}"))
        value = d.choose(certain, value, zero)
        tail, bound = (
            d.choose(nan, zero, d.choose(certain, x, y))
            for x, y in ((tail, zero), (bound, d.constant(math.inf)))
        )
        places = [
            t.at(self.outs[first + k], t.i64("add", out, j), "double") for k in range(len(NEAR))
        ]
        high, low, more = (masked_load(t, "double", place, mask) for place in places)
        high, a = d.two_sum(high, value)
        low, b = d.two_sum(low, tail)
        low, c = d.two_sum(low, a)
        lost = d.mul(d.total(more, bound, d.size(b), d.size(c)), d.constant(SLACK))
        for x, place in zip((*d.two_sum(high, low), lost), places, strict=True):
            masked_store(t, "double", x, place, mask)

    def any_lane(self, flags: str) -> str:
        """Whether a flag is raised."""
        t = self.text
        return t.call("i1", f"llvm.vector.reduce.or.v{t.lanes}i1", self.d.one, flags)

    def _store(self, number: int, value: str, certain: str, mask: str, out: str, j: str) -> None:
        """Results to their places, the sentinel where they are not ``certain``."""
        t, elements, sink = self.text, self.elements, self.program.sink
        scalar = SCALAR[sink.dtype]
        single = scalar == "float"
        v, word = t.vector(scalar), t.vector("i32" if single else "i64")
        if single:
            value = t.op(f"fptrunc {self.d.double} {value} to {v}")
        bits = t.constant(SENTINEL[sink.dtype], "uint32" if single else "uint64")
        sentinel = t.op(f"bitcast {word} {bits} to {v}")
        value = t.op(f"select {self.d.one} {certain}, {v} {value}, {v} {sentinel}")
        if sink.unit_stride:
            masked_store(
                t, scalar, value, t.at(self.outs[number], t.i64("add", out, j), scalar), mask
            )
            return
        index = elements.positions(len(self.program.leaves), "strided", out, j)
        pointers = t.op(
            f"getelementptr {scalar}, ptr {self.outs[number]}, {t.vector('i64')} {index}"
        )
        scatter(t, scalar, value, pointers, mask)

    def _count(self, certain: str, mask: str) -> None:
        """Count the lanes of ``mask`` that are not ``certain``."""
        t, one = self.text, self.d.one
        wrong = t.op(f"xor {one} {certain}, {t.constant(True, 'bool')}")
        wrong = t.op(f"and {one} {wrong}, {mask}")
        with t.when(self.any_lane(wrong), rarely=True):
            words = t.op(f"zext {one} {wrong} to {self.d.word}")
            name = f"llvm.vector.reduce.add.v{t.lanes}i64"
            lanes = t.call("i64", name, self.d.word, words)
            t.store("i64", t.i64("add", t.load("i64", self.failed), lanes), self.failed)
