"""The sums of many results while they are taken: what is kept of each, and adding an element.

Of a sum there are four words besides its unit M, `1.5 * 2**k`. ``total`` begins at M; while it
stays in M's binade, adding x rounds x to a step of that binade, and what was rounded away is
``x - ((total + x) - total)``, exactly. That goes to ``rest``. A fine rest begins at a unit of its
own, so near that it cannot leave its binade, and is added to in the same way (what that rounds
away goes to ``deep``, where there are many terms); else it is an ordinary sum. With n terms the
error of the last of these is below ``n**2 * 2**-53`` steps of the one before, and nothing at all
where ``left`` is zero: the bits of everything that was rounded away, but for what is in a fine
rest.
Of columns of few terms an ordinary rest does, too: it is exact where all magnitudes but zero are so
large that their last places fit a double with it. ``left`` has the least of them then, twice its
bits less one, of which zero has most.
An ordinary rest of very many terms is put aside every `SETTLED` rows, along a row after each tile:
into ``low``, by a two-sum whose tails go to ``deep``, so that its own errors do not grow with the
square of all terms.
``out`` has the bits in which a total differed from M: a total that left its binade shows there.
"""

from __future__ import annotations

from ....dataclass import dataclass
from ...many import Many
from ...program import LEAST_FOUND, MOST_FOUND
from ..elements import Elements
from ..scratch import MANY_WORDS
from .doubles import SIZE, Doubles

OUTSIDE = -1 << 52  # of `out`: the bits of sign and exponent
INFINITY = 0x7FF << 52
NO_UNIT = INFINITY  # nothing is certain that was added to it
# Squares need exponents whose double is in range, with room: those of a variance's elements.
LEAST_SQUARED, MOST_SQUARED = 623, 1400
SLOTS = ("unit", "total", "rest", "deep", "left", "out", "low")
TAKEN = SLOTS[1:6]
_WORDS = ("left", "out")
# Bits more that units of fine sums have where they come from the first rows: what others may be
# larger by. A fine rest has what they lose.
SPARE = 8
_ROOM = 4  # bits of a unit's room, beside those of the number of terms
assert len(SLOTS) == MANY_WORDS


@dataclass(frozen=True)
class Taken:
    """Variables that hold a vector of sums."""

    unit: str
    total: str
    rest: str
    deep: str
    left: str
    out: str

    def places(self) -> tuple[tuple[str, str], ...]:
        """Each word's name, and the variable that holds it."""
        return tuple((name, getattr(self, name)) for name in TAKEN)


