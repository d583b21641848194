"""A kernel before it is printed: leaves to fetch, a body for one element, a sink for its outputs.

    Program ::= LeafCode* element:Body sink:Sink           one kernel, any tile of its space
    Sink    ::= store | isum | min | argmin | exact(Term*) | many | folded(finish:Body)
              | several(Sink*) | together(Sink*) | sieve | tally | wide tally | bins
              | weigh | wide weigh | reach

A program knows the structure of the loops, not their extents: offsets, strides, extents, constants
and seeds are run-time arguments, so one compiled kernel serves every tile, seed and shape.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Final

from ..dataclass import dataclass
from .folds import FOLDS
from .ir import Body
from .many import Many
from .math.streams import Stream

LIMBS: Final = 72  # int64 words of an exact sum: 68 digits of 32 bits, then NaN, +inf, -inf counts
NAN_WORD, POSITIVE_WORD, NEGATIVE_WORD = 68, 69, 70
# Products are summed in groups of limbs: as they are, tiny ones with both operands scaled by
# 2**SCALE, those that overflow by 2**-SCALE. Twice SCALE is 38 digits.
SCALE: Final = 608

# Units found at run time, for terms with a biased exponent in LEAST_FOUND .. MOST_FOUND, leave room
# for four times the largest term met and 2**SEARCH_CHUNK terms: the first unit's biased exponent is
# the term's + FOUND_UNIT, the second's SECOND_UNIT less.
SEARCH_CHUNK = 12
LEAST_FOUND, MOST_FOUND = 223, 1900
FOUND_UNIT = SEARCH_CHUNK + 4
SECOND_UNIT = 52 - SEARCH_CHUNK


@dataclass(frozen=True)
class LeafCode:
    """How the elements of one leaf are fetched.

    ``mode`` along the lane loop: ``segment`` (random, stride `2**lg`: whole segments),
    ``single`` (random, any stride: a block for each element), ``splat`` (stride 0), ``unit`` (1),
    ``strided`` (any), ``table`` (offsets from a table). ``apart``: strided by so few, else 0.
    """

    kind: str  # random | position | stored
    dtype: str
    mode: str
    lg: int = 0
    stream: Stream | None = None
    twin: int = -1  # segment leaves with one number read the same positions
    apart: int = 0


@dataclass(frozen=True)
class Bins:
    """How exact partial sums of one term are kept between flushes of `2**chunk` terms a lane.

    ``plain``: one double holds the sum of `2**chunk` terms. The others add to a double that starts
    at a unit, `1.5 * 2**k`, and stays so near it that it counts in steps of `2**(k - 52)`; what an
    addition rounds away goes to a second such double. ``split``: nothing is finer than the second's
    steps. ``residual``: something may be, and is added to the limbs. ``search``: as residual, with
    units for the terms met. The two units are parameters: ``parameter`` and the next. ``rare``:
    nearly always zero; a term that is not goes to the limbs.
    """

    mode: str
    chunk: int = 0
    parameter: int = 0


@dataclass(frozen=True)
class Term:
    """An output of the element body that is summed into limb group ``group``."""

    output: str
    group: int
    bins: Bins


@dataclass(frozen=True)
class Folded:
    """Folds that cannot round, of many results, which the kernel finishes itself.

    Of each one number ``word``, or its place if ``first``, by ``op``: sum, least or most. ``rows``:
    tiles lie along its elements. ``floats``: their dtype, if compared; ``skips``: but for NaN.
    """

    op: str
    word: str
    first: bool
    rows: bool
    finish: Body
    floats: str = ""
    skips: bool = False


@dataclass(frozen=True)
class Sink:
    """Where the element's outputs go."""

    kind: str
    dtype: str = "float64"
    terms: tuple[Term, ...] = ()
    unit_stride: bool = True  # store, many, folded: contiguous results along the lane loop
    woven: bool = False  # store, of several: what the next one stores lies between its elements
    packed: bool = False  # store: a tile's elements lie one after the other, as short rows do
    many: Many | None = None
    folded: Folded | None = None
    brackets: int = 0  # sieve: how many pairs of bounds
    nans: bool = False  # sieve: elements may be NaN
    parts: tuple[Sink, ...] = ()  # several: part k takes the outputs named ``k.``, has output k

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """Those that take elements: the parts, where there are several."""
        return self.parts or (self,)

    @property
    def stores(self) -> bool:
        """Whether every element goes to its place, and none into a record."""
        return all(sink.kind == "store" for sink in self.sinks)

    @property
    def rows(self) -> bool:
        """Whether results are one after the other, where the kernel finishes them."""
        first = self.sinks[0]
        return bool((first.many and first.many.rows) or (first.folded and first.folded.rows))

    @property
    def all_terms(self) -> tuple[Term, ...]:
        """The terms of every exact sum."""
        return tuple(term for sink in self.sinks for term in sink.terms)

    @cached_property
    def groups(self) -> int:
        return 1 + max((t.group for t in self.terms), default=0)

    @cached_property
    def words(self) -> int:
        """8-byte words of one result record (0: elements are stored directly)."""
        if self.kind in FOLDS:
            return len(FOLDS[self.kind].outputs)
        return LIMBS * self.groups if self.kind == "exact" else 0


