"""A few operations or one reduction of arrays in memory, met again: its kernel at once.

What such a computation looks like is told by the names of its operations, and of each array its
dtype and strides, in the order in which they are met. That is a key of its own, beside those of
`structure`, which cost several times as much to find.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeAlias, TypeVar

import numpy as np

from ...expr.graph import is_short
from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Piecewise,
    Position,
    Random,
    Reduced,
    Scanned,
    Stored,
    Through,
    c_strides,
)
from ...kernel.lower.many import LONG_LINE
from ...kernel.math.positions import SEGMENT
from ..stepwise.number import number_of
from .first import NUMBER, flat, results_read
from .lengths import PACKED
from .structure import Structure

MOST: Final = 512  # that are remembered; the oldest is forgotten
MOST_NODES: Final = 64  # of one that is looked for
_FIRST: Final = 24  # of which some tell that none is found
Known = TypeVar("Known")
Made: TypeAlias = Callable[[Expr], Any]


class Met(Generic[Known]):
    """What is known of such computations, by their key."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Known] = {}
        self.get = self._known.get
        self.clear = self._known.clear

    def note(self, key: Hashable, known: Known) -> None:
        """Remember ``known`` for ``key``."""
        while len(self._known) >= MOST:
            self._known.pop(next(iter(self._known)), None)
        self._known[key] = known


def few_structure(root: Expr) -> Structure | None:
    """The structure of ``root`` with such a key; None where it cannot be told by a few words.

    ``line``: the key holds for other lengths, too. Of reductions that it ``reads``, and of numbers
    that a few operations give, the key says what arrays of them would say (`with_arrays`).
    """
    inner: Expr = root
    reduced: Reduced | None = None
    if type(root) is Leaf and type(root.source) is Reduced:
        reduced = root.source
        if root.offset or root.shape != reduced.shape or root.strides != c_strides(root.shape):
            return None
        inner = reduced.arg
    shape = inner.shape
    size, steps = math.prod(shape), c_strides(shape)
    key: list[Any] = []
    places: dict[int, int] = {}
    found = Structure((), inner, size, reduced, False, [], [], [], 1)
    straight = True  # arrays lie in C order and are taken whole
    stack: list[Expr] = [inner]
    while stack:
        node = stack.pop()
        count = len(places)
        place = places.setdefault(id(node), count)
        if place != count:  # met before
            key.append(place)
        elif type(node) is Map:
            if count >= MOST_NODES:
                return None
            args = node.args
            key += (node.op, node.dtype, len(args))
            stack += args[::-1]
        else:
            leaf: Any = node
            source, strides = leaf.source, leaf.strides
            kind = type(source)
            if kind is Const:
                if not _tell(source, key, found.constants):
                    return None
                continue
            if kind is Stored:
                if type(source.buffer) is not np.ndarray:
                    if not source.on_device:
                        return None
                    found.on_device += 1
                key += ("array", source.dtype, strides)
                found.data.append(leaf)
            elif kind is Random:
                key += ("random", source.distribution, source.dtype, repr(source.parameters))
                key += (leaf.offset, strides)
                found.random.append(source)
            elif kind is Position:
                key += ("position", leaf.offset, strides)
                straight = False  # its range follows from its length
                continue
            elif kind is Reduced:
                if source.op == "prod":
                    return None
                key += ("array", source.dtype, strides)
                found.data.append(leaf)
                found.reads = max(found.reads, size, math.prod(source.arg.shape))
            elif kind is Map and not source.shape and is_short(source, NUMBER):
                key += ("array", source.dtype, strides)
                found.data.append(leaf)
                found.reads = max(found.reads, size)
                found.numbers += 1
            elif kind is Map and (read := results_read(source)):
                key += ("array", source.dtype, strides)
                found.data.append(leaf)
                found.reads = max(found.reads, size, read)
                found.numbers += 1
            else:
                return None
            straight = straight and (strides == steps or (kind is not Random and not any(strides)))
    line = straight and 1 < size < LONG_LINE
    if reduced is not None:
        axes = reduced.axes
        line = line and len(axes) == len(shape)
        key += (reduced.op, reduced.dtype, reduced.ddof, None if line else axes)
    key.append((len(found.random) > 0 and size > SEGMENT) if line else shape)
    found.key, found.line = tuple(key), line
    return found


_APART: Final = frozenset((Through, Scanned, Piecewise))


def reads_apart(root: Expr) -> bool:
    """Whether one of the first nodes is of what is made before: no call of a kernel has all of it.

    So what is sorted, scanned or put together is not looked at as a structure each time.
    """
    stack: list[Any] = [root]
    for _ in range(_FIRST):
        if not stack:
            return False
        node = stack.pop()
        if type(node) is Map:
            stack += node.args
            continue
        source = node.source
        kind = type(source)
        if kind in _APART:
            return True
        if kind is Reduced:
            stack.append(source.arg)
        elif kind is Map or kind is Leaf:
            stack.append(source)
    return False


def with_arrays(found: Structure, made: Made) -> bool:
    """Put arrays in the places of the reductions and numbers that ``found`` reads.

    Each is ``made`` once. False where one of them is left to others.
    """
    results: dict[int, Stored] = {}
    for k, leaf in enumerate(found.data):
        source = leaf.source
        if type(source) is not Stored:
            array = results.get(id(source))
            if array is None:
                value = _made_of(source, made)
                if value is None:
                    return False
                array = results[id(source)] = Stored(flat(value), source.dtype)
            found.data[k] = Leaf(array, leaf.shape, leaf.offset, leaf.strides)
    found.reads = 0
    return True


def _made_of(source: Any, made: Made) -> Any:
    """The values of a reduction, or what operations on others give."""
    if type(source) is Reduced:
        return made(Leaf(source, source.shape, 0, c_strides(source.shape)))
    if source.shape:
        return made(source)
    number = number_of(source, made)
    return None if number is None else np.asarray(number, source.dtype)


def _tell(constant: Const, key: list[Any], constants: list[Const]) -> bool:
    """Add the words of ``constant``; whether there are any.

    It and an array that is repeated may have the same strides: none, or zeros.
    """
    if constant.dtype in PACKED:
        key += ("number", constant.dtype)
        constants.append(constant)
        return True
    value = constant.value
    key += ("one", constant.dtype, type(value), value)
    return type(value) is not float  # 0.0 and -0.0 are equal
