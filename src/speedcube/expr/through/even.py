"""Bins of one width: which of them each number is in, by its place between the ends."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..build import cast, elementwise
from ..gather import take
from ..nodes import Expr, Stored, whole
from .node import Through
from .ordering import EVEN

_MOST: Final = 1 << 30  # bins whose numbers are 32 bits wide
_NEAR: Final = 2.0**-10  # of a bin: so far from its place an edge may be
_WHOLE: Final = 1 << 52  # integers below it are doubles, and no other becomes one of them


def is_even(source: Through) -> bool:
    """Whether ``source`` counts how many doubles each bin has, not how often each number comes."""
    return source.options[1:2] == (EVEN,)


def options_of(first: float, last: float, edges: NDArray[np.float64]) -> tuple[Any, ...]:
    """What tells the bins between ``edges``; nothing where they are too many, or too narrow."""
    count, width = len(edges) - 1, last - first
    if count >= _MOST or not (width > 0 and math.isfinite(width) and math.isfinite(count / width)):
        return ()
    return EVEN, first, last, edges.tobytes()


def ends_of(edges: NDArray[Any]) -> tuple[float, float] | None:
    """The ends of real ``edges`` that are evenly apart, or nearly; None of others."""
    whole_numbers = edges.dtype.kind in "iu"
    if len(edges) < 2 or not (whole_numbers or edges.dtype.kind == "f"):
        return None
    first, last = float(edges[0]), float(edges[-1])
    if whole_numbers and max(abs(first), abs(last)) >= _WHOLE:
        return None
    count, width = len(edges) - 1, last - first
    if not (width > 0 and math.isfinite(width) and math.isfinite(count / width)):
        return None
    places = (edges.astype(np.float64) - first) * (count / width)
    return (first, last) if (abs(places - np.arange(count + 1)) <= _NEAR).all() else None


def bins_of(source: Through) -> Expr:
    """The bin of each of the doubles that ``source`` counts."""
    _, _, first, last, edges = source.options
    return bin_of(source.arg, source.arg, first, last, np.frombuffer(edges))


def bin_of(x: Expr, place: Expr, first: Any, last: Any, edges: NDArray[np.float64]) -> Expr:
    """The bin of each of ``x``, of which ``place`` is float64; of what is in none their number.

    By the place between the ends, put right by a look at the edges.
    """
    count = len(edges) - 1
    line = whole(Stored(edges, "float64"), edges.shape)
    above = elementwise("greater_equal", (x, first))
    inside = elementwise("logical_and", (above, elementwise("less_equal", (x, last))))
    width = float(last) - float(first)
    scale = count / width
    guess = elementwise("subtract", (place, float(first)))
    if math.isfinite(scale):
        guess = elementwise("multiply", (guess, scale))
    else:  # of a width next to nothing there is no number of bins in 1
        guess = elementwise("multiply", (elementwise("divide", (guess, width)), count))
    # A gather holds its indices within the edges: those of what lies outside count for nothing.
    held = cast(elementwise("where", (inside, guess, 0.0)), "int64")
    held = elementwise("minimum", (held, count - 1))
    low, high = take(line, held, 0), take(line, elementwise("add", (held, 1)), 0)
    lower = elementwise("less", (place, low))
    higher = elementwise("greater_equal", (place, high))
    higher = elementwise("logical_and", (higher, elementwise("less", (held, count - 1))))
    right = elementwise("subtract", (held, cast(lower, "int64")))
    right = elementwise("add", (right, cast(higher, "int64")))
    return elementwise("where", (inside, right, count))
