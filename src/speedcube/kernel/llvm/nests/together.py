"""Several results of the same elements: what makes each of them, in the loops of all.

A tile of elements that one has read lies in the L1 cache for the others. The kernel's output is a
table of where their results go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, partial
from typing import TypeAlias

from ...program import Program
from ..elements import Consume, Tile
from ..folded import columns as folded_columns
from ..folded.columns import FoldedColumns
from ..folded.nest import FoldedNest
from ..folded.rows import FoldedRows
from ..folded.which import rows_of as folded_rows
from ..function import function
from ..loops import Nest
from ..many import columns as many_columns
from ..many.columns import ColumnLoops
from ..many.integers import rows_of as sums_of
from ..many.nest import ManyNest
from ..many.rows import RowLoops
from ..memory import NEXT
from ..text import Style
from .columns import ColumnNest, Outputs
from .rows import RowNest

OneOfRows: TypeAlias = RowLoops | FoldedRows
OneOfColumns: TypeAlias = ColumnLoops | FoldedColumns


class TogetherNest(Nest):
    """Emits a kernel of several results; ``ones`` make one each, or several of the same sums."""

    def emit(self) -> str:
        t, place = self.text, 0
        failed = t.variable("i64", "0", "failed")
        for one in self.makers():
            count = len(one.many.ops) if isinstance(one, ManyNest) else 1
            outs = [t.load("ptr", t.at("%out", place + k, "ptr")) for k in range(count)]
            place += count
            if isinstance(one, ManyNest):
                one.outs, one.failed = outs, failed
            else:
                one.out = outs[0]
        self.boxes()
        t.store("i64", t.load("i64", failed), "%geometry")
        return function(t, ("geometry", "buffers", "params", "scratch", "out"), [])

    def makers(self) -> Iterable[ManyNest | FoldedNest]:
        """What makes the results, in the order of the sinks."""
        raise NotImplementedError

    def parts(self) -> Iterator[tuple[Program, Style]]:
        """What each of the makers is made of."""
        for k in range(len(self.program.sink.parts)):
            yield self.program.part(k), self.elements.style


class TogetherRows(TogetherNest, RowNest):
    """Those one after the other."""

    @cached_property
    def ones(self) -> list[OneOfRows]:
        """A maker for each sink."""
        return [
            (
                folded_rows(part[0].sink.folded)
                if part[0].sink.folded
                else sums_of(part[0].sink.many)
            )(*part, self.elements.of_part(k))
            for k, part in enumerate(self.parts())
        ]

    def makers(self) -> list[OneOfRows]:
        return self.ones

    def begin(self) -> None:
        for one in self.ones:
            one.begin()

    def add(self, tile: Tile, start: str) -> None:
        """Hand a tile to each; those that compute little share a loop, so that chains overlap."""
        takers: dict[str, Consume] = {}
        self.elements.looks = True
        for k, one in enumerate(self.ones):
            one.elements.looks = self.elements.looks
            if isinstance(one, FoldedRows):
                takers[f"{k}."] = partial(one.take, start)
            elif one.again:
                one.begin_with(tile)
                takers[f"{k}."] = one.taker()
            else:
                one.add(tile, start)
                self.elements.looks = False  # the others find the tile in the cache

        def take(outputs: Outputs, j: str, mask: str | None) -> None:
            for own, taker in takers.items():
                taker(own_outputs(outputs, own), j, mask)

        if takers:
            body = self.program.element.part(tuple(takers))
            self.elements.element_loop(tile, take, body)
        for k, one in enumerate(self.ones):
            if isinstance(one, RowLoops) and f"{k}." in takers:
                one.settle()

    def end(self, q: str) -> None:
        for one in self.ones:
            one.end(q)

    def give(self, out: str, j: str, count: str) -> None:
        for one in self.ones:
            one.give(out, j, count)


class TogetherColumns(TogetherNest, ColumnNest):
    """Those side by side."""

    @cached_property
    def ones(self) -> list[OneOfColumns]:
        """A maker for each sink."""
        return [
            (FoldedColumns if part[0].sink.folded else ColumnLoops)(*part, self.elements.of_part(k))
            for k, part in enumerate(self.parts())
        ]

    def makers(self) -> list[OneOfColumns]:
        return self.ones

    @cached_property
    def at_once(self) -> int:
        """Rows whose elements are taken together."""
        return min(
            folded_columns.rows_at_once(one.program)
            if isinstance(one, FoldedColumns)
            else many_columns.rows_at_once(one.program)
            for one in self.ones
        )

    def boxes(self) -> None:
        self.elements.look_rows_ahead(self.at_once, NEXT)
        ColumnNest.boxes(self)

    def lanes_below(self, count: str) -> str:
        t = self.text
        return t.op(f"icmp slt {t.vector('i64')} {t.iota('0')}, {t.splat('i64', count)}")

    def tile(self, at: list[str], count: str) -> None:
        for one in self.ones:
            one.first(at, count)
        self.down(at, count, self.add, self.at_once, self.settle)
        for one in self.ones:
            one.last(at, count)

    @property
    def settle(self) -> Callable[[str], None] | None:
        """What puts rests aside, where there are such."""
        sums = (one for one in self.ones if isinstance(one, ColumnLoops) and one.quick is None)
        each = [one.settle for one in sums if one.settle is not None]

        def settle(j: str) -> None:
            for one in each:
                one(j)

        return settle if each else None

    def add(self, elements: Iterable[Outputs], places: list[str], j: str, mask: str | None) -> None:
        """Hand the elements of some rows, computed once for all, to each."""
        rows = list(elements)
        for k, one in enumerate(self.ones):
            one.add([own_outputs(row, f"{k}.") for row in rows], places, j, mask)


def own_outputs(outputs: Outputs, own: str) -> Outputs:
    """Those of ``outputs`` whose names begin with ``own``, by their names without it."""
    return {name.removeprefix(own): x for name, x in outputs.items() if name.startswith(own)}
