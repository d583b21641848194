"""What a CPU kernel does with its elements: store them, or fold them into one result record."""

from __future__ import annotations

from typing import Final

from ..folds import FOLDS
from ..program import Sink
from .elements import Elements, Tile
from .exact_singles import SinglesSum, has_singles
from .exact_sum import LaneSum
from .folds import fold_of
from .hooks import LaneSink
from .memory import ALIGN, masked_store, past_the_cache, scatter, store_woven
from .text import SCALAR


class LaneStore(LaneSink):
    """Every element goes to its place in the result."""

    def __init__(self, elements: Elements, sink: Sink) -> None:
        super().__init__(elements)
        self.sink = sink
        self.out = self.place = ""

    def begin(self, record: str) -> None:
        self.out = record

    def before(self, tile: Tile) -> None:
        self.place = tile.out

    def consume(self, outputs: dict[str, str], j: str, mask: str | None) -> None:
        t, elements, value = self.elements.text, self.elements, outputs["x"]
        scalar = SCALAR[self.sink.dtype]
        if scalar == "i1":
            value = t.op(f"zext {t.vector('i1')} {value} to {t.vector('i8')}")
            scalar = "i8"
        if self.sink.packed or (self.sink.unit_stride and not elements.program.table):
            pointer = t.at(self.out, t.i64("add", self.place, j), scalar)
            if elements.passes:
                past_the_cache(t, scalar, value, pointer)
            elif mask is None:
                t.store(t.vector(scalar), value, pointer, ALIGN[scalar])
            else:
                masked_store(t, scalar, value, pointer, mask)
            return
        mode = "table" if elements.program.table else "strided"
        index = elements.positions(len(elements.program.leaves), mode, self.place, j)
        pointers = t.op(f"getelementptr {scalar}, ptr {self.out}, {t.vector('i64')} {index}")
        scatter(t, scalar, value, pointers, mask or t.constant(True, "bool"))

    def weave(self, value: str, between: str, j: str) -> None:
        """Elements ``value`` to their places, every other one, and those ``between``."""
        t, scalar = self.elements.text, SCALAR[self.sink.dtype]
        pointer = t.at(self.out, t.i64("add", self.place, t.i64("shl", j, 1)), scalar)
        store_woven(t, scalar, value, between, pointer)


# Instructions of an element that may be computed again for another sink of its tile.
AGAIN: Final = 24
TERMS: Final = 2  # of exact sums in one loop over a tile, besides simple folds


class LaneSeveral(LaneSink):
    """Several sinks of the same elements; the kernel's output is a table of theirs."""

    def __init__(self, elements: Elements, parts: tuple[Sink, ...]) -> None:
        super().__init__(elements)
        self.parts: list[LaneSink] = []
        first = elements.layout.sink
        for part in parts:
            self.parts.append(_sink(elements, part, first))
            first += len(part.terms)

    def begin(self, record: str) -> None:
        t = self.elements.text
        for k, part in enumerate(self.parts):
            part.begin(t.load("ptr", t.at(record, k, "ptr")))

    def take(self, tile: Tile) -> None:
        for part in self.parts:
            part.before(tile)
        for group in self.groups():
            self.turn(tile, group)
        for part in self.parts:
            part.after(tile)

    def groups(self) -> list[list[int]]:
        """The parts whose vectors are taken together.

        The vectors of two exact sums fill most of the registers, those of more do not fit. A tile
        lies in the L1 cache: there its elements are computed again in no time.
        """
        body, sinks = self.elements.program.element, self.elements.program.sink.parts
        again = sum(len(body.part(f"{k}.").instrs) for k in range(len(sinks))) - len(body.instrs)
        if again > AGAIN:
            return [[*range(len(sinks))]]
        groups: list[list[int]] = []
        for k in sorted(range(len(sinks)), key=lambda k: -len(sinks[k].terms)):
            for group in groups:
                if sum(len(sinks[other].terms) for other in (*group, k)) <= TERMS:
                    group.append(k)
                    break
            else:
                groups.append([k])
        return groups

    def turn(self, tile: Tile, group: list[int]) -> None:
        """The elements of ``tile`` to the parts of ``group``."""
        body = self.elements.program.element.part(tuple(f"{k}." for k in group))

        def consume(outputs: dict[str, str], j: str, mask: str | None) -> None:
            others = iter(group)
            for k in others:
                part = self.parts[k]
                if mask is None and isinstance(part, LaneStore) and part.sink.woven:
                    part.weave(outputs[f"{k}.x"], outputs[f"{next(others)}.x"], j)
                    continue
                own = f"{k}."
                mine = {n.removeprefix(own): x for n, x in outputs.items() if n.startswith(own)}
                part.consume(mine, j, mask)

        self.elements.element_loop(tile, consume, body)

    def end(self) -> None:
        for part in self.parts:
            part.end()


def sink_of(elements: Elements) -> LaneSink:
    """The sink of the kernel's program."""
    sink = elements.program.sink
    if sink.parts:
        return LaneSeveral(elements, sink.parts)
    return _sink(elements, sink, elements.layout.sink)


def _sink(elements: Elements, sink: Sink, first: int) -> LaneSink:
    """``sink``, whose terms wait in the buffers from number ``first``."""
    if sink.kind in FOLDS:
        return fold_of(elements, FOLDS[sink.kind])
    if sink.kind != "exact":
        return LaneStore(elements, sink)
    singles = has_singles(elements.program, sink)
    return (SinglesSum if singles else LaneSum)(elements, sink, first)
