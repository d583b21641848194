"""What a CPU kernel does with its elements: store them, or fold them into one result record."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from .exact_sum import ExactSum
from .memory import ALIGN, masked_store, scatter
from .text import SCALAR, kept

if TYPE_CHECKING:
    from .loops import Loops, Tile

Consume: TypeAlias = Callable[[dict[str, str], str, str | None], None]


class SinkLoops(Protocol):
    """A sink's part of the nest: around one record, and for one tile."""

    def begin(self, record: str) -> None: ...
    def tile(self, tile: Tile) -> None: ...
    def end(self) -> None: ...


class Store:
    """Every element goes to its place in the result."""

    def __init__(self, loops: Loops) -> None:
        self.loops = loops

    def begin(self, record: str) -> None:
        """Elements have no record."""

    def end(self) -> None:
        """Elements have no record."""

    def tile(self, tile: Tile) -> None:
        self.loops.element_loop(tile, lambda outputs, j, mask: self.put(tile, outputs, j, mask))

    def put(self, tile: Tile, outputs: dict[str, str], j: str, mask: str | None) -> None:
        t, loops, value = self.loops.text, self.loops, outputs["x"]
        scalar = SCALAR[loops.program.sink.dtype]
        if scalar == "i1":
            value = t.op(f"zext {t.vector('i1')} {value} to {t.vector('i8')}")
            scalar = "i8"
        out = len(loops.program.leaves)
        if loops.program.sink.unit_stride and not loops.program.table:
            pointer = t.at("%out", t.i64("add", tile.out, j), scalar)
            if mask is None:
                t.store(t.vector(scalar), value, pointer, ALIGN[scalar])
            else:
                masked_store(t, scalar, value, pointer, mask)
            return
        mode = "table" if loops.program.table else "strided"
        index = loops.positions(out, mode, tile.out, j)
        pointers = t.op(f"getelementptr {scalar}, ptr %out, {t.vector('i64')} {index}")
        scatter(t, scalar, value, pointers, mask or t.constant(True, "bool"))


class IntegerSum:
    """A wrapping int64 sum."""

    def __init__(self, loops: Loops) -> None:
        self.loops = loops
        self.total = ""
        self.record = ""

    def begin(self, record: str) -> None:
        t = self.loops.text
        self.record = record
        self.total = t.variable(t.vector("i64"), "zeroinitializer", "total")

    def tile(self, tile: Tile) -> None:
        self.loops.element_loop(tile, lambda outputs, j, mask: self.add(outputs["x"], mask))

    def add(self, x: str, mask: str | None) -> None:
        t = self.loops.text
        v = t.vector("i64")
        x = kept(t, "i64", mask, x, "zeroinitializer")
        t.store(v, t.op(f"add {v} {t.load(v, self.total)}, {x}"), self.total)

    def end(self) -> None:
        t = self.loops.text
        v = t.vector("i64")
        name = f"llvm.vector.reduce.add.v{t.lanes}i64"
        total = t.call("i64", name, v, t.load(v, self.total))
        t.store("i64", t.i64("add", t.load("i64", self.record), total), self.record)


class Minimum:
    """The least order key (`rules.order_key`)."""

    def __init__(self, loops: Loops) -> None:
        self.loops = loops
        self.least = ""
        self.record = ""

    def begin(self, record: str) -> None:
        t = self.loops.text
        self.record = record
        self.least = t.variable(t.vector("i64"), t.constant(2**63 - 1, "int64"), "least")

    def tile(self, tile: Tile) -> None:
        self.loops.element_loop(tile, lambda outputs, j, mask: self.fold(outputs["x"], mask))

    def fold(self, x: str, mask: str | None) -> None:
        t = self.loops.text
        v = t.vector("i64")
        x = kept(t, "i64", mask, x, t.constant(2**63 - 1, "int64"))
        name = f"llvm.smin.v{t.lanes}i64"
        t.store(v, t.call(v, name, v, t.load(v, self.least), x), self.least)

    def end(self) -> None:
        t = self.loops.text
        v = t.vector("i64")
        name = f"llvm.vector.reduce.smin.v{t.lanes}i64"
        least = t.call("i64", name, v, t.load(v, self.least))
        t.store("i64", t.minimum(least, t.load("i64", self.record)), self.record)


class ArgMinimum:
    """The least (order key, place): ties go to the first place."""

    def __init__(self, loops: Loops) -> None:
        self.loops = loops
        self.key = self.at = self.record = ""

    def begin(self, record: str) -> None:
        t = self.loops.text
        self.record = record
        most = t.constant(2**63 - 1, "int64")
        self.key = t.variable(t.vector("i64"), most, "key")
        self.at = t.variable(t.vector("i64"), most, "at")

    def tile(self, tile: Tile) -> None:
        self.loops.element_loop(tile, lambda outputs, j, mask: self.fold(outputs, mask))

    def fold(self, outputs: dict[str, str], mask: str | None) -> None:
        t = self.loops.text
        v = t.vector("i64")
        most = t.constant(2**63 - 1, "int64")
        x = kept(t, "i64", mask, outputs["x"], most)
        at = kept(t, "i64", mask, outputs["at"], most)
        key, best = t.load(v, self.key), t.load(v, self.at)
        less = t.op(f"icmp slt {v} {x}, {key}")
        tie = t.op(f"icmp eq {v} {x}, {key}")
        sooner = t.op(f"icmp slt {v} {at}, {best}")
        ones = t.vector("i1")
        better = t.op(f"or {ones} {less}, {t.op(f'and {ones} {tie}, {sooner}')}")
        t.store(v, t.op(f"select {ones} {better}, {v} {x}, {v} {key}"), self.key)
        t.store(v, t.op(f"select {ones} {better}, {v} {at}, {v} {best}"), self.at)

    def end(self) -> None:
        t = self.loops.text
        v, ones = t.vector("i64"), t.vector("i1")
        place = t.at(self.record, 1)
        key, at = t.load(v, self.key), t.load(v, self.at)
        smin = f"llvm.vector.reduce.smin.v{t.lanes}i64"
        least = t.minimum(t.call("i64", smin, v, key), t.load("i64", self.record))
        winners = t.op(f"icmp eq {v} {key}, {t.splat('i64', least)}")
        most = t.constant(2**63 - 1, "int64")
        at = t.op(f"select {ones} {winners}, {v} {at}, {v} {most}")
        first = t.call("i64", smin, v, at)
        old = t.load("i64", place)
        same = t.op(f"icmp eq i64 {t.load('i64', self.record)}, {least}")
        old = t.op(f"select i1 {same}, i64 {old}, i64 {2**63 - 1}")
        t.store("i64", t.minimum(first, old), place)
        t.store("i64", least, self.record)


SINKS: Final[dict[str, Callable[[Loops], SinkLoops]]] = {
    "store": Store,
    "isum": IntegerSum,
    "min": Minimum,
    "argmin": ArgMinimum,
    "exact": ExactSum,
}
