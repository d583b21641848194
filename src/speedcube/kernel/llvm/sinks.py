"""What a CPU kernel does with its elements: store them, or fold them into one result record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ..folds import FOLDS
from .elements import Elements, Tile
from .exact_sum import LaneSum
from .folds import fold_of
from .memory import ALIGN, masked_store, scatter
from .text import SCALAR


class LaneSink(Protocol):
    """A sink's part of the nest: around one record, and for one tile."""

    def begin(self, record: str) -> None: ...
    def tile(self, tile: Tile) -> None: ...
    def end(self) -> None: ...


class LaneStore:
    """Every element goes to its place in the result."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements

    def begin(self, record: str) -> None:
        """Elements have no record."""

    def end(self) -> None:
        """Elements have no record."""

    def tile(self, tile: Tile) -> None:
        self.elements.element_loop(tile, lambda outputs, j, mask: self.put(tile, outputs, j, mask))

    def put(self, tile: Tile, outputs: dict[str, str], j: str, mask: str | None) -> None:
        t, elements, value = self.elements.text, self.elements, outputs["x"]
        scalar = SCALAR[elements.program.sink.dtype]
        if scalar == "i1":
            value = t.op(f"zext {t.vector('i1')} {value} to {t.vector('i8')}")
            scalar = "i8"
        out = len(elements.program.leaves)
        if elements.program.sink.unit_stride and not elements.program.table:
            pointer = t.at("%out", t.i64("add", tile.out, j), scalar)
            if mask is None:
                t.store(t.vector(scalar), value, pointer, ALIGN[scalar])
            else:
                masked_store(t, scalar, value, pointer, mask)
            return
        mode = "table" if elements.program.table else "strided"
        index = elements.positions(out, mode, tile.out, j)
        pointers = t.op(f"getelementptr {scalar}, ptr %out, {t.vector('i64')} {index}")
        scatter(t, scalar, value, pointers, mask or t.constant(True, "bool"))


_SINKS: Final[dict[str, Callable[[Elements], LaneSink]]] = {"store": LaneStore, "exact": LaneSum}


def sink_of(elements: Elements) -> LaneSink:
    """The sink of the kernel's program."""
    kind = elements.program.sink.kind
    return fold_of(elements, FOLDS[kind]) if kind in FOLDS else _SINKS[kind](elements)
