"""Extremes of floats along rows: the floats are compared, and become integers where a row ends.

An integer that orders like a float costs six operations a vector. A comparison costs one, but says
nothing of NaN, nor which zero is less. So a row has beside its extreme whether there was a NaN,
which two vectors tell at once, and the signs of all elements, met (for the most) or joined (for the
least): where the extreme is a zero, its sign is that bit, since no element lies beyond it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..text import SCALAR, literal, masked
from .nest import SINK
from .rows import FoldedRows

# Of each fold: the comparison by which an element is better, what is worse than all, and how signs
# go together.
_COMPARED: Final = {"least": ("olt", np.inf, "or"), "most": ("ogt", -np.inf, "and")}


class ComparedRows(FoldedRows):
    """Emits a kernel of such extremes."""

    def begin(self) -> None:
        t, floats = self.text, self.folded.floats
        self.relation, self.worst, self.joined = _COMPARED[self.folded.op]
        self.number, self.skips = SCALAR[floats], self.folded.skips
        self.numbers = t.vector(self.number)
        self.half = f"<{t.lanes // 2} x "
        self.best = t.variable(self.numbers, t.constant(self.worst, floats), "best")
        seen = self.one if self.skips else f"{self.half}i1>"
        self.seen = t.variable(seen, "zeroinitializer", "seen")  # a NaN, or what is none
        none = t.constant(-1 if self.joined == "and" else 0, self.folded.word)
        self.signs = t.variable(f"{self.half}{self.scalar}>", none, "signs")

    def take(self, start: str, outputs: dict[str, str], j: str, mask: str | None) -> None:
        t, v, floats = self.text, self.numbers, self.folded.floats
        other = np.nan if self.skips else self.worst
        x = masked(t, self.number, mask, outputs["x"], t.constant(other, floats))
        if self.skips:
            known = t.op(f"fcmp ord {v} {x}, {x}")
            x = masked(t, self.number, known, x, t.constant(self.worst, floats))
            t.store(
                self.one, t.op(f"or {self.one} {t.load(self.one, self.seen)}, {known}"), self.seen
            )
        best = t.load(v, self.best)
        better = t.op(f"fcmp {self.relation} {v} {x}, {best}")
        t.store(v, t.op(f"select {self.one} {better}, {v} {x}, {v} {best}"), self.best)
        lower, upper = self.halves(x)
        if not self.skips:
            either = t.op(f"fcmp uno {self.half}{self.number}> {lower}, {upper}")
            self.gather("or", "i1", [either], self.seen)
        bits = [
            t.op(f"bitcast {self.half}{self.number}> {y} to {self.half}{self.scalar}>")
            for y in (lower, upper)
        ]
        self.gather(self.joined, self.scalar, bits, self.signs)

    def halves(self, x: str) -> list[str]:
        """The lower lanes of ``x`` and the upper ones."""
        t, lanes = self.text, range(self.text.lanes)
        some = (lanes[: t.lanes // 2], lanes[t.lanes // 2 :])
        return [
            t.op(
                f"shufflevector {self.numbers} {x}, {self.numbers} poison, "
                f"{self.half}i32> <{', '.join(f'i32 {k}' for k in which)}>"
            )
            for which in some
        ]

    def gather(self, operation: str, scalar: str, more: list[str], into: str) -> None:
        """Meet or join what a variable holds with ``more``."""
        t, v = self.text, f"{self.half}{scalar}>"
        held = t.load(v, into)
        for x in more:
            held = t.op(f"{operation} {v} {held}, {x}")
        t.store(v, held, into)

    def end(self, q: str) -> None:
        """The row as one word that orders like its extreme, into place ``q`` of the batch."""
        t, v, s = self.text, self.word, self.scalar
        info = np.iinfo(self.folded.word)
        bits = t.op(f"bitcast {self.numbers} {t.load(self.numbers, self.best)} to {v}")
        sign = t.op(f"ashr {v} {bits}, {t.constant(info.bits - 1, self.folded.word)}")
        turn = t.op(f"and {v} {sign}, {t.constant(int(info.max), self.folded.word)}")
        name = {"least": "smin", "most": "smax"}[self.folded.op]
        word = self.lanes_folded(name, s, t.op(f"xor {v} {bits}, {turn}"))
        # The words of zeros are 0 and -1.
        signs = self.half_folded(self.joined, s, self.signs)
        zero = t.op(f"icmp ult {s} {t.op(f'add {s} {word}, 1')}, 2")
        signed = t.op(f"ashr {s} {signs}, {info.bits - 1}")
        word = t.op(f"select i1 {zero}, {s} {signed}, {s} {word}")
        if self.skips:
            some = self.lanes_folded("or", "i1", t.load(self.one, self.seen))
            nan = t.op(f"xor i1 {some}, true")
        else:
            nan = self.half_folded("or", "i1", self.seen)
        first = (self.folded.op == "least") is not self.skips
        end = literal(info.min if first else info.max, self.folded.word)
        word = t.op(f"select i1 {nan}, {s} {end}, {s} {word}")
        t.store(s, word, self.slot(SINK, q))

    def half_folded(self, operation: str, scalar: str, variable: str) -> str:
        """All lanes of a variable of half as many in one number."""
        t, v = self.text, f"{self.half}{scalar}>"
        name = f"llvm.vector.reduce.{operation}.v{t.lanes // 2}{scalar}"
        return t.call(scalar, name, v, t.load(v, variable))
