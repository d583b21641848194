"""What a CPU kernel does with its elements: store them, or fold them into one result record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from ..expr.space import TILE
from .llvm import SCALAR, Text
from .llvm_memory import ALIGN, masked_store, scatter
from .program import LIMBS, Term

if TYPE_CHECKING:
    from .llvm_loops import Loops, Tile

Consume: TypeAlias = Callable[[dict[str, str], str, str | None], None]


class SinkLoops(Protocol):
    """A sink's part of the nest: around one record, and for one tile."""

    def begin(self, record: str) -> None: ...
    def tile(self, tile: Tile) -> None: ...
    def end(self) -> None: ...


def _kept(text: Text, scalar: str, mask: str | None, value: str, otherwise: str) -> str:
    """``value``, or ``otherwise`` in the lanes outside ``mask``."""
    if mask is None:
        return value
    v = text.vector(scalar)
    return text.op(f"select {text.vector('i1')} {mask}, {v} {value}, {v} {otherwise}")


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
        x = _kept(t, "i64", mask, x, "zeroinitializer")
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
        x = _kept(t, "i64", mask, x, t.constant(2**63 - 1, "int64"))
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
        x = _kept(t, "i64", mask, outputs["x"], most)
        at = _kept(t, "i64", mask, outputs["at"], most)
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


@dataclass
class _Bin:
    """The accumulators of one term."""

    term: Term
    high: str = ""
    low: str = ""
    units: tuple[str, str] = ("", "")
    buffer: str = ""
    flag: str = ""
    limbs: str = ""


