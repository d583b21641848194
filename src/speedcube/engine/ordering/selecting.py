"""Elements by their place in the order, without sorting.

Of one long line nothing is stored. A sample of runs at hashed places says between which two values
an element of a given place lies, most likely. One pass counts those below and keeps those between.
Where the sample was wrong, or too many lie between, the next passes count the leading bits of
integers that order like the elements: so whatever the data are, there are few passes, and what is
found is exact. Short lines are sorted by NumPy, some at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr.through.node import Through
from ...expr.through.ordering import line_in_order, one_nan, put_in_order
from ...plan.working import COLLECTED
from .by_line.gathered import blocks_of_lines
from .elements import AllElements, Array
from .fixed import SIEVED, Sieving
from .keys import KeyRange, full_range, key_of, place_by_keys
from .sieved import Sieved, joined
from .sorting import has_negative_zero

SHORT: Final = 1 << 16  # elements of a line that is held and partitioned
# Neighbours of a sample, and how often at most. What is computed costs about as much for a tile.
READ: Final = 256, 1 << 10
_COMPUTED: Final = 1 << 10, 1 << 8
_DIVIDED: Final = 512  # elements of a line that is not sorted for its middle and its last
_PARTED: Final = 16  # places that a line is parted at, at most
_WORD: Final = 4  # bytes of elements for which that may be quick
_PARTED_BYTES: Final = 1 << 16  # the least of a line
_SURE: Final = 5.0  # standard errors of the sample to each side


def selected(source: Through, given: list[AllElements]) -> Array:
    """The elements of each line that have the places of the options when it is sorted."""
    elements, line = given[0], source.line
    places = tuple(source.options)
    if elements.size == line and line > SHORT:
        return selected_of_one(elements, places)
    return _of_lines(elements, places, line)


# Short lines -------------------------------------------------------------------------------------


def _of_lines(elements: AllElements, places: tuple[int, ...], line: int) -> Array:
    out = np.empty((elements.size // line if line else 0, len(places)), elements.dtype)
    if not elements.size:
        return out
    distinct = sorted(set(places))

    def run(span: tuple[int, int]) -> None:
        for first, block in blocks_of_lines(elements, span, line):
            out[first : first + len(block)] = _placed(block, distinct, places)

    elements.each(run, elements.spans(line))
    return out


def _placed(block: Array, distinct: list[int], places: Sequence[int]) -> Array:
    """What has ``places`` in the order of each line of ``block``, which is overwritten."""
    if has_negative_zero(block):
        block.sort(axis=-1, kind="stable")
    elif len(distinct) == 1:
        block.partition(distinct[0], axis=-1)
    elif block.shape[-1] >= _DIVIDED and {*distinct[1:]} <= {distinct[0] + 1, block.shape[-1] - 1}:
        _divide(block, distinct[0])
    elif len(distinct) <= _PARTED and _is_long(block):
        block.partition(distinct, axis=-1)
    else:
        put_in_order(block)  # by vectors; a partition at several places is not
    return one_nan(block[:, list(places)])


def _is_long(block: Array) -> bool:
    """Whether a partition at several places takes less than to sort each line by vectors."""
    return bool(block.itemsize >= _WORD and block.itemsize * block.shape[-1] >= _PARTED_BYTES)


def _divide(block: Array, place: int) -> None:
    """Put what has this place in the order of each line there, what follows, and what is last."""
    block.partition(place, axis=-1)
    rest = block[:, place + 1 :]
    least, most = rest.min(axis=-1), rest.max(axis=-1)
    if most.dtype.kind == "f" and np.isnan(most).any():
        put_in_order(block)
    else:
        rest[:, 0], rest[:, -1] = least, most


# One long line -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bracket:
    """Values from ``low`` to ``high``, where the elements of ``places`` are likely to be."""

    low: Array
    high: Array
    places: tuple[int, ...]

    def sieve(self, block: Array) -> tuple[int, int, Array]:
        """As `Sieving.sieve`, by NumPy."""
        reach, under = block >= self.low, block <= self.high
        counts = int(np.count_nonzero(reach)), int(np.count_nonzero(under))
        return *counts, block[reach & under]


def selected_of_one(elements: AllElements, places: tuple[int, ...]) -> Array:
    """The elements of ``places`` in the order of one long line."""
    return found_of_one(elements, places)[0]


def found_of_one(
    elements: AllElements, places: tuple[int, ...]
) -> tuple[Array, list[tuple[Bracket, list[Sieved]]]]:
    """The same, and brackets with what each thread found of them."""
    brackets = brackets_of(sample_of(elements), sorted(set(places)), elements.size)
    values: dict[int, Array] = {}
    sieved = list(zip(brackets, counted_in(elements, brackets), strict=True))
    for bracket, parts in sieved:
        values |= _looked_up(elements, bracket, parts)
    return np.array([values[place] for place in places], elements.dtype), sieved


def _looked_up(elements: AllElements, bracket: Bracket, parts: list[Sieved]) -> dict[int, Array]:
    """The elements of the places of ``bracket``."""
    values, around = known_of(bracket, parts, elements.dtype)
    known: dict[KeyRange, Array] = {}
    for place, within in around.items():
        values[place] = place_by_keys(elements, place, within, known)
    return values


def known_of(
    bracket: Bracket, parts: list[Sieved], dtype: Any
) -> tuple[dict[int, Array], dict[int, KeyRange]]:
    """The elements of the places of ``bracket``, and of those not found the range of their keys."""
    whole = joined(parts)
    known = whole.reach + whole.under - whole.inside  # those that are no NaN
    below = known - whole.reach
    values = {p: np.asarray(np.nan, dtype) for p in bracket.places if p >= known}
    hits = [p for p in bracket.places if below <= p < below + whole.inside]
    around, blocks = full_range(dtype), None if whole.same else whole.kept
    if hits and whole.same:
        values |= dict.fromkeys(hits, np.asarray(whole.ends[0], dtype))
    elif hits and blocks is not None:
        ranks = [p - below for p in hits]
        kept = np.concatenate(blocks)
        picked = _placed(kept.reshape(1, -1), sorted(set(ranks)), ranks)[0]
        values |= dict(zip(hits, picked, strict=True))
    elif hits:
        first_last = zip((below, below + whole.inside - 1), whole.ends, strict=True)
        # A zero may be one of either sign.
        values |= {p: np.asarray(end, dtype) for p, end in first_last if p in hits and end}
        # As many as are nearly alike lie between few keys: one more pass tells them apart.
        least, greatest = map(key_of, whole.ends)
        around = KeyRange(least, greatest, below)
    left = (place for place in bracket.places if place not in values)
    return values, {place: around if place in hits else full_range(dtype) for place in left}


def sample_of(elements: AllElements, runs: tuple[int, int] | None = None) -> Array:
    """Runs of neighbours at places that a hash gives: a row for each. ``runs``: how long, many."""
    run, most = runs or (_COMPUTED if elements.memory is None else READ)
    count = min(most, max(64, elements.size >> 16))
    with np.errstate(over="ignore"):
        mixed = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    share = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53
    starts = np.sort((share * (elements.size - run)).astype(np.int64))
    table = np.empty((count, run), elements.dtype)

    def fill(span: tuple[int, int]) -> None:
        for row in range(*span):
            elements.fill(table[row], int(starts[row]))

    elements.each(fill, [(k, min(k + 64, count)) for k in range(0, count, 64)])
    return table


def brackets_of(table: Array, places: list[int], size: int) -> list[Bracket]:
    """Where the elements of ``places`` are, by a sample; places whose brackets meet share one."""
    line = line_in_order(table)
    known = int(np.count_nonzero(line == line))
    least, greatest = _ends(line.dtype)
    found: list[Bracket] = []
    for place in places:
        share = (place + 0.5) / size
        middle = min(int(share * len(line)), len(line) - 1)
        # How much runs differ says how alike neighbours are: of sorted data each is one value.
        spread = float((table < line[middle]).mean(axis=1).std()) / len(table) ** 0.5
        error = max(spread, (share * (1 - share) / len(line)) ** 0.5)
        reach = int(_SURE * error * len(line)) + 8
        low = line[middle - reach] if 0 <= middle - reach < known else least
        high = line[middle + reach] if middle + reach < known else greatest
        if found and low <= found[-1].high:
            before = found[-1]
            found[-1] = Bracket(before.low, max(before.high, high), (*before.places, place))
        else:
            found.append(Bracket(low, high, (place,)))
    return found


def _ends(dtype: Any) -> tuple[Any, Any]:
    """The least and the greatest value of ``dtype``."""
    if dtype.kind == "f":
        return dtype.type(-np.inf), dtype.type(np.inf)
    if dtype.kind == "b":
        return dtype.type(False), dtype.type(True)
    known = np.iinfo(dtype)
    return dtype.type(known.min), dtype.type(known.max)


def counted_in(elements: AllElements, brackets: list[Bracket]) -> list[list[Sieved]]:
    """For each bracket what each thread found of it, in the order of the elements."""
    sieved = elements.dtype.name in SIEVED

    def count(span: tuple[int, int]) -> list[Sieved]:
        found = [Sieved(COLLECTED * len(bracket.places)) for bracket in brackets]
        bounds = [Sieving(elements.dtype.name, b.low, b.high) if sieved else b for b in brackets]
        for block in elements.blocks(*span):
            for one, bound in zip(found, bounds, strict=True):
                one.take(*bound.sieve(block))
        return found

    each = elements.each(count, elements.spans())
    return [[thread[k] for thread in each] for k in range(len(brackets))]