LIGHT: Final = 24
_IN_ORDER: Final = ("unit", "splat")
LONG: Final = frozenset(("loop", "pick", "table", "gather", "idiv", "irem"))


@dataclass(frozen=True)
class Program:
    """One kernel. Loops: ``kept`` outer ones, ``reduced`` outer ones, then the tile loop."""

    leaves: tuple[LeafCode, ...]
    element: Body
    sink: Sink
    kept: int
    reduced: int
    table: bool
    ragged: bool = False  # some elements may take longer than others

    @property
    def light(self) -> bool:
        """Whether an element takes less time than its way from memory and back."""
        instrs = self.element.instrs
        drawn = any(leaf.stream is not None for leaf in self.leaves)
        return not drawn and len(instrs) <= LIGHT and not any(i.op in LONG for i in instrs)

    def part(self, number: int) -> Program:
        """The same for part ``number`` of the sink alone."""
        own = f"{number}."
        body = self.element.part(own)
        outputs = tuple((name.removeprefix(own), value) for name, value in body.outputs)
        element = Body(body.instrs, outputs)
        return replace(self, element=element, sink=self.sink.parts[number])

    @property
    def streams(self) -> bool:
        """Whether elements are read and stored one after the other, with little done in between."""
        in_order = not self.table and all(leaf.mode in _IN_ORDER for leaf in self.leaves)
        return self.sink.kind == "store" and self.sink.unit_stride and in_order and self.light

    def __str__(self) -> str:
        fetched = [
            f"leaf{k}: {leaf.kind} {leaf.dtype} {leaf.mode}"
            + (f" stride 2**{leaf.lg}" if leaf.mode == "segment" else "")
            for k, leaf in enumerate(self.leaves)
        ]
        terms = [f"  {t.output} -> group {t.group}, {t.bins}" for t in self.sink.all_terms]
        kinds = ", ".join(sink.kind for sink in self.sink.sinks)
        loops = f"loops: {self.kept} kept, {self.reduced} reduced, tile" + " (table)" * self.table
        return "\n".join([loops, *fetched, str(self.element), f"sink: {kinds}", *terms])


@dataclass(frozen=True)
class Scan:
    """A kernel for folds whose order counts, over elements that lie in memory one by one.

    ``op`` is prod, cumsum or cumprod; it computes in ``dtype`` (float64, int64, uint64) and gives
    ``out``, to which floats are rounded once; ``odd``: to odd. ``columns``: lines lie side by side,
    a lane takes one; ``several``: lines a call, each with its state. ``read``: float32 in memory.
    """

    op: str
    dtype: str
    out: str
    odd: bool = False
    columns: bool = False
    read: str = ""
    several: bool = False


@dataclass(frozen=True)
class Tally:
    """A kernel that counts how often numbers come which lie in memory one by one, as ``dtype``."""

    dtype: str


@dataclass(frozen=True)
class Sieve:
    """A kernel that counts numbers of ``dtype`` beside two bounds, and keeps those between."""

    dtype: str


@dataclass(frozen=True)
class Weigh:
    """A kernel that adds up weights by number, exactly where three pieces hold each."""

    kind: str = "double"
