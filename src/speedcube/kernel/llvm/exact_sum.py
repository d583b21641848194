"""The sink of exact sums: doubles that cannot round, and a superaccumulator behind them.

Adding x to a double ``a`` that stays in one binade rounds x to a step of that binade; what was
rounded away is ``x - ((a + x) - a)``, exactly (Dekker 1971), and goes to a second such double. A
tile in which a double would leave its binade, or in which the second one rounds too, is added once
more from a buffer: with other units, and what is left over goes to the limbs.
"""

from __future__ import annotations

from functools import reduce

from ...dataclass import dataclass
from ...expr.space import TILE
from ..program import FOUND_UNIT, LEAST_FOUND, LIMBS, MOST_FOUND, SECOND_UNIT, Sink, Term
from .elements import Elements, Tile
from .hooks import LaneSink
from .text import masked

_NO_UNIT = "0x0018000000000000"  # 1.5 * 2**-1022: a normal number added to it leaves its binade
_SIZE = 2**63 - 1  # the bits of a double without its sign


@dataclass
class _Bin:
    """Names of one term's variables, and of what a tile sets up while it is emitted."""

    term: Term
    limbs: str
    buffer: str
    totals: tuple[str, ...]  # the accumulators: the sum, or the high part and the low part
    units: tuple[str, ...]  # what each begins at
    left: str = ""  # bits of what the low accumulator rounded away
    out: str = ""  # bits in which the high accumulator differed from its unit
    unit: str = ""  # the high unit in every lane
    saved: tuple[str, ...] = ()

    @property
    def again(self) -> bool:
        """Whether a tile may have to be added again."""
        return self.term.bins.mode in ("residual", "search")

    @property
    def search(self) -> bool:
        return self.term.bins.mode == "search"


