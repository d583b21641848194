"""Ranks and the most common elements of lines, as they are defined, with NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .ordering import one_nan

Array: TypeAlias = NDArray[Any]

METHODS: Final = ("average", "min", "max", "dense", "ordinal")


def _runs(line: Array) -> tuple[Array, Array, Array]:
    """The places of a line's elements in order, where runs of equals begin, and their lengths."""
    order = np.argsort(line, kind="stable")
    values = line[order]
    begins = np.ones(len(line), bool)
    same = values[1:] == values[:-1]
    if line.dtype.kind == "f":
        same |= np.isnan(values[1:]) & np.isnan(values[:-1])
    begins[1:] = ~same
    starts = np.flatnonzero(begins)
    return order, starts, np.diff(np.append(starts, len(line)))


def _rank(line: Array, method: str) -> Array:
    order, starts, lengths = _runs(line)
    each: dict[str, Callable[[], Array]] = {
        "average": lambda: starts + (lengths + 1) / 2,
        "min": lambda: starts + 1,
        "max": lambda: starts + lengths,
        "dense": lambda: np.arange(len(starts)) + 1,
    }
    ranks = np.empty(len(line))
    whole = np.arange(len(line)) + 1
    ranks[order] = whole if method == "ordinal" else np.repeat(each[method](), lengths)
    if line.dtype.kind == "f":
        ranks[np.isnan(line)] = np.nan
    return ranks


def _mode(line: Array) -> Any:
    order, starts, lengths = _runs(line)
    return line[order[starts[np.argmax(lengths)]]]  # the first of the longest: the least one


def ranked(x: Array, options: tuple[Any, ...]) -> Array:
    """The rank of each element in its line along the last axis; NaN of NaN."""
    lines = x.reshape(-1, x.shape[-1])
    found = [_rank(line, METHODS[options[0]]) for line in lines]
    return np.array(found, np.float64).reshape(x.shape)


def commonest(x: Array, options: tuple[Any, ...]) -> Array:
    """The most common element of each line along the last axis; of several the least."""
    found = [_mode(line) for line in x.reshape(-1, x.shape[-1])]
    return one_nan(np.array(found, x.dtype)).reshape((*x.shape[:-1], 1))
