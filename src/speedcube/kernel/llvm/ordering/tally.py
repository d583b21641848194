"""How often each number comes: integers in memory, counted by a loop of four counts side by side.

    void kernel(words, values, counts, nothing, nothing)

``words`` (int64): how many ``values`` there are, a length, and from one of four arrays of counts to
the next. What is no number below the length is counted at the length. A count that was just
written is not ready when the next element is the same number: four elements have an array each.
"""

from __future__ import annotations

from typing import Final

from ....dtypes import SIGNED
from ...program import Tally
from ..function import function
from ..text import SCALAR, Text

COPIES: Final = 4
COUNT, LENGTH, STRIDE = range(3)
WORDS: Final = 3


def emit_tally(program: Tally) -> str:
    """The LLVM text of ``program``."""
    text = Text(1)
    count, length, stride = (
        text.load("i64", text.at("%words", k)) for k in (COUNT, LENGTH, STRIDE)
    )
    arrays = [text.at("%state", text.i64("mul", stride, k)) for k in range(COPIES)]
    whole = text.i64("and", count, -COPIES)
    with text.loop(0, whole, COPIES) as j:
        numbers = [_number(text, program, text.i64("add", j, k), length) for k in range(COPIES)]
        for array, number in zip(arrays, numbers, strict=True):
            _add(text, array, number)
    with text.loop(whole, count) as j:
        _add(text, arrays[0], _number(text, program, j, length))
    return function(text, ("words", "values", "state", "scratch", "out"), ())


def _number(text: Text, program: Tally, j: str, length: str) -> str:
    """The element at ``j``, or the length where it is none below it."""
    kind = SCALAR[program.dtype]
    x = text.load(kind, text.at("%values", j, kind), 1)
    if kind != "i64":
        x = text.op(f"{'sext' if program.dtype in SIGNED else 'zext'} {kind} {x} to i64")
    inside = text.op(f"icmp ult i64 {x}, {length}")
    return text.op(f"select i1 {inside}, i64 {x}, i64 {length}")


def _add(text: Text, array: str, number: str) -> None:
    place = text.at(array, number)
    text.store("i64", text.i64("add", text.load("i64", place), 1), place)
