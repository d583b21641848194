"""What a GPU kernel does with its elements: store them, or fold them into one result record.

Each thread folds its own elements; a unit's threads meet in shared memory at its end, and units in
the record, by atomics on integers: their order cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from ..folds import FOLDS
from .exact_sum import ThreadSum
from .folds import fold_of
from .hooks import CudaSink
from .text import CudaText, memory
from .wide import wide


class ThreadStore(CudaSink):
    """Every element goes to its place in the result; neighbours together."""

    dealt: ClassVar[bool] = True
    together = False  # neighbours are being computed

    @property
    def memory(self) -> str:
        return memory(self.text.program.sink.dtype)

    def neighbours(self, count: int) -> None:
        if self.text.program.sink.unit_stride:
            self.together = True
            self.put(f"{wide(self.text.program.sink.dtype, count)} results;")

    def after_neighbours(self, count: int) -> None:
        if self.together:
            place = self.text.position(self.text.count, "(j0 + e0)", "e0")
            self.put(f"results.store(({self.memory} *)out + {place});")
        self.together = False

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        if self.together:
            self.put(f"results.x[v] = {outputs['x']};")
            return
        place = self.text.position(self.text.count, j, e)
        self.put(f"(({self.memory} *)out)[{place}] = {outputs['x']};")


_SINKS: Final[dict[str, Callable[[CudaText], CudaSink]]] = {
    "store": ThreadStore,
    "exact": ThreadSum,
}


def sink_of(text: CudaText) -> CudaSink:
    """The sink of the kernel's program."""
    kind = text.program.sink.kind
    return fold_of(text, FOLDS[kind]) if kind in FOLDS else _SINKS[kind](text)
