"""The sink of exact sums: doubles that cannot round, and a superaccumulator behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from ..expr.space import TILE
from .llvm import kept
from .program import LIMBS, Term

if TYPE_CHECKING:
    from .llvm_loops import Loops, Tile


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
        chunks = [b.term.bins.chunk for b in self.bins if b.term.bins.flushed]
        if chunks:
            with t.when(t.op(f"icmp sgt i64 {count}, {(1 << min(chunks)) - TILE}")):
                self.flush()

    def consume(self, outputs: dict[str, str], j: str, mask: str | None) -> None:
        t = self.loops.text
        rare = []
        for bin in self.bins:
            x = kept(t, "double", mask, outputs[bin.term.output], "zeroinitializer")
            if bin.term.bins.mode == "search":
                self.remember(bin, x, j)
            elif bin.term.bins.mode == "rare":
                rare.append((bin, x))
            else:
                self.accumulate(bin, x, j)
        if rare:
            self.lane_by_lane(rare)

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
            self.add_one(bin, t.load("double", t.at(bin.buffer, j, "double")))

    def add_one(self, bin: _Bin, x: str) -> None:
        t = self.loops.text
        with t.when(t.op(f"fcmp une double {x}, 0.0")):
            t.line(f"call void @limb_add(ptr {bin.limbs}, double {x})")

    def lane_by_lane(self, rare: list[tuple[_Bin, str]]) -> None:
        """Terms that are nearly always zero: where one is not, all to the limbs."""
        t = self.loops.text
        v, ones = t.vector("double"), t.vector("i1")
        some = [t.op(f"fcmp une {v} {x}, zeroinitializer") for _, x in rare]
        found = reduce(lambda a, b: t.op(f"or {ones} {a}, {b}"), some)
        any_lane = t.call("i1", f"llvm.vector.reduce.or.v{t.lanes}i1", ones, found)
        with t.when(any_lane, rarely=True), t.loop(0, str(t.lanes)) as lane:
            for bin, x in rare:
                self.add_one(bin, t.op(f"extractelement {v} {x}, i64 {lane}"))

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
            if bin.term.bins.flushed:
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
