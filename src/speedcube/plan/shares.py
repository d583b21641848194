"""Sorting, selecting and counting cut for workers that share no memory.

Lines are dealt out to workers. One long line is cut into shares. What is counted or selected takes
rounds: each worker answers a question about its share, and the answers make the next question. A
sort has one exchange: each worker sorts its share and gives every other one the values that it is
to put together.

What is selected is found by asking about all elements, most often once: a sample says between
which two values the wanted ones lie. Where many are nearly alike they are asked about again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from .. import dtypes
from ..expr import views
from ..expr.nodes import Expr, Leaf, Map, Reduced, Scanned, Staged
from ..expr.push import push
from ..expr.through.node import Through
from ..expr.through.table import OPERATIONS
from . import costs
from .stages import Part, Stage, sliced
from .streams import tiled

LEAST: Final = 1 << 20  # elements below which a second worker costs more than it brings
KEY_BITS: Final = 16  # of an element's key, found in one round
ASKED_AGAIN: Final = frozenset(("selection", "partition"))
DEAR: Final = 4.0  # times what keeping takes: of one pass it is a quarter

# How often workers are asked about their shares of one line, by the way that it is made.
ROUNDS: Final[dict[str, Callable[[Through], int]]] = {
    "counts": lambda source: 1,
    "sums of weights": lambda source: 2,  # the greatest weight, the sums
    "selection": lambda source: _to_select(np.dtype(source.arg.dtype)),
    "partition": lambda source: _to_select(np.dtype(source.arg.dtype)) + 1,  # and the parts
    "scatter": lambda source: 1,
    "sums of groups": lambda source: 2,  # nearly exact sums; those that are not certain, exactly
    "foremost of groups": lambda source: 1,
    "numbers of groups": lambda source: 1,
}


def _to_select(dtype: np.dtype[np.generic]) -> int:
    """A sample, what is between two values of it, the bits of keys, the sign of a zero."""
    return 2 + -(-8 * dtype.itemsize // KEY_BITS) + 2 * (dtype.kind == "f")


def rounds(source: Through) -> int:
    """How often the workers are asked about their shares."""
    return ROUNDS[OPERATIONS[source.op].way](source)


def is_asked_again(source: Staged, root: Expr, workers: int) -> bool:
    """Whether to keep the elements ``root`` of the one line that ``source`` selects from.

    Or that it adds up on the way, which ``workers`` who share lines, and their memory, do twice.
    What is read from a file a box at a time is not kept: its memory has a bound of its own.
    """
    if isinstance(root, Leaf) or isinstance(source, Reduced) or not source.count:
        return False
    size, itemsize = math.prod(root.shape), dtypes.itemsize(root.dtype)
    if isinstance(source, Scanned):
        again = workers // max(1, size // source.count) > 1
    else:
        again = source.line == source.count and OPERATIONS[source.op].way in ASKED_AGAIN
    if not again or tiled(root):
        return False
    keeping = costs.of_keeping(size, itemsize, size)
    return size * costs.of_element(root) > DEAR * keeping


def shared_out(stage: Stage, workers: int) -> Stage:
    """``stage``, which makes a `Through`, with a part for each of ``workers``."""
    source, root = stage.source, stage.root
    assert isinstance(source, Through)
    if workers < 2 or math.prod(root.shape) < max(LEAST, workers * KEY_BITS):
        return stage
    row = OPERATIONS.get(source.op)
    if row is None:  # a library's routine
        return stage
    cut = {"lines": _lines, "groups": _groups}.get(row.of)
    made = cut(source, root, row.line, workers) if cut else None
    return stage if made is None else replace(made, result=stage.result, why=stage.why)


def _lines(source: Through, root: Expr, line: str, workers: int) -> Stage | None:
    """Lines dealt out, or the one line cut as ``line`` says."""
    join = "concatenate" if source.line != source.count else line
    if join == "one":
        return None
    axes = {"rounds": len(root.shape), "exchange": 1}.get(join, len(root.shape) - 1)
    axis = next((k for k in range(axes) if root.shape[k] >= workers), None)
    return None if axis is None else sliced(root, source, (), (), workers, axis, join)


def _groups(source: Through, root: Expr, line: str, workers: int) -> Stage | None:
    """Lines or columns dealt out beside all numbers of groups; else lines cut with the numbers."""
    _, x = _arguments(root)
    along = 0 if source.options[1] else 1  # the axis of groups
    others = 1 - along
    if x.shape[others] >= workers:
        return _beside(source, root, others, workers, "concatenate")
    if line == "one" or along == 0 or x.shape[along] < workers:
        return None
    return _beside(source, root, along, workers, line)


def _beside(source: Through, root: Expr, axis: int, workers: int, join: str) -> Stage:
    """Elements cut along ``axis``, and the numbers of their groups where they lie along it."""
    codes, x = _arguments(root)
    cut = sliced(x, source, (), (), workers, axis, join)
    parts = []
    for part in cut.parts:
        own = (slice(part.start, part.stop),)
        numbers = codes if join == "concatenate" else push(codes, views.indexed(codes.shape, own))
        both = Map("several", (numbers, part.root), part.root.shape, x.dtype)
        parts.append(replace(part, root=both))
    return replace(cut, root=root, parts=tuple(parts))


def _arguments(root: Expr) -> tuple[Expr, ...]:
    assert isinstance(root, Map)
    return root.args


def of_part(source: Through, part: Part) -> Through:
    """What ``part``, some of the lines, makes of ``source``."""
    shape = list(source.shape)
    assert part.axis is not None
    shape[result_axis(source, part.axis)] = part.stop - part.start
    return replace(source, arg=part.root, shape=tuple(shape))


def result_axis(source: Through, axis: int) -> int:
    """The axis of what ``source`` makes that ``axis`` of its lines becomes."""
    if OPERATIONS[source.op].of == "groups":
        return axis
    return axis + (axis >= source.axis % len(source.shape))


def moved(stage: Stage) -> int:
    """Bytes that go from one worker to another in an exchange, of elements that lie evenly."""
    parts = len(stage.parts)
    return _exchanged(stage) * (parts - 1) // parts


def held_twice(stage: Stage) -> int:
    """Bytes of a worker for what it exchanges: what it has, what others gave it, and copies."""
    return -(-3 * _exchanged(stage) // len(stage.parts)) if stage.join == "exchange" else 0


def _exchanged(stage: Stage) -> int:
    """Bytes of the elements of ``stage``, which are exchanged, and of their places."""
    source = stage.source
    assert isinstance(source, Through)
    return source.count * (dtypes.itemsize(source.arg.dtype) + 8 * (source.op == "argsort"))


def tasks(stage: Stage) -> int:
    """How many tasks ``stage`` is, whose parts are shares of one line."""
    assert isinstance(stage.source, Through)
    parts = len(stage.parts)
    if stage.join == "rounds":
        return rounds(stage.source) * (parts + 1)
    return parts * (parts + 3) + 2  # samples, where to cut, sorted shares, pieces, put together