class Sums:
    """The sums of a kernel's results: in scratch memory, an array of each word, or in variables."""

    def __init__(self, elements: Elements) -> None:
        self.elements = elements
        self.text = elements.text
        self.d = Doubles(self.text)
        many = elements.program.sink.many
        assert many is not None
        self.many: Many = many
        few = not (many.rows or many.deep or many.near) and many.sums == 1
        self.by_least = few and many.is_fine(0)  # whether ``left`` has the least magnitude

    def slot(self, sum_: int, name: str, j: str) -> str:
        """The address of word ``name`` of sum ``sum_`` of result ``j``."""
        buffer = self.elements.layout.sink + sum_ * len(SLOTS) + SLOTS.index(name)
        return self.text.at(self.elements.buffer(buffer), j)

    def load(self, sum_: int, name: str, j: str) -> str:
        return self.text.load(self.kind(name), self.slot(sum_, name, j), 8)

    def store(self, sum_: int, name: str, j: str, value: str) -> None:
        self.text.store(self.kind(name), value, self.slot(sum_, name, j), 8)

    # Units ---------------------------------------------------------------------------------

    def units(self, largest: str, spare: int = 0) -> list[str]:
        """The unit of each sum, for a vector of the bits of largest magnitudes.

        Those of fine sums have room for ``spare`` bits more.
        NaN where that is NaN, for the result is; a unit that fails where it is out of range.
        """
        d, t = self.d, self.text
        room = t.load("i64", t.at("%params", self.many.parameter + 3))
        if self.many.line:  # of a total of one lane
            room = t.i64("sub", room, (t.lanes.bit_length() - 1) << 52)
        room = t.splat("i64", room)
        exponent = d.words("lshr", largest, d.splat_bits(52))
        squared = self.many.sums > 1
        least, most = (LEAST_SQUARED, MOST_SQUARED) if squared else (LEAST_FOUND, MOST_FOUND)
        low = t.op(f"icmp slt {d.word} {exponent}, {d.splat_bits(least)}")
        high = t.op(f"icmp sgt {d.word} {exponent}, {d.splat_bits(most)}")
        if squared:  # the squares of what is small, but not zero, may be no doubles
            some = t.op(f"icmp ne {d.word} {largest}, zeroinitializer")
            high = d.either(high, d.both(low, some))
        held = self._choose(low, d.splat_bits(least), exponent)
        nan = t.op(f"icmp sgt {d.word} {largest}, {d.splat_bits(INFINITY)}")
        units = []
        for k in range(self.many.sums):
            if k == 1:  # x * x is below 2**(2 * e + 2) where x is below 2**(e + 1)
                held = d.words("sub", d.words("add", held, held), d.splat_bits(1022))
            biased = d.words("add", d.words("shl", held, d.splat_bits(52)), room)
            if spare and self.many.is_fine(k):
                biased = d.words("add", biased, d.splat_bits(spare << 52))
            bits = self._choose(high, d.splat_bits(NO_UNIT), biased)
            units.append(d.of_bits(self._choose(nan, d.splat_bits(0x7FF8 << 48), bits)))
        return units

    def start(self, sum_: int, unit: str) -> dict[str, str]:
        """Sum ``sum_`` of nothing."""
        rest = {"rest": self.rest_of_nothing(unit)} if self.is_fine(sum_) else {}
        left = {"left": self.d.splat_bits(-1)} if self.by_least else {}
        return dict.fromkeys(TAKEN, "zeroinitializer") | {"total": unit} | rest | left

    def is_fine(self, sum_: int) -> bool:
        """Whether the rest of sum ``sum_`` has a unit of its own."""
        return self.many.is_fine(sum_) and not self.by_least

    def settle(self, sum_: int, j: str) -> None:
        """Put the rests of results j, j + 1, ... aside."""
        d = self.d
        low, tail = d.two_sum(self.load(sum_, "low", j), self.load(sum_, "rest", j))
        self.store(sum_, "low", j, low)
        self.store(sum_, "deep", j, d.add(self.load(sum_, "deep", j), tail))
        self.store(sum_, "rest", j, "zeroinitializer")

    def ordinary(self, j: str) -> None:
        """Turn fine sums of the results j, j + 1, ... into such with a least magnitude."""
        d, t = self.d, self.text
        nothing = d.nothing(self.load(0, "left", j))
        self.store(0, "left", j, t.op(f"sext {d.one} {nothing} to {d.word}"))
        rest = d.sub(self.load(0, "rest", j), self.rest_of_nothing(self.load(0, "unit", j)))
        self.store(0, "rest", j, rest)

    def rest_of_nothing(self, unit: str) -> str:
        """What a fine rest begins at."""
        return self.d.mul(unit, self.d.parameter(self.many.parameter + 5))

    def _choose(self, condition: str, a: str, b: str) -> str:
        v = self.d.word
        return self.text.op(f"select {self.d.one} {condition}, {v} {a}, {v} {b}")

    def larger(self, largest: str, x: str) -> str:
        """The bits of the largest magnitude, ``x`` among them."""
        d = self.d
        return self.greater(largest, d.words("and", d.bits(x), d.splat_bits(SIZE)))

    def greater(self, a: str, b: str) -> str:
        """The greater of two vectors of words."""
        word = self.d.word
        return self.text.call(word, f"llvm.smax.v{self.text.lanes}i64", word, a, b)

    # Adding --------------------------------------------------------------------------------

    def taken(self, sum_: int) -> tuple[str, ...]:
        """The words of sum ``sum_`` that adding to it may change."""
        deep = self.many.deep and self.many.is_fine(sum_)
        return tuple(name for name in TAKEN if deep or name != "deep")

    def variables(self, unit: str, words: dict[str, str]) -> Taken:
        """A vector of sums in variables, which hold ``words`` now (others hold nothing)."""
        words = dict.fromkeys(TAKEN, "zeroinitializer") | words
        places = {name: self.text.variable(self.kind(name), words[name], name) for name in TAKEN}
        return Taken(unit, **places)

    def kind(self, name: str) -> str:
        """The type of a vector of words ``name``."""
        return self.d.word if name in _WORDS else self.d.double

    def add(self, taken: list[Taken], x: str, error: str | None = None) -> None:
        """Add a vector of elements to the sums, and their squares to the second ones.

        ``error`` is what has been rounded away from a product.
        """
        d = self.d
        self._add(taken[0], x, error, self.is_fine(0))
        if self.many.sums > 1:
            square = d.mul(x, x)
            error = None if self.many.whole else d.fma(x, x, d.neg(square))
            if self.many.apart and self.many.singles:
                t, single = self.text, self.text.vector("float")
                given = t.op(f"fptrunc {d.double} {x} to {single}")  # as it was
                self._add(taken[1], square, None, False)
                self._add(taken[2], self.added_by_rounding(given, square), None, False)
            elif self.many.apart and error is not None:
                self._add(taken[1], square, None, True)
                self._add_to_rest(taken[2], error)
            else:
                self._add(taken[1], square, error, False)

    def added_by_rounding(self, single: str, square: str) -> str:
        """What makes of ``square`` the square that is a float32, as ``single`` is."""
        t, v = self.text, self.text.vector("float")
        rounded = t.op(f"fmul {v} {single}, {single}")
        return self.d.sub(t.op(f"fpext {v} {rounded} to {self.d.double}"), square)

    def add_to(self, to: Taken, x: str, error: str | None = None) -> None:
        """Add numbers to sums that are not fine, whose ``error`` has been rounded away before."""
        self._add(to, x, error, False)

    def _add_to_rest(self, to: Taken, x: str) -> None:
        """Add what is small beside the unit; the total stays as it began."""
        self._note(to.left, self.d.bits(x))
        before = self.text.load(self.d.double, to.rest)
        self.text.store(self.d.double, self.d.add(before, x), to.rest)

    def _add(self, to: Taken, x: str, error: str | None, fine: bool) -> None:
        t, d = self.text, self.d
        before = t.load(d.double, to.total)
        after = d.add(before, x)
        t.store(d.double, after, to.total)
        lost = d.sub_beside(x, d.sub(after, before))
        rest = t.load(d.double, to.rest)
        if fine:
            sum_ = d.add(rest, lost)
            lost = d.sub(lost, d.sub_beside(sum_, rest))
            self._note(to.left, d.bits(lost))
            if self.many.deep:
                t.store(d.double, d.add(t.load(d.double, to.deep), lost), to.deep)
        else:
            if self.by_least:
                self._note_least(to.left, d.bits(x))
            else:
                self._note(to.left, d.bits(lost))
            if error is not None:
                self._note(to.left, d.bits(error))
                lost = d.add(lost, error)
            sum_ = d.add(rest, lost)
        t.store(d.double, sum_, to.rest)
        self._note(to.out, d.words("xor", d.bits(after), d.bits(to.unit)))

    def _note_least(self, least: str, bits: str) -> None:
        """The least magnitude in ``least``, that of ``bits`` among them; zero is none."""
        t, d, word = self.text, self.d, self.d.word
        twice = d.words("add", d.words("add", bits, bits), d.splat_bits(-1))  # without the sign
        smaller = t.call(word, f"llvm.umin.v{t.lanes}i64", word, t.load(word, least), twice)
        t.store(word, smaller, least)

    def exactly(self, sum_: int, j: str) -> str:
        """Where sum ``sum_`` has lost nothing of the results j, j + 1, ..."""
        d, left = self.d, self.load(sum_, "left", j)
        if not self.by_least:
            return d.nothing(left)
        # What additions to a total lose is up to half a step of the unit each, and a multiple of
        # the least magnitude's last place.
        unit = d.words("lshr", d.bits(self.load(sum_, "unit", j)), d.splat_bits(52))
        room = self.text.load("i64", self.text.at("%params", self.many.parameter + 3))
        steps = self.text.i64("sub", self.text.i64("lshr", room, 52), 54 + _ROOM)
        least = d.words("add", unit, self.text.splat("i64", steps))
        found = d.words("lshr", left, d.splat_bits(53))
        return self.text.op(f"icmp sge {d.word} {found}, {least}")

    def _note(self, flags: str, bits: str) -> None:
        t, d = self.text, self.d
        t.store(d.word, d.words("or", t.load(d.word, flags), bits), flags)
