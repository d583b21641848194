"""Of each group the place of the element that comes first: by value, or by position.

    void kernel(words, values, state, nothing, best)

``words`` (int64): how many elements there are, how many groups, and the place of the first one.
``state`` has the number of each element's group, int64; ``best`` two int64 a group and for what is
in none: the key of the element that comes first so far, and its place, -1 where there is none.

Keys order like the elements, -0 below 0 or as 0; NaN has the least, unless it is left out.
Elements come in the order of their places, so the first of equals stays.
"""

from __future__ import annotations

from typing import Final

from ....dtypes import SIGNED, is_float
from ..function import function
from ..text import SCALAR, Text
from .program import Foremost

COUNT, GROUPS, FIRST = range(3)
WORDS: Final = 3
_MOST: Final = 2**63 - 1
_LEAST: Final = -(2**63)


def emit_foremost(program: Foremost) -> str:
    """The LLVM text of ``program``."""
    t, scalar = Text(1), SCALAR[program.dtype]
    count, groups, first = (t.load("i64", t.at("%words", k)) for k in range(WORDS))
    with t.loop(0, count) as j:
        group = t.load("i64", t.at("%state", j))
        inside = t.op(f"icmp ult i64 {group}, {groups}")
        group = t.op(f"select i1 {inside}, i64 {group}, i64 {groups}")
        at_key = t.at("%out", t.i64("mul", group, 2))
        at_place = t.at(at_key, 1)
        place = t.load("i64", at_place)
        none = t.op(f"icmp slt i64 {place}, 0")
        x = t.load(scalar, t.at("%values", j, scalar), 1)
        better, key = none, "0"
        if program.by_value:
            key = _key(t, program, x)
            before = t.op(f"icmp slt i64 {key}, {t.load('i64', at_key)}")
            better = t.op(f"or i1 {none}, {before}")
        elif program.last:
            better = "true"
        if program.skip and is_float(program.dtype):
            better = t.op(f"and i1 {better}, {t.op(f'fcmp ord {scalar} {x}, {x}')}")
        with t.when(better):
            t.store("i64", key, at_key)
            t.store("i64", t.i64("add", first, j), at_place)
    return function(t, ("words", "values", "state", "scratch", "out"), ())


def _key(t: Text, program: Foremost, x: str) -> str:
    """An integer that orders like ``x``; for the greatest element it orders the other way."""
    scalar = SCALAR[program.dtype]
    if not is_float(program.dtype):
        how = "sext" if program.dtype in SIGNED else "zext"
        key = x if scalar == "i64" else t.op(f"{how} {scalar} {x} to i64")
        if program.dtype == "uint64":
            key = t.i64("xor", key, _LEAST)
        return t.i64("xor", key, -1) if program.last else key
    wide = x if scalar == "double" else t.op(f"fpext {scalar} {x} to double")
    wide = t.op(f"fadd double {wide}, 0.0") if program.zeros else wide
    bits = t.op(f"bitcast double {wide} to i64")
    key = t.i64("xor", bits, t.i64("and", t.i64("ashr", bits, 63), _MOST))
    key = t.i64("xor", key, -1) if program.last else key
    nan = t.op(f"fcmp uno {scalar} {x}, {x}")
    return t.op(f"select i1 {nan}, i64 {_LEAST}, i64 {key}")
