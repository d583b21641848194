"""What a GPU kernel does with its elements: store them, or fold them into one result record.

Each thread folds its own elements; a unit's threads meet in shared memory at its end, and units in
the record, by atomics on integers: their order cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..folds import FOLDS
from ..program import Sink
from .exact_sum import ThreadSum
from .folds import fold_of
from .hooks import CudaSink
from .ordering.foremost import ThreadForemost
from .ordering.sieve import ThreadSieve
from .ordering.tally import ThreadBins, ThreadTally
from .ordering.weigh import ThreadReach, ThreadWeigh
from .ordering.words import ThreadScatter, ThreadWords
from .text import CudaText, memory
from .wide import wide


class ThreadStore(CudaSink):
    """Every element goes to its place in the result; neighbours together."""

    dealt = True
    together = False  # neighbours are being computed

    @property
    def memory(self) -> str:
        return memory(self.sink.dtype)

    def place(self, j: str, e: str) -> str:
        return f"({self.memory} *){self.out} + {self.text.position(self.text.count, j, e)}"

    def neighbours(self, count: int) -> None:
        if self.sink.unit_stride:
            self.together = True
            self.put(f"{wide(self.sink.dtype, count)} results{self.tag};")

    def after_neighbours(self, count: int) -> None:
        if self.together:
            place = self.text.position(self.text.count, "(j0 + e0)", "e0")
            self.put(f"results{self.tag}.store(({self.memory} *){self.out} + {place});")
        self.together = False

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        if self.together:
            self.put(f"results{self.tag}.x[v] = {outputs['x']};")
            return
        place = self.text.position(self.text.count, j, e)
        self.put(f"(({self.memory} *){self.out})[{place}] = {outputs['x']};")


class ThreadSeveral(CudaSink):
    """Several sinks of the same elements, each with an output of its own."""

    def __init__(self, text: CudaText, sink: Sink) -> None:
        super().__init__(text, sink, "")
        self.parts = [_sink(text, part, f"_{k}") for k, part in enumerate(sink.parts)]
        self.dealt = sink.stores

    def support(self) -> list[str]:
        return list(dict.fromkeys(one for part in self.parts for one in part.support()))

    def declare(self) -> None:
        for part in self.parts:
            part.declare()

    def begin(self) -> None:
        for part in self.parts:
            part.begin()

    def batch(self, size: int) -> None:
        for part in self.parts:
            part.batch(size)

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        for k, part in enumerate(self.parts):
            own = f"{k}."
            mine = {n.removeprefix(own): x for n, x in outputs.items() if n.startswith(own)}
            part.consume(mine, j, e, a)

    def after_batch(self, size: int) -> None:
        for part in self.parts:
            part.after_batch(size)

    def place(self, j: str, e: str) -> str:
        return self.parts[0].place(j, e)

    def neighbours(self, count: int) -> None:
        for part in self.parts:
            part.neighbours(count)

    def after_neighbours(self, count: int) -> None:
        for part in self.parts:
            part.after_neighbours(count)

    def after_tile(self) -> None:
        for part in self.parts:
            part.after_tile()

    def end(self) -> None:
        for part in self.parts:
            part.end()


def sink_of(text: CudaText) -> CudaSink:
    """The sink of the kernel's program."""
    sink = text.program.sink
    return ThreadSeveral(text, sink) if sink.parts else _sink(text, sink, "")


def _sink(text: CudaText, sink: Sink, tag: str) -> CudaSink:
    if sink.kind in FOLDS:
        return fold_of(text, sink, tag)
    return _SINKS[sink.kind](text, sink, tag)


_SINKS: Final[dict[str, Callable[[CudaText, Sink, str], CudaSink]]] = {
    "exact": ThreadSum,
    "store": ThreadStore,
    "sieve": ThreadSieve,
    "tally": ThreadTally,
    "wide tally": ThreadTally,
    "bins": ThreadBins,
    "weigh": ThreadWeigh,
    "square weigh": ThreadWeigh,
    "words": ThreadWords,
    "square words": ThreadWords,
    "scatter": ThreadScatter,
    "reach": ThreadReach,
    **dict.fromkeys(
        ("least", "greatest", "least place", "greatest place", "picked"), ThreadForemost
    ),
}
