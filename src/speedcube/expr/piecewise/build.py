"""What users make of pieces of one array: rolls and pads, checked, as nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, product
from operator import mul
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from ...errors import ShapeError
from ..nodes import (
    Const,
    Expr,
    Leaf,
    Piece,
    Piecewise,
    Shape,
    c_strides,
    const,
    countable,
    whole,
)
from ..pairs.node import interleaved, is_pair, of_pairs_in, of_parts, parts
from ..pairs.node import pair as pair_of

Pairs: TypeAlias = Sequence[tuple[int, int]]  # for each axis, what goes before and behind


class Stretch(NamedTuple):
    """``length`` indices of an axis that read ``start``, ``start + step`` ... of another."""

    length: int
    start: int
    step: int


def rolled(root: Expr, shifts: dict[int, int], options: str) -> Expr:
    """``root`` moved round by ``shifts``, a number of places for each axis that moves."""
    return _stretched(root, _moved(root.shape, tuple(shifts.items())), ("roll", (root,), options))


@lru_cache(maxsize=1024)
def _moved(shape: Shape, shifts: Pairs) -> tuple[tuple[Stretch, ...], ...]:
    """The stretches of the axes that move, each ``(axis, shift)`` of ``shifts``, and of others."""
    axes: list[tuple[Stretch, ...]] = [(Stretch(n, 0, 1),) for n in shape]
    for k, shift in shifts:
        extent = shape[k]
        at = shift % extent if extent else 0
        if at:
            axes[k] = (Stretch(at, extent - at, 1), Stretch(extent - at, 0, 1))
    return tuple(axes)


MODES: Final = ("wrap", "reflect", "symmetric", "edge")


def padded(root: Expr, mode: str, pads: Pairs, options: str) -> Expr:
    """``root`` with elements of its own round it; ``mode`` is one of `MODES`."""
    countable(tuple(n + sum(pair) for n, pair in zip(root.shape, pads, strict=True)))
    axes = []
    for k, (n, pair) in enumerate(zip(root.shape, pads, strict=True)):
        if any(pair) and not n:
            raise ShapeError(
                f"pad: axis {k} is empty, so mode={mode!r} has no elements to repeat; "
                "mode='constant' needs none"
            )
        axes.append(tuple(_around(mode, n, *pair)) if any(pair) else (Stretch(n, 0, 1),))
    return _stretched(root, tuple(axes), ("pad", (root,), options))


def _around(mode: str, n: int, before: int, after: int) -> list[Stretch]:
    """The stretches along an axis of ``n`` elements."""
    if mode == "edge" or (mode == "reflect" and n == 1):
        stretches = [Stretch(before, 0, 0), Stretch(n, 0, 1), Stretch(after, n - 1, 0)]
    else:
        period = n - 1 if mode == "reflect" else n
        stretches = [
            *_turns(mode, n, period, -before, 0),
            Stretch(n, 0, 1),
            *_turns(mode, n, period, n, n + after),
        ]
    return [one for one in stretches if one.length]


def _turns(mode: str, n: int, period: int, first: int, end: int) -> list[Stretch]:
    """The stretches for indices ``first`` to ``end``, which turn round at each ``period``."""
    stretches = []
    while first < end:
        turn, place = divmod(first, period)
        length = min(end - first, period - place)
        if mode == "wrap" or turn % 2 == 0:
            stretches.append(Stretch(length, place, 1))
        else:
            stretches.append(Stretch(length, n - 1 - place, -1))
        first += length
    return stretches


class _Box(NamedTuple):
    """A box of an array: it begins ``at``, and along axis k reads ``starts[k]``, then by steps."""

    at: Shape
    shape: Shape
    starts: tuple[int, ...]
    steps: tuple[int, ...]


def _boxes(axes: tuple[tuple[Stretch, ...], ...]) -> tuple[Shape, tuple[_Box, ...]]:
    """The shape of what reads stretch after stretch along each axis, and its boxes."""
    begins = [list(accumulate((one.length for one in s), initial=0)) for s in axes]
    found = []
    for numbers in product(*(range(len(stretches)) for stretches in axes)):
        chosen = [stretches[k] for stretches, k in zip(axes, numbers, strict=True)]
        at = tuple(begin[k] for begin, k in zip(begins, numbers, strict=True))
        lengths, starts, steps = zip(*chosen, strict=True)
        found.append(_Box(at, lengths, starts, steps))
    return tuple(begin[-1] for begin in begins), tuple(found)


def _stretched(
    root: Expr, axes: tuple[tuple[Stretch, ...], ...], call: tuple[str, tuple[Expr, ...], str]
) -> Expr:
    """``root`` read along each axis stretch after stretch."""
    if is_pair(root):
        laid = interleaved(root)
        if laid is not None:
            both = (Stretch(2, 0, 1),)
            return of_pairs_in(_stretched(laid, (*axes, both), (call[0], (laid,), call[2])))
        return of_parts(lambda part: _stretched(part, axes, (call[0], (part,), call[2])), root)
    leaf = root if isinstance(root, Leaf) else whole(root, root.shape)
    read = _read(axes, leaf.shape, leaf.strides)
    if read.shape is None:
        return root
    if 0 in read.shape:
        return const(0, root.dtype, read.shape)
    source, first = leaf.source, leaf.offset
    pieces = tuple(
        [
            Piece(at, root if steps is None else Leaf(source, shape, first + start, steps))
            for at, shape, start, steps in read.boxes
        ]
    )
    return Leaf(Piecewise(read.shape, root.dtype, pieces, call), read.shape, 0, read.strides)


class _Read(NamedTuple):
    """A shape (None: all stays as it is), C order over it, and what its boxes read.

    A box begins somewhere, has a shape, and reads from a position on, by steps (None: all).
    """

    shape: Shape | None
    strides: tuple[int, ...]
    boxes: tuple[tuple[Shape, Shape, int, tuple[int, ...] | None], ...]


@lru_cache(maxsize=1024)
def _read(axes: tuple[tuple[Stretch, ...], ...], extents: Shape, strides: tuple[int, ...]) -> _Read:
    """What reads stretch after stretch along each axis of an array that lies in ``strides``."""
    if all(len(stretches) == 1 for stretches in axes):
        shape = tuple(one.length for (one,) in axes)
        return _Read(shape if 0 in shape else None, (), ())
    shape, boxes = _boxes(axes)
    found: list[tuple[Shape, Shape, int, tuple[int, ...] | None]] = []
    for box in boxes:
        if box.shape == extents and not any(box.starts) and all(n == 1 for n in box.steps):
            found.append((box.at, box.shape, 0, None))
        else:
            steps = tuple(map(mul, strides, box.steps))
            found.append((box.at, box.shape, sum(map(mul, strides, box.starts)), steps))
    return _Read(countable(shape), c_strides(shape), tuple(found))


def surrounded(root: Expr, values: Sequence[Sequence[Any]], pads: Pairs, options: str) -> Expr:
    """``root`` with constants round it: ``values`` before and behind it along each axis.

    A corner has the value of the last axis, as in NumPy. Where all are the same, pieces are as long
    as they can be along the last axis.
    """
    if is_pair(root):
        numbers = np.array(values, complex)
        laid = interleaved(root)
        if laid is not None and not numbers.any() and not np.signbit(numbers.view(float)).any():
            zeros = [(0.0, 0.0)] * (len(pads) + 1)
            return of_pairs_in(surrounded(laid, zeros, (*pads, (0, 0)), options))
        ends = zip(parts(root), (numbers.real, numbers.imag), strict=True)
        return pair_of(*(surrounded(part, of.tolist(), pads, options) for part, of in ends))
    same = len({repr(value) for pair in values for value in pair}) == 1
    outer, inner, sides = _round(root.shape, tuple([(a, b) for a, b in pads]), same)
    if outer == root.shape:
        return root
    if 0 in outer:
        return const(0, root.dtype, outer)
    pieces = [Piece(inner, root)] if math.prod(root.shape) else []
    for axis, end, at, shape in sides:
        value = Const(values[axis][end], root.dtype)
        pieces.append(Piece(at, Leaf(value, shape, 0, (0,) * len(shape))))
    if len(pieces) == 1:
        return pieces[0].expr
    source = Piecewise(outer, root.dtype, tuple(pieces), ("pad", (root,), options))
    return whole(source, outer)


class _Side(NamedTuple):
    """The box ``at`` one ``end`` of an axis: before (0) or behind (1) what has been."""

    axis: int
    end: int
    at: Shape
    shape: Shape


@lru_cache(maxsize=1024)
def _round(inner: Shape, pads: Pairs, same: bool) -> tuple[Shape, Shape, tuple[_Side, ...]]:
    """The shape of ``inner`` with ``pads`` round it, where it begins in that, and the others."""
    outer = countable(tuple([n + a + b for n, (a, b) in zip(inner, pads, strict=True)]))
    order = range(len(outer))
    starts, extents = [before for before, _ in pads], list(inner)
    first, sides = tuple(starts), list[_Side]()
    for k in reversed(order) if same else order:  # each axis covers those that have been
        for end, begin, length in ((0, 0, pads[k][0]), (1, pads[k][0] + inner[k], pads[k][1])):
            at = (*starts[:k], begin, *starts[k + 1 :])
            shape = (*extents[:k], length, *extents[k + 1 :])
            if math.prod(shape):
                sides.append(_Side(k, end, at, shape))
        starts[k], extents[k] = 0, outer[k]
    return outer, first, tuple(sides)