@dataclass
class ExactSum:
    """Exact sums: doubles that cannot round, flushed to limbs in time (`program.Bins`)."""

    loops: Loops
    bins: list[_Bin] = field(default_factory=list)
    pending: str = ""

    def begin(self, record: str) -> None:
        t, sink = self.loops.text, self.loops.program.sink
        self.bins = []
        v = t.vector("double")
        for k, term in enumerate(sink.terms):
            bin = _Bin(term, limbs=t.at(record, term.group * LIMBS))
            bin.high = t.variable(v, "zeroinitializer", "high")
            bin.low = t.variable(v, "zeroinitializer", "low")
            bin.flag = t.variable(t.vector("i64"), "zeroinitializer", "flag")
            bin.buffer = self.loops.buffer(self.loops.layout.sink + k)
            if term.bins.mode in ("split", "residual"):
                bin.units = (self.unit(term.bins.slot), self.unit(term.bins.slot + 1))
            self.bins.append(bin)
        self.pending = t.variable("i64", "0", "pending")

    def unit(self, slot: int) -> str:
        t = self.loops.text
        return t.splat("double", t.load("double", t.at("%params", slot)))

    def tile(self, tile: Tile) -> None:
        t = self.loops.text
        self.loops.element_loop(tile, self.consume)
        for bin in self.bins:
            if bin.term.bins.mode == "search":
                self.search(bin, tile)
            elif bin.term.bins.mode == "residual":
                self.residuals(bin, tile)
        count = t.i64("add", t.load("i64", self.pending), tile.count)
        t.store("i64", count, self.pending)
        # A lane sees at most every term since the last flush: leave room for one more tile.
        chunks = [b.term.bins.chunk for b in self.bins if b.term.bins.mode != "search"]
        if chunks:
            with t.when(t.op(f"icmp sgt i64 {count}, {(1 << min(chunks)) - TILE}")):
                self.flush()

    def consume(self, outputs: dict[str, str], j: str, mask: str | None) -> None:
        t = self.loops.text
        for bin in self.bins:
            x = _kept(t, "double", mask, outputs[bin.term.output], "zeroinitializer")
            if bin.term.bins.mode == "search":
                self.remember(bin, x, j)
            else:
                self.accumulate(bin, x, j)

    def accumulate(self, bin: _Bin, x: str, j: str) -> None:
        """X into the bins: plain, or high part, low part, and what is left over."""
        t, v, mode = self.loops.text, self.loops.text.vector("double"), bin.term.bins.mode
        if mode == "plain":
            self.add(bin.high, x)
            return
        rest = self.split(bin.high, bin.units[0], x)
        if mode == "split":
            self.add(bin.low, rest)
            return
        left = self.split(bin.low, bin.units[1], rest)
        t.store(v, left, t.at(bin.buffer, j, "double"), 8)
        self.raise_flag(bin, left)

    def raise_flag(self, bin: _Bin, left: str) -> None:
        t = self.loops.text
        v = t.vector("i64")
        bits = t.op(f"bitcast {t.vector('double')} {left} to {v}")
        bits = t.op(f"and {v} {bits}, {t.constant(2**63 - 1, 'int64')}")
        t.store(v, t.op(f"or {v} {t.load(v, bin.flag)}, {bits}"), bin.flag)

    def add(self, total: str, x: str) -> None:
        t = self.loops.text
        v = t.vector("double")
        t.store(v, t.op(f"fadd {v} {t.load(v, total)}, {x}"), total)

    def split(self, total: str, unit: str, x: str) -> str:
        """Add to ``total`` the part of x that is a multiple of the unit's last place; the rest."""
        t = self.loops.text
        v = t.vector("double")
        shifted = t.op(f"fadd {v} {x}, {unit}")
        part = t.op(f"fsub {v} {shifted}, {unit}")
        self.add(total, part)
        return t.op(f"fsub {v} {x}, {part}")

    def residuals(self, bin: _Bin, tile: Tile) -> None:
        """Where a bit was left over, add the left-over terms one by one."""
        t = self.loops.text
        with t.when(self.flagged(bin)):
            self.one_by_one(bin, tile)
            t.store(t.vector("i64"), "zeroinitializer", bin.flag)

    def flagged(self, bin: _Bin) -> str:
        t = self.loops.text
        v = t.vector("i64")
        flags = t.call("i64", f"llvm.vector.reduce.or.v{t.lanes}i64", v, t.load(v, bin.flag))
        return t.op(f"icmp ne i64 {flags}, 0")

    def one_by_one(self, bin: _Bin, tile: Tile) -> None:
        t = self.loops.text
        with t.loop(0, tile.count) as j:
            x = t.load("double", t.at(bin.buffer, j, "double"))
            nonzero = t.op(f"fcmp une double {x}, 0.0")
            with t.when(nonzero):
                t.line(f"call void @limb_add(ptr {bin.limbs}, double {x})")

    # Range unknown: first find the tile's largest magnitude, then choose units by it.

    def remember(self, bin: _Bin, x: str, j: str) -> None:
        t = self.loops.text
        v, i = t.vector("double"), t.vector("i64")
        t.store(v, x, t.at(bin.buffer, j, "double"), 8)
        bits = t.op(f"bitcast {v} {x} to {i}")
        size = t.op(f"and {i} {bits}, {t.constant(2**63 - 1, 'int64')}")
        name = f"llvm.smax.v{t.lanes}i64"
        t.store(i, t.call(i, name, i, t.load(i, bin.flag), size), bin.flag)

    def search(self, bin: _Bin, tile: Tile) -> None:
        t = self.loops.text
        i = t.vector("i64")
        name = f"llvm.vector.reduce.smax.v{t.lanes}i64"
        largest = t.call("i64", name, i, t.load(i, bin.flag))
        t.store(i, "zeroinitializer", bin.flag)
        exponent = t.i64("lshr", largest, 52)
        # Units need room on both sides of the exponent: 223 .. 1922 (biased) is ample.
        shifted = t.i64("sub", exponent, 223)
        moderate = t.op(f"icmp ult i64 {shifted}, 1700")
        wild = t.op(f"xor i1 {moderate}, true")
        some = t.op(f"icmp ne i64 {largest}, 0")
        with t.when(moderate):
            self.searched(bin, tile, exponent)
        with t.when(t.op(f"and i1 {wild}, {some}")):
            self.one_by_one(bin, tile)

    def searched(self, bin: _Bin, tile: Tile, exponent: str) -> None:
        """Two bins with units for |x| < 2**(exponent - 1022), at most 2**11 terms."""
        t = self.loops.text
        chunk = 11
        half = 1 << 51
        # 1.5 * 2**(E + chunk - 1), E = exponent - 1022, has biased exponent exponent + chunk.
        first = t.i64("add", exponent, chunk)
        second = t.i64("add", exponent, 2 * chunk - 54)
        units = []
        for biased in (first, second):
            bits = t.i64("or", t.i64("shl", biased, 52), half)
            units.append(t.splat("double", t.op(f"bitcast i64 {bits} to double")))
        bin.units = (units[0], units[1])
        v = t.vector("double")
        with t.loop(0, tile.count, t.lanes) as j:
            x = t.load(v, t.at(bin.buffer, j, "double"), 8)
            rest = self.split(bin.high, bin.units[0], x)
            left = self.split(bin.low, bin.units[1], rest)
            t.store(v, left, t.at(bin.buffer, j, "double"), 8)
            self.raise_flag(bin, left)
        self.residuals(bin, tile)
        self.flush_bin(bin)

    # Flushing ------------------------------------------------------------------------------

    def flush(self) -> None:
        for bin in self.bins:
            if bin.term.bins.mode != "search":
                self.flush_bin(bin)
        self.loops.text.store("i64", "0", self.pending)

    def flush_bin(self, bin: _Bin) -> None:
        """The lanes' totals, whose sum is exact by the choice of units, into the limbs."""
        t = self.loops.text
        v = t.vector("double")
        totals = (bin.high,) if bin.term.bins.mode == "plain" else (bin.high, bin.low)
        name = f"llvm.vector.reduce.fadd.v{t.lanes}f64"
        t.declares.add(f"declare double @{name}(double, {v})")
        for total in totals:
            lanes = t.load(v, total)
            whole = t.op(f"call reassoc double @{name}(double 0.0, {v} {lanes})")
            t.line(f"call void @limb_add(ptr {bin.limbs}, double {whole})")
            t.store(v, "zeroinitializer", total)

    def end(self) -> None:
        self.flush()


SINKS: Final[dict[str, Callable[[Loops], SinkLoops]]] = {
    "store": Store,
    "isum": IntegerSum,
    "min": Minimum,
    "argmin": ArgMinimum,
    "exact": ExactSum,
}
