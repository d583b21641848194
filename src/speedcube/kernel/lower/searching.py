"""A binary search in memory, as a loop whose body reads there.

A loop of the IR has one value: the place so far and the number of the step are kept in one word.
"""

from __future__ import annotations

from typing import Final

from ... import dtypes
from ..builder import Builder, Value
from ..math.float16 import widened

_STEP: Final = 6  # bits of the word, the lowest: the power of two that a step is


def searched(
    b: Builder, op: str, leaf: int, kind: str, wanted: Value, line: tuple[Value, ...]
) -> Value:
    """How many elements of a sorted line come before ``wanted``: int64, NaN behind every number.

    ``leaf``, of dtype ``kind``, has the line's memory. ``line``: where it begins there, how far
    its elements are apart, how many there are, and the highest bit of their number.
    """
    stride, count, top = line[1:]
    there = count.compare("gt", b.const(0, "int64"))

    def step(
        b: Builder, word: Value, wanted: Value, first: Value, stride: Value, count: Value
    ) -> tuple[Value, Value]:
        none, one = b.const(0, "int64"), b.const(1, "int64")
        power, place = word & b.const((1 << _STEP) - 1, "int64"), word >> _STEP
        behind = place + b.emit("shlv", "int64", one, power)
        beyond = behind.compare("gt", count)
        last = b.select(beyond, count, behind) - one
        element = b.gather(leaf, first + last * stride, dtypes.stored(kind))
        if kind == "float16":
            element = widened(b, element)
        if op == "search_left":
            is_passed = _before(b, element, wanted)
        else:
            is_passed = b.emit("not", "bool", _before(b, wanted, element))
        place = b.select(is_passed, b.select(beyond, place, behind), place)
        return (place << _STEP) + power - one, power.compare("gt", none)

    word = b.loop(there, step, top, wanted, line[0], stride, count)
    place = (word + b.const(1, "int64")) >> _STEP
    return b.select(there, place, b.const(0, "int64"))


def _before(b: Builder, x: Value, y: Value) -> Value:
    """Whether ``x`` is below ``y``, or a number and ``y`` NaN."""
    less = x.compare("lt", y)
    if not dtypes.is_float(x.type):
        return less
    return less | (x.compare("eq", x) & y.compare("ne", y))
