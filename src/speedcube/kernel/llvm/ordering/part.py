"""Numbers in memory dealt out by one to three bounds: below, at and above each, as they come.

    void kernel(words, values, bounds, places, out)

``words`` (int64): how many ``values`` there are. ``places`` (int64): where the next number of each
class goes: below the first of ``bounds``, equal to it, between it and the next ... NaN is above.
The next call goes on there.
"""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ...orders import Deal
from ..function import function
from ..text import SCALAR, Text

MOST_BOUNDS: Final = 3


def emit_part(program: Deal) -> str:
    """The LLVM text of ``program``."""
    t, kind = Text(1), SCALAR[program.dtype]
    sign = "s" if program.dtype in dtypes.SIGNED else "u"
    above = "fcmp u" if dtypes.is_float(program.dtype) else f"icmp {sign}"
    count = t.load("i64", t.at("%words", 0))
    bounds = [t.load(kind, t.at("%state", k, kind)) for k in range(program.bounds)]
    first = [t.load("i64", t.at("%scratch", k)) for k in range(2 * program.bounds + 1)]
    places = [t.variable("i64", place, "place") for place in first]
    with t.loop(0, count) as j:
        x = t.load(kind, t.at("%values", j, kind), 1)
        # Whether it is in the class after each: they follow one another.
        after = [
            t.op(f"zext i1 {t.op(f'{above}{how} {kind} {x}, {bound}')} to i64")
            for bound in bounds
            for how in ("ge", "gt")
        ]
        now = [t.load("i64", place) for place in places]
        at = now[0]
        for bit, place in zip(after, now[1:], strict=True):
            at = t.op(f"select i1 {t.op(f'icmp ne i64 {bit}, 0')}, i64 {place}, i64 {at}")
        t.store(kind, x, t.at("%out", at, kind), 1)
        for place, before, inside, beyond in zip(
            places, now, ["1", *after], [*after, "0"], strict=True
        ):
            t.store("i64", t.i64("add", before, t.i64("sub", inside, beyond)), place)
    for k, place in enumerate(places):
        t.store("i64", t.load("i64", place), t.at("%scratch", k))
    return function(t, ("words", "values", "state", "scratch", "out"), ())