class LaneSum(LaneSink):
    """Exact sums: doubles that cannot round, flushed to limbs in time (`program.Bins`).

    The terms of ``sink`` wait in the scratch memory's buffers from number ``first``.
    """

    def __init__(self, elements: Elements, sink: Sink, first: int) -> None:
        super().__init__(elements)
        self.terms, self.first = sink.terms, first
        self.bins: list[_Bin] = []
        self.pending = ""

    def begin(self, record: str) -> None:
        t = self.elements.text
        self.bins = []
        for k, term in enumerate(self.terms):
            units = [t.variable("double", unit, "unit") for unit in self.starts(term)]
            totals = [t.variable(t.vector("double"), "zeroinitializer", "total") for _ in units]
            limbs = t.at(record, term.group * LIMBS)
            buffer = self.elements.buffer(self.first + k)
            bin = _Bin(term, limbs, buffer, tuple(totals), tuple(units))
            bin.left, bin.out = (
                t.variable(t.vector("i64"), "zeroinitializer", hint) for hint in ("left", "out")
            )
            self.restart(bin)
            self.bins.append(bin)
        self.pending = t.variable("i64", "0", "pending")

    def starts(self, term: Term) -> tuple[str, ...]:
        """What the accumulators of ``term`` begin at."""
        t = self.elements.text
        if term.bins.mode == "rare":
            return ()
        if term.bins.mode == "plain":
            return ("0.0",)
        if term.bins.mode == "search":
            return _NO_UNIT, _NO_UNIT
        numbers = (term.bins.parameter, term.bins.parameter + 1)
        return tuple(t.load("double", t.at("%params", number)) for number in numbers)

    def restart(self, bin: _Bin) -> None:
        """Empty accumulators."""
        t = self.elements.text
        for unit, total in zip(bin.units, bin.totals, strict=True):
            t.store(t.vector("double"), t.splat("double", t.load("double", unit)), total)

    # A tile --------------------------------------------------------------------------------

    @property
    def again(self) -> list[_Bin]:
        """The bins that a tile may have to be added to again."""
        return [bin for bin in self.bins if bin.again]

    def before(self, tile: Tile) -> None:
        t = self.elements.text
        for bin in self.again:
            bin.saved = tuple(t.load(t.vector("double"), total) for total in bin.totals)
            bin.unit = t.splat("double", t.load("double", bin.units[0]))

    def after(self, tile: Tile) -> None:
        t = self.elements.text
        for bin in self.again:
            self.settle(bin, tile)
        padded = t.i64("and", t.i64("add", tile.count, t.lanes - 1), -t.lanes)
        count = t.i64("add", t.load("i64", self.pending), padded)
        t.store("i64", count, self.pending)
        # Leave room for one more tile. A plain sum is that of all lanes together.
        room = min(
            (1 if bin.term.bins.mode == "plain" else t.lanes) << bin.term.bins.chunk
            for bin in self.bins
            if bin.totals
        )
        with t.when(t.op(f"icmp sgt i64 {count}, {room - TILE}")):
            self.flush()

    def consume(self, outputs: dict[str, str], j: str, mask: str | None) -> None:
        t = self.elements.text
        rare = []
        for bin in self.bins:
            x = masked(t, "double", mask, outputs[bin.term.output], "zeroinitializer")
            if bin.again:
                t.store(t.vector("double"), x, t.at(bin.buffer, j, "double"), 8)
            if bin.totals:
                self.accumulate(bin, x)
            else:
                rare.append((bin, x))
        if rare:
            self.seldom(rare)

    def accumulate(self, bin: _Bin, x: str) -> str:
        """Add x to the accumulators; what is left of it (nobody may ask: then LLVM drops it)."""
        t = self.elements.text
        v = t.vector("double")
        for total in bin.totals:
            before = t.load(v, total)
            after = t.op(f"fadd {v} {before}, {x}")
            t.store(v, after, total)
            part = t.op(f"fsub {v} {after}, {before}")
            if bin.search and total == bin.totals[0]:
                self.note(bin.out, after, bin.unit)
            if bin.again and total == bin.totals[-1]:
                self.note(bin.left, x, part)
            x = t.op(f"fsub {v} {x}, {part}")
        return x

    def seldom(self, rare: list[tuple[_Bin, str]]) -> None:
        """Terms that are nearly always zero: where one is not, all to the limbs."""
        t = self.elements.text
        with t.when(self.nonzero(*(x for _, x in rare)), rarely=True):
            for bin, x in rare:
                t.store(t.vector("double"), x, bin.buffer, 8)
                self.to_limbs(bin, bin.buffer, t.lanes)

    def nonzero(self, *vectors: str) -> str:
        """Whether a lane of ``vectors`` is not zero."""
        t = self.elements.text
        ones = t.vector("i1")
        lanes = [t.op(f"fcmp une {t.vector('double')} {x}, zeroinitializer") for x in vectors]
        some = reduce(lambda a, b: t.op(f"or {ones} {a}, {b}"), lanes)
        return t.call("i1", f"llvm.vector.reduce.or.v{t.lanes}i1", ones, some)

    def to_limbs(self, bin: _Bin, terms: str, count: int) -> None:
        """``count`` doubles in memory, each at its digits."""
        self.elements.text.line(f"call void @limbs_add(ptr {bin.limbs}, ptr {terms}, i64 {count})")

    def note(self, flag: str, a: str, b: str) -> None:
        """Set in ``flag`` the bits in which a and b differ."""
        t = self.elements.text
        v = t.vector("i64")
        bits = [t.op(f"bitcast {t.vector('double')} {x} to {v}") for x in (a, b)]
        different = t.op(f"xor {v} {bits[0]}, {bits[1]}")
        t.store(v, t.op(f"or {v} {t.load(v, flag)}, {different}"), flag)

    # A tile once more ----------------------------------------------------------------------

    def settle(self, bin: _Bin, tile: Tile) -> None:
        """Look at the flags, and add the tile once more if one is up."""
        t = self.elements.text
        wrong = self.some(bin.left, _SIZE)  # -0.0 and 0.0 differ in sign alone
        if bin.search:
            wrong = t.op(f"or i1 {wrong}, {self.some(bin.out, -1 << 52)}")
            t.store(t.vector("i64"), "zeroinitializer", bin.out)
        with t.when(wrong, rarely=True):
            for total, value in zip(bin.totals, bin.saved, strict=True):
                t.store(t.vector("double"), value, total)
            if bin.search:
                self.flush_bin(bin)
                self.find_units(bin, tile)
                bin.unit = t.splat("double", t.load("double", bin.units[0]))
            self.repeat(bin, tile)

    def some(self, flag: str, mask: int) -> str:
        """Whether a bit of ``mask`` is set in some lane."""
        t = self.elements.text
        v = t.vector("i64")
        bits = t.call("i64", f"llvm.vector.reduce.or.v{t.lanes}i64", v, t.load(v, flag))
        return t.op(f"icmp ne i64 {t.i64('and', bits, mask)}, 0")

    def find_units(self, bin: _Bin, tile: Tile) -> None:
        """Units for the tile's largest magnitude (`program.FOUND_UNIT`)."""
        t = self.elements.text
        v = t.vector("i64")
        largest = t.variable(v, "zeroinitializer", "largest")
        with t.loop(0, tile.count, t.lanes) as j:
            bits = t.load(v, t.at(bin.buffer, j), 8)
            size = t.op(f"and {v} {bits}, {t.constant(_SIZE, 'int64')}")
            most = t.call(v, f"llvm.smax.v{t.lanes}i64", v, t.load(v, largest), size)
            t.store(v, most, largest)
        name = f"llvm.vector.reduce.smax.v{t.lanes}i64"
        exponent = t.i64("lshr", t.call("i64", name, v, t.load(v, largest)), 52)
        low = t.op(f"icmp slt i64 {exponent}, {LEAST_FOUND}")
        exponent = t.op(f"select i1 {low}, i64 {LEAST_FOUND}, i64 {exponent}")
        high = t.op(f"icmp sgt i64 {exponent}, {MOST_FOUND}")
        first = t.i64("add", exponent, FOUND_UNIT)
        for unit, biased in zip(bin.units, (first, t.i64("sub", first, SECOND_UNIT)), strict=True):
            bits = t.i64("or", t.i64("shl", biased, 52), 1 << 51)  # 1.5 times a power of two
            power = t.op(f"bitcast i64 {bits} to double")
            t.store("double", t.op(f"select i1 {high}, double {_NO_UNIT}, double {power}"), unit)
        self.restart(bin)

    def repeat(self, bin: _Bin, tile: Tile) -> None:
        """Add the buffer with the units that now hold, and what is left to the limbs."""
        t = self.elements.text
        v = t.vector("double")
        unit = t.load("double", bin.units[0])
        t.store(t.vector("i64"), t.constant(-1, "int64"), bin.left)  # all of the buffer
        with t.when(t.op(f"fcmp une double {unit}, {_NO_UNIT}")):
            t.store(t.vector("i64"), "zeroinitializer", bin.left)
            with t.loop(0, tile.count, t.lanes) as j:
                place = t.at(bin.buffer, j, "double")
                t.store(v, self.accumulate(bin, t.load(v, place, 8)), place, 8)
            if bin.search:
                t.store(t.vector("i64"), "zeroinitializer", bin.out)
        with t.when(self.some(bin.left, _SIZE)), t.loop(0, tile.count, t.lanes) as j:
            place = t.at(bin.buffer, j, "double")
            with t.when(self.nonzero(t.load(v, place, 8))):
                self.to_limbs(bin, place, t.lanes)
        t.store(t.vector("i64"), "zeroinitializer", bin.left)

    # Flushing ------------------------------------------------------------------------------

    def flush(self) -> None:
        for bin in self.bins:
            self.flush_bin(bin)
            self.restart(bin)
        self.elements.text.store("i64", "0", self.pending)

    def flush_bin(self, bin: _Bin) -> None:
        """What the accumulators hold, into the limbs."""
        t = self.elements.text
        v, i = t.vector("double"), t.vector("i64")
        if bin.term.bins.mode == "plain":
            name = f"llvm.vector.reduce.fadd.v{t.lanes}f64"
            t.declares.add(f"declare double @{name}(double, {v})")
            lanes = t.load(v, bin.totals[0])
            whole = t.op(f"call reassoc double @{name}(double 0.0, {v} {lanes})")  # no rounding
            t.store("double", whole, bin.buffer)
            self.to_limbs(bin, bin.buffer, 1)
            return
        for unit, total in zip(bin.units, bin.totals, strict=True):
            # In one binade bits count steps.
            start = t.op(f"bitcast double {t.load('double', unit)} to i64")
            lanes = t.op(f"bitcast {v} {t.load(v, total)} to {i}")
            steps = t.op(f"sub {i} {lanes}, {t.splat('i64', start)}")
            count = t.call("i64", f"llvm.vector.reduce.add.v{t.lanes}i64", i, steps)
            place = t.i64("sub", t.i64("lshr", start, 52), 1)
            t.line(f"call void @limb_put(ptr {bin.limbs}, i64 {count}, i64 {place})")

    def end(self) -> None:
        self.flush()
