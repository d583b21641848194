"""The greatest and the least magnitude of each row of doubles; zeros are no least.

    void kernel(words, rows, nothing, nothing, out)

``words`` (int64): how many rows and columns there are, the distances of rows and of columns.
``out``: the bits of the greatest of each row, then those of the least, less one. The bits of
magnitudes order as these do, NaN above all; less one, a zero is greater than any.
"""

from __future__ import annotations

from typing import Final

from ...orders import RowSizes
from ..function import function
from ..text import Text
from .doubles import SIZE

_LANES: Final = 16


def emit_sizes(program: RowSizes) -> str:
    """The LLVM text of ``program``."""
    t = Text(_LANES)
    words = t.vector("i64")
    rows, columns, by_row, by_column = (t.load("i64", t.at("%words", k)) for k in range(4))
    beside = t.op(f"icmp eq i64 {by_column}, 1")
    vectors = t.op(f"select i1 {beside}, i64 {t.i64('and', columns, -_LANES)}, i64 0", "i")
    lines = (("umax", "0", "0"), ("umin", "-1", rows))  # of each: what it begins with, and where
    with t.loop(0, rows) as row:
        source = t.at("%values", t.i64("mul", row, by_row))
        many = [t.variable(words, f"splat (i64 {start})") for _, start, _ in lines]
        with t.loop(0, vectors, _LANES) as j:
            x = t.op(f"and {words} {t.load(words, t.at(source, j), 8)}, splat (i64 {SIZE})")
            _take(t, many, words, x, f".v{_LANES}i64", "splat (i64 1)")
        each = []
        for (name, _, _), variable in zip(lines, many, strict=True):
            reduced = f"llvm.vector.reduce.{name}.v{_LANES}i64"
            each.append(t.variable("i64", t.call("i64", reduced, words, t.load(words, variable))))
        with t.loop(vectors, columns) as j:
            x = t.load("i64", t.at(source, t.i64("mul", j, by_column)))
            _take(t, each, "i64", t.i64("and", x, SIZE), ".i64", "1")
        for (_, _, first), one in zip(lines, each, strict=True):
            t.store("i64", t.load("i64", one), t.at("%out", t.i64("add", first, row)))
    return function(t, ("words", "values", "state", "scratch", "out"), ())


def _take(t: Text, variables: list[str], kind: str, x: str, suffix: str, one: str) -> None:
    """Magnitudes ``x`` into what the greatest and the least are so far."""
    less = t.op(f"sub {kind} {x}, {one}")
    for variable, name, value in zip(variables, ("umax", "umin"), (x, less), strict=True):
        before = t.load(kind, variable)
        t.store(kind, t.call(kind, f"llvm.{name}{suffix}", kind, before, value), variable)
