"""Sums of weights by number: each weight in three pieces, which doubles add up without rounding.

    void kernel(words, index, anchors, weights, sums)

``words`` (int64): how many elements there are; then the answer, not 0 where a weight had more than
three pieces (what is infinite or NaN has, too). A piece is what adding and subtracting an anchor,
``1.5 * 2**k``, leaves of a weight: a multiple of its unit. ``sums`` has four doubles a number, of
which one load, addition and store takes all pieces.
"""

from __future__ import annotations

from typing import Final

from ...program import Weigh
from ..function import function
from ..text import Text

COUNT, LEFT = range(2)
WORDS: Final = 2
PIECES: Final = 3
LANES: Final = 4  # doubles of a number


def emit_weigh(program: Weigh) -> str:
    """The LLVM text of ``program``."""
    t = Text(LANES)
    count = t.load("i64", t.at("%words", COUNT))
    anchors = [t.load(program.kind, t.at("%state", k)) for k in range(PIECES)]
    left = t.variable("i64", "0", "left")
    with t.loop(0, count) as j:
        number = t.load("i64", t.at("%values", j))
        rest = t.load("double", t.at("%scratch", j, "double"))
        vector = "zeroinitializer"
        for k, anchor in enumerate(anchors):
            piece = t.op(f"fsub double {t.op(f'fadd double {rest}, {anchor}')}, {anchor}")
            vector = t.op(f"insertelement <4 x double> {vector}, double {piece}, i64 {k}")
            rest = t.op(f"fsub double {rest}, {piece}")
        more = t.op(f"zext i1 {t.op(f'fcmp une double {rest}, 0.0')} to i64")
        t.store("i64", t.i64("or", t.load("i64", left), more), left)
        place = t.at("%out", t.i64("mul", number, LANES), "double")
        before = t.load("<4 x double>", place, 8)
        t.store("<4 x double>", t.op(f"fadd <4 x double> {before}, {vector}"), place, 8)
    t.store("i64", t.load("i64", left), t.at("%words", LEFT))
    return function(t, ("words", "values", "state", "scratch", "out"), ())
