"""Columns whose later rows are much larger than the first ones: units grow from block to block.

Of a block of rows the largest magnitudes are found first, and then it is added: it lies in the
cache by then. A unit that is too small for it gives way to a larger one. What was summed by then
is two numbers, which are added like elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .sums import Sums

ROWS: Final = 1 << 5  # of a block: it is 256 kB

# Of rows from the first to before the last: into `low`, or to the sums.
Rows = Callable[[str, str], None]


def by_blocks(sums: Sums, count: str, rows: str, look: Rows, add: Rows) -> None:
    """Sum ``rows`` rows of ``count`` columns."""
    t = sums.text
    with t.loop(0, count, t.lanes) as j:
        (unit,) = sums.units("zeroinitializer")
        for name, value in {"unit": unit, **sums.start(0, unit)}.items():
            sums.store(0, name, j, value)
    with t.loop(0, rows, ROWS) as first:
        last = t.minimum(t.i64("add", first, ROWS), rows)
        with t.loop(0, count, t.lanes) as j:
            sums.store(0, "low", j, "zeroinitializer")
        look(first, last)
        with t.loop(0, count, t.lanes) as j:
            renew(sums, j)
        add(first, last)
    with t.loop(0, count, t.lanes) as j:
        sums.store(0, "low", j, "zeroinitializer")


def renew(sums: Sums, j: str) -> None:
    """Units of the results j, j + 1, ... that are good for the magnitudes in `low`, too."""
    d = sums.d
    before = sums.load(0, "unit", j)
    (found,) = sums.units(d.bits(sums.load(0, "low", j)))
    unit = d.of_bits(sums.greater(d.bits(before), d.bits(found)))
    sum_ = d.sub(sums.load(0, "total", j), before)
    total = d.add(unit, sum_)
    lost = d.sub(sum_, d.sub(total, unit))
    rest, nothing = sums.load(0, "rest", j), sums.rest_of_nothing(unit)
    part = d.sub(rest, sums.rest_of_nothing(before))
    first = d.add(nothing, part)
    second = d.add(first, lost)
    gone = d.sub(part, d.sub(first, nothing)), d.sub(lost, d.sub(second, first))
    left = sums.load(0, "left", j)
    for each in gone:
        left = d.words("or", left, d.bits(each))
    words = {"unit": unit, "total": total, "rest": second, "left": left}
    if sums.many.deep:
        words["deep"] = d.add(sums.load(0, "deep", j), d.add(*gone))
    for name, value in words.items():
        sums.store(0, name, j, value)
