"""Simple folds (`kernel/folds.py`) on a CPU: each lane for itself, at the end of a record all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..folds import Fold
from .elements import Elements
from .hooks import LaneSink
from .text import Text, masked


def _add_vectors(t: Text, a: str, b: str) -> str:
    return t.op(f"add {t.vector('i64')} {a}, {b}")


def _add(t: Text, a: str, b: str) -> str:
    return t.i64("add", a, b)


def _lesser_of_vectors(t: Text, a: str, b: str) -> str:
    return t.call(t.vector("i64"), f"llvm.smin.v{t.lanes}i64", t.vector("i64"), a, b)


_Combine = Callable[[Text, str, str], str]
# How words are combined: vectors of them lane by lane, the lanes of one, two alone.
_COMBINE: Final[dict[str, tuple[_Combine, str, _Combine]]] = {
    "add": (_add_vectors, "add", _add),
    "least": (_lesser_of_vectors, "smin", Text.minimum),
}


def _lanes(t: Text, operation: str, x: str) -> str:
    """All lanes of ``x`` in one word."""
    name = f"llvm.vector.reduce.{operation}.v{t.lanes}i64"
    return t.call("i64", name, t.vector("i64"), x)


class LaneFold(LaneSink):
    """A simple fold into one word."""

    def __init__(self, elements: Elements, fold: Fold) -> None:
        super().__init__(elements)
        self.output = fold.outputs[0]
        self.vectors, self.lanes, self.words = _COMBINE[fold.combine]
        self.start = elements.text.constant(fold.start, "int64")
        self.folded = self.record = ""

    def begin(self, record: str) -> None:
        t = self.elements.text
        self.record = record
        self.folded = t.variable(t.vector("i64"), self.start, "folded")

    def consume(self, outputs: dict[str, str], j: str, mask: str | None) -> None:
        t = self.elements.text
        v = t.vector("i64")
        x = masked(t, "i64", mask, outputs[self.output], self.start)
        t.store(v, self.vectors(t, t.load(v, self.folded), x), self.folded)

    def end(self) -> None:
        t = self.elements.text
        x = _lanes(t, self.lanes, t.load(t.vector("i64"), self.folded))
        t.store("i64", self.words(t, x, t.load("i64", self.record)), self.record)


class LanePairFold(LaneSink):
    """The least of two words: of the first, and where that is equal of the second."""

    def __init__(self, elements: Elements, fold: Fold) -> None:
        super().__init__(elements)
        self.outputs = fold.outputs
        self.start = elements.text.constant(fold.start, "int64")
        self.worst = str(fold.start)
        self.first = self.second = self.record = ""

    def begin(self, record: str) -> None:
        t = self.elements.text
        self.record = record
        self.first = t.variable(t.vector("i64"), self.start, "first")
        self.second = t.variable(t.vector("i64"), self.start, "second")

    def consume(self, outputs: dict[str, str], j: str, mask: str | None) -> None:
        t = self.elements.text
        v, ones = t.vector("i64"), t.vector("i1")
        x, y = (masked(t, "i64", mask, outputs[name], self.start) for name in self.outputs)
        first, second = t.load(v, self.first), t.load(v, self.second)
        less = t.op(f"icmp slt {v} {x}, {first}")
        tie = t.op(f"icmp eq {v} {x}, {first}")
        sooner = t.op(f"icmp slt {v} {y}, {second}")
        better = t.op(f"or {ones} {less}, {t.op(f'and {ones} {tie}, {sooner}')}")
        t.store(v, t.op(f"select {ones} {better}, {v} {x}, {v} {first}"), self.first)
        t.store(v, t.op(f"select {ones} {better}, {v} {y}, {v} {second}"), self.second)

    def end(self) -> None:
        t = self.elements.text
        v, ones = t.vector("i64"), t.vector("i1")
        place = t.at(self.record, 1)
        first, second = t.load(v, self.first), t.load(v, self.second)
        least = t.minimum(_lanes(t, "smin", first), t.load("i64", self.record))
        winners = t.op(f"icmp eq {v} {first}, {t.splat('i64', least)}")
        second = t.op(f"select {ones} {winners}, {v} {second}, {v} {self.start}")
        soonest = _lanes(t, "smin", second)
        before = t.load("i64", place)
        same = t.op(f"icmp eq i64 {t.load('i64', self.record)}, {least}")
        before = t.op(f"select i1 {same}, i64 {before}, i64 {self.worst}")
        t.store("i64", t.minimum(soonest, before), place)
        t.store("i64", least, self.record)


def fold_of(elements: Elements, fold: Fold) -> LaneFold | LanePairFold:
    """What folds a kernel's ``elements``."""
    return (LaneFold if len(fold.outputs) == 1 else LanePairFold)(elements, fold)
