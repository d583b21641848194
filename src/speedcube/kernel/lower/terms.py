"""The terms of sums that their kernel finishes: doubles, and what is left out of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..builder import Builder, Value
from .lower import halves
from .rules import cast


def give_halves(b: Builder, x: Value) -> None:
    """A 64-bit integer as the nearest double and what that leaves out."""
    high, low = (half for half, _ in halves(b, x))
    near = high + low
    b.output("x", near)
    b.output("error", low - (near - high))


def wide(b: Builder, x: Value) -> Value:
    """A 64-bit integer as a double; an infinity, which no certificate lets pass, where it is none.

    (Of those beyond 2**53 that are doubles, too.)
    """
    word = x if x.type == "uint64" else x.cast("int64").bitcast("uint64")
    moved = word if x.type == "uint64" else word + b.const(2**53, "uint64")
    most = b.const(2**53 if x.type == "uint64" else 2**54, "uint64")
    infinity = b.const(math.inf, "float64")
    return b.select(moved.compare("le", most), cast(b, x, "float64"), infinity)


def give(b: Builder, values: Sequence[Value]) -> None:
    """The element; of a product the double, and what it rounded away (none of float32's).

    What underflows to zero is not forgotten: the least number in its place says that something is
    not exact.
    """
    x, y = (cast(b, value, "float64") for value in (values[0], values[-1]))
    if len(values) == 1:
        b.output("x", x)
        return
    p, zero = x * y, b.const(0.0, "float64")
    b.output("x", p)
    if values[0].type != "float32":
        gone = p.compare("eq", zero) & x.compare("ne", zero) & y.compare("ne", zero)
        b.output("error", b.select(gone, b.const(5e-324, "float64"), b.fma(x, y, -p)))
