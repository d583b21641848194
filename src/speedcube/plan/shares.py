"""Sorting, selecting and counting cut for workers that share no memory.

Lines are dealt out to workers. One long line is cut into shares. What is counted or selected takes
rounds: each worker answers a question about its share, and the answers make the next question. A
sort has one exchange: each worker sorts its share and gives every other one the values that it is
to put together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from .. import dtypes
from ..expr.through.node import Through
from .stages import Stage, sliced

LEAST: Final = 1 << 20  # elements below which a second worker costs more than it brings
KEY_BITS: Final = 16  # of an element's key, found in one round

_ROUNDS: Final[dict[str, Callable[[Through], int]]] = {
    "count": lambda source: 1,
    "weigh": lambda source: 2,  # the greatest weight, the sums
    "order_statistics": lambda source: _to_select(np.dtype(source.arg.dtype)),
}

CUT: Final = frozenset((*_ROUNDS, "sort", "argsort"))  # others stay with one worker


def _to_select(dtype: np.dtype[np.generic]) -> int:
    """A sample, what is between two values of it, the bits of keys, the sign of a zero."""
    return 2 + -(-8 * dtype.itemsize // KEY_BITS) + 2 * (dtype.kind == "f")


def rounds(source: Through) -> int:
    """How often the workers are asked about their shares."""
    return _ROUNDS[source.op](source)


def shared_out(stage: Stage, workers: int) -> Stage:
    """``stage``, which makes a `Through`, with a part for each of ``workers``."""
    source, root = stage.source, stage.root
    assert isinstance(source, Through)
    if (
        source.op not in CUT
        or workers < 2
        or math.prod(root.shape) < max(LEAST, workers * KEY_BITS)
    ):
        return stage
    join = "concatenate"
    if source.op in ("count", "weigh") or source.line == source.count:
        join = "rounds" if source.op in _ROUNDS else "exchange"
    axes = {"rounds": len(root.shape), "exchange": 1}.get(join, len(root.shape) - 1)
    axis = next((k for k in range(axes) if root.shape[k] >= workers), None)
    if axis is None:
        return stage
    cut = sliced(root, source, (), (), workers, axis, join)
    return replace(cut, result=stage.result, why=stage.why)


def result_axis(source: Through, axis: int) -> int:
    """The axis of what ``source`` makes that ``axis`` of its lines becomes."""
    return axis + (axis >= source.axis % len(source.shape))


def moved(stage: Stage) -> int:
    """Bytes that go from one worker to another in an exchange, of elements that lie evenly."""
    source, parts = stage.source, len(stage.parts)
    assert isinstance(source, Through)
    each = dtypes.itemsize(source.arg.dtype) + (8 if source.op == "argsort" else 0)
    return source.count * each * (parts - 1) // parts


def tasks(stage: Stage) -> int:
    """How many tasks ``stage`` is, whose parts are shares of one line."""
    assert isinstance(stage.source, Through)
    parts = len(stage.parts)
    if stage.join == "rounds":
        return rounds(stage.source) * (parts + 1)
    return parts * (parts + 3) + 2  # samples, where to cut, sorted shares, pieces, put together
