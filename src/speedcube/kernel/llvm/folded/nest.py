"""What both kernels of folds have in common: words, how they are folded, giving the results."""

from __future__ import annotations

from typing import Final

import numpy as np

from .... import dtypes
from ...program import Folded, Program
from ..elements import Elements
from ..emit import emit
from ..function import function
from ..loops import Nest
from ..memory import ALIGN, masked_store, scatter
from ..text import SCALAR, Style, Text

# Of each fold: of a vector with words, and the comparison by which an element is better.
_NAMES: Final = {"least": ("min", "lt"), "most": ("max", "gt")}
PLACE: Final = "i32"
SINK: Final = 0  # buffers of the sink: words, places
PLACES: Final = 1


class FoldedNest(Nest):
    """Emits a kernel of folds."""

    def __init__(self, program: Program, style: Style, elements: Elements | None = None) -> None:
        super().__init__(program, style, elements)
        self.out = "%out"
        folded = program.sink.folded
        assert folded is not None
        self.folded: Folded = folded
        t = self.text
        self.scalar = SCALAR[folded.word]
        self.word, self.places, self.one = (t.vector(s) for s in (self.scalar, PLACE, "i1"))
        info = np.iinfo(folded.word)
        start = {"sum": 0, "count": 0, "least": int(info.max), "most": int(info.min)}[folded.op]
        self.start = t.constant(start, folded.word)
        self.sign = "s" if folded.word in dtypes.SIGNED else "u"

    def emit(self) -> str:
        self.boxes()
        return function(self.text, ("geometry", "buffers", "params", "scratch", "out"), [])

    def lanes_below(self, count: str) -> str:
        """The first ``count`` lanes, which are not all."""
        return below(self.text, self.scalar, count)

    # Folding -------------------------------------------------------------------------------

    def fold(self, held: tuple[str, str], x: str, place: str) -> tuple[str, str]:
        """Words and places with the elements ``x`` at ``place``."""
        t, v = self.text, self.word
        word, before = held
        if self.folded.op == "sum":
            return t.op(f"add {v} {word}, {x}"), ""
        name, relation = _NAMES[self.folded.op]
        if not self.folded.first:
            full = f"llvm.{self.sign}{name}.v{t.lanes}{self.scalar}"
            return t.call(v, full, v, word, x), ""
        better = t.op(f"icmp {self.sign}{relation} {v} {x}, {word}")
        word = t.op(f"select {self.one} {better}, {v} {x}, {v} {word}")
        p = self.places
        return word, t.op(f"select {self.one} {better}, {p} {place}, {p} {before}")

    def lanes_folded(self, operation: str, scalar: str, x: str) -> str:
        """All lanes of ``x`` in one word."""
        t = self.text
        name = f"llvm.vector.reduce.{operation}.v{t.lanes}{scalar}"
        return t.call(scalar, name, t.vector(scalar), x)

    # Words in memory -----------------------------------------------------------------------

    def slot(self, which: int, j: str) -> str:
        """The address of word (place) ``j`` of those that wait in memory."""
        scalar = PLACE if which else self.scalar
        return self.text.at(self.elements.buffer(self.elements.layout.sink + which), j, scalar)

    def held(self, j: str) -> tuple[str, str]:
        """Words j, j + 1, ... and their places."""
        t = self.text
        word = t.load(self.word, self.slot(SINK, j), ALIGN[self.scalar])
        if not self.folded.first:
            return word, ""
        return word, t.load(self.places, self.slot(PLACES, j), ALIGN[PLACE])

    def keep(self, held: tuple[str, str], j: str) -> None:
        """The opposite."""
        t = self.text
        t.store(self.word, held[0], self.slot(SINK, j), ALIGN[self.scalar])
        if self.folded.first:
            t.store(self.places, held[1], self.slot(PLACES, j), ALIGN[PLACE])

    def give(self, out: str, j: str, count: str) -> None:
        """Results j, j + 1, ... of ``count`` that wait, to their places from ``out`` on."""
        t, sink = self.text, self.program.sink
        word, place = self.held(j)
        found = place if self.folded.first else word
        value = emit(t, self.folded.finish, {"x": found}, "%params")["x"]
        scalar = SCALAR[sink.dtype]
        if scalar == "i1":
            scalar = "i8"
            value = t.op(f"zext {self.one} {value} to {t.vector(scalar)}")
        whole = t.op(f"icmp sge i64 {t.i64('sub', count, j)}, {t.lanes}")
        if sink.unit_stride:
            pointer = t.at(self.out, t.i64("add", out, j), scalar)
            with t.when(whole):
                t.store(t.vector(scalar), value, pointer, ALIGN[scalar])
            with t.when(t.op(f"xor i1 {whole}, true")):
                masked_store(t, scalar, value, pointer, self.lanes_below(t.i64("sub", count, j)))
            return
        mask = below(t, "i64", t.i64("sub", count, j))
        index = self.elements.positions(len(self.program.leaves), "strided", out, j)
        pointers = t.op(f"getelementptr {scalar}, ptr {self.out}, {t.vector('i64')} {index}")
        scatter(t, scalar, value, pointers, mask)


def below(t: Text, scalar: str, count: str) -> str:
    """The lanes before lane ``count``, of vectors of ``scalar``; all where there are so many."""
    v, most = t.vector(scalar), str(t.lanes)
    count = t.minimum(count, most)
    if scalar != "i64":
        count = t.op(f"trunc i64 {count} to {scalar}")
    numbers = ", ".join(f"{scalar} {k}" for k in range(t.lanes))
    return t.op(f"icmp ult {v} <{numbers}>, {t.splat(scalar, count)}")
