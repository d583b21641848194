"""Numbers in memory dealt out by one to three bounds: below, at and above each, as they come.

Of one long line:

    void kernel(words, values, bounds, places, out)

``words`` (int64): how many ``values`` there are. ``places`` (int64): where the next number of each
class goes: below the first of ``bounds``, equal to it, between it and the next ... NaN is above.
The next call goes on there.

Of lines, each with bounds of its own, that do not fall (and are no NaN):

    void kernel(words, values, bounds, nothing, out)

``words`` (int64): how many lines, and the numbers of each. Those of each class are counted before.
"""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ...orders import Deal, DealLines
from ..function import function
from ..text import SCALAR, Text

MOST_BOUNDS: Final = 3
_TOGETHER: Final = 16  # numbers that are counted at once


def emit_part(program: Deal) -> str:
    """The LLVM text of ``program``."""
    t, kind = Text(1), SCALAR[program.dtype]
    count = t.load("i64", t.at("%words", 0))
    bounds = [t.load(kind, t.at("%state", k, kind)) for k in range(program.bounds)]
    first = [t.load("i64", t.at("%scratch", k)) for k in range(2 * program.bounds + 1)]
    places = [t.variable("i64", place, "place") for place in first]
    with t.loop(0, count) as j:
        _deal(t, program.dtype, t.at("%values", j, kind), bounds, places, "%out")
    for k, place in enumerate(places):
        t.store("i64", t.load("i64", place), t.at("%scratch", k))
    return function(t, ("words", "values", "state", "scratch", "out"), ())


def emit_lines_parted(program: DealLines) -> str:
    """The LLVM text of ``program``."""
    t, kind = Text(1), SCALAR[program.dtype]
    lines, count = (t.load("i64", t.at("%words", k)) for k in range(2))
    whole = t.i64("and", count, -_TOGETHER)
    with t.loop(0, lines) as line:
        begin, own = t.i64("mul", line, count), t.i64("mul", line, program.bounds)
        values, out = (t.at(name, begin, kind) for name in ("%values", "%out"))
        bounds = [
            t.load(kind, t.at("%state", t.i64("add", own, k), kind)) for k in range(program.bounds)
        ]
        after = [t.variable("i64", "0", "after") for _ in range(2 * program.bounds)]
        with t.loop(0, whole, _TOGETHER) as j:
            _count(t, program.dtype, t.at(values, j, kind), bounds, after, _TOGETHER)
        with t.loop(whole, count) as j:
            _count(t, program.dtype, t.at(values, j, kind), bounds, after, 1)
        starts = ["0", *(t.i64("sub", count, t.load("i64", one)) for one in after)]
        places = [t.variable("i64", place, "place") for place in starts]
        with t.loop(0, count) as j:
            _deal(t, program.dtype, t.at(values, j, kind), bounds, places, out)
    return function(t, ("words", "values", "state", "scratch", "out"), ())


def _after(t: Text, dtype: str, x: str, bounds: list[str], many: int) -> list[str]:
    """Whether ``many`` numbers are in the class after each: they follow one another.

    What equals two bounds is at the first of them.
    """
    above = "fcmp u" if dtypes.is_float(dtype) else f"icmp {'s' if dtype in dtypes.SIGNED else 'u'}"
    v, ones = f"<{many} x {SCALAR[dtype]}>", f"<{many} x i1>"
    found: list[str] = []
    for bound in bounds:
        beside = t.op(f"insertelement {v} poison, {SCALAR[dtype]} {bound}, i32 0")
        beside = t.op(f"shufflevector {v} {beside}, {v} poison, <{many} x i32> zeroinitializer")
        for how in ("ge", "gt"):
            one = t.op(f"{above}{how} {v} {x}, {beside}")
            found.append(t.op(f"and {ones} {one}, {found[-1]}") if found else one)
    return found


def _count(
    t: Text, dtype: str, pointer: str, bounds: list[str], after: list[str], many: int
) -> None:
    """Count the ``many`` numbers at ``pointer`` that are in a class after each."""
    x = t.load(f"<{many} x {SCALAR[dtype]}>", pointer, 1)
    t.declares.add(f"declare i{many} @llvm.ctpop.i{many}(i{many})")
    for bits, counter in zip(_after(t, dtype, x, bounds, many), after, strict=True):
        word = t.op(f"bitcast <{many} x i1> {bits} to i{many}")
        if many > 1:
            word = t.op(f"call i{many} @llvm.ctpop.i{many}(i{many} {word})")
        more = t.op(f"zext i{many} {word} to i64")
        t.store("i64", t.i64("add", t.load("i64", counter), more), counter)


def _deal(
    t: Text, dtype: str, pointer: str, bounds: list[str], places: list[str], out: str
) -> None:
    """Store the number at ``pointer`` where its class goes on, and let that go on behind it."""
    kind = SCALAR[dtype]
    x = t.load(kind, pointer, 1)
    one = t.op(f"insertelement <1 x {kind}> poison, {kind} {x}, i32 0")
    after = [
        t.op(f"zext i1 {t.op(f'bitcast <1 x i1> {bit} to i1')} to i64")
        for bit in _after(t, dtype, one, bounds, 1)
    ]
    now = [t.load("i64", place) for place in places]
    at = now[0]
    for bit, place in zip(after, now[1:], strict=True):
        at = t.op(f"select i1 {t.op(f'icmp ne i64 {bit}, 0')}, i64 {place}, i64 {at}")
    t.store(kind, x, t.at(out, at, kind), 1)
    for place, before, inside, beyond in zip(
        places, now, ["1", *after], [*after, "0"], strict=True
    ):
        t.store("i64", t.i64("add", before, t.i64("sub", inside, beyond)), place)
