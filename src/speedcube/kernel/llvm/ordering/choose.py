"""Elements where a mask is true, put together in their order.

    void kernel(words, values, mask, nothing, out)

``words`` (int64): how many ``values`` there are. ``mask`` has a byte for each: 0 is false. Eight
that are all true are copied at once, of eight that are all false nothing is read; of others each is
stored where the next one goes, which moves on where it counts. So the last one has to be true: else
one would be stored behind the last.
"""

from __future__ import annotations

from typing import Final

from ...orders import Choose
from ..function import function
from ..text import Text

_LINE: Final = 64  # bytes of the mask that are looked at together
_EIGHT: Final = 8
_TRUE: Final = 0x0101_0101_0101_0101


def emit_choose(program: Choose) -> str:
    """The LLVM text of ``program``."""
    t, kind = Text(1), f"i{8 * program.size}"
    count = t.load("i64", t.at("%words", 0))
    place = t.variable("i64", "0", "place")
    whole = t.i64("and", count, -_LINE)
    with t.loop(0, whole, _LINE) as first:
        line = t.load(f"<{_LINE} x i8>", t.at("%state", first, "i8"), 1)
        true = t.op(f"icmp ne <{_LINE} x i8> {line}, zeroinitializer")
        bits = t.op(f"bitcast <{_LINE} x i1> {true} to i64")
        some = t.op(f"icmp ne i64 {bits}, 0")
        with t.when(some), t.loop(first, t.i64("add", first, _LINE), _EIGHT) as j:
            _eight(t, kind, j, place)
    with t.loop(whole, count) as j:
        _one(t, kind, j, place)
    return function(t, ("words", "values", "state", "scratch", "out"), ())


def _eight(t: Text, kind: str, j: str, place: str) -> None:
    """Elements from ``j`` on, all at once or one after the other."""
    eight = t.load("i64", t.at("%state", j, "i8"), 1)
    every = t.op(f"icmp eq i64 {eight}, {_TRUE}")
    some = t.op(f"icmp ne i64 {eight}, 0")
    with t.when(every):
        now, vector = t.load("i64", place), f"<{_EIGHT} x {kind}>"
        values = t.load(vector, t.at("%values", j, kind), 1)
        t.store(vector, values, t.at("%out", now, kind), 1)
        t.store("i64", t.i64("add", now, _EIGHT), place)
    with t.when(t.op(f"and i1 {some}, {t.op(f'xor i1 {every}, true')}")):
        for k in range(_EIGHT):
            _one(t, kind, t.i64("add", j, k), place)


def _one(t: Text, kind: str, j: str, place: str) -> None:
    """Element ``j`` where the next one goes, which is behind it where it counts."""
    now = t.load("i64", place)
    t.store(kind, t.load(kind, t.at("%values", j, kind), 1), t.at("%out", now, kind), 1)
    counts = t.op(f"icmp ne i8 {t.load('i8', t.at('%state', j, 'i8'))}, 0")
    t.store("i64", t.i64("add", now, t.op(f"zext i1 {counts} to i64")), place)
