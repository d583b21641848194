"""Elements, or their places, dealt out to their groups, each in the order of positions.

    void kernel(words, values, state, next, out)

``words`` (int64): how many elements there are, how many groups, and the place of the first one.
``state`` has the number of each element's group, int64; ``next`` where the next element of each
group goes, and behind them that of what is in none. The next call goes on there.
"""

from __future__ import annotations

from typing import Final

from ..function import function
from ..memory import prefetch
from ..text import SCALAR, Text
from .program import DealtToGroups

COUNT, GROUPS, FIRST = range(3)
WORDS: Final = 3
_TOGETHER: Final = 8  # elements between two requests for memory


def emit_dealt(program: DealtToGroups) -> str:
    """The LLVM text of ``program``."""
    t, kind = Text(1), SCALAR[program.dtype]
    count, groups, first = (t.load("i64", t.at("%words", k)) for k in range(WORDS))

    def deal(j: str) -> None:
        group = t.load("i64", t.at("%state", j))
        inside = t.op(f"icmp ult i64 {group}, {groups}")
        group = t.op(f"select i1 {inside}, i64 {group}, i64 {groups}")
        at_next = t.at("%scratch", group)
        place = t.load("i64", at_next)
        t.store("i64", t.i64("add", place, 1), at_next)
        if program.places:
            t.store("i64", t.i64("add", first, j), t.at("%out", place))
        else:
            t.store(kind, t.load(kind, t.at("%values", j, kind), 1), t.at("%out", place, kind), 1)

    whole = t.i64("and", count, -_TOGETHER)
    with t.loop(0, whole, _TOGETHER) as j:
        prefetch(t, t.at("%state", j), 8 * _TOGETHER)
        if not program.places:
            prefetch(t, t.at("%values", j, kind), _TOGETHER)
        for k in range(_TOGETHER):
            deal(t.i64("add", j, k))
    with t.loop(whole, count) as j:
        deal(j)
    return function(t, ("words", "values", "state", "scratch", "out"), ())
