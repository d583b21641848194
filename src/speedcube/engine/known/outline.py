"""What two programs must have in common so that one plan, with its kernels, serves both.

An outline is a whole graph, with the reductions and scans in it, without what changes from one step
of a loop to the next: the data, the numbers, the keys of random sources. Which of them are the same
counts: ``a + a`` is not ``a + b``. So do shapes, and where in its source a view begins.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import field
from operator import lt
from typing import Any, Final, TypeAlias

import numpy as np

from ... import dtypes
from ...dataclass import dataclass
from ...expr.nodes import (
    Const,
    Leaf,
    Map,
    Node,
    Piecewise,
    Position,
    Random,
    Reduced,
    Scanned,
    Source,
    Staged,
    Stored,
    Through,
    Tiled,
)
from ...plan import streams

MOST_NODES: Final = 1 << 14  # of a program that is remembered
_NODES: Final = frozenset((Map, Leaf, Reduced, Scanned, Through, Piecewise))
Key: TypeAlias = Hashable


class NoOutlineError(Exception):
    """What is planned each time: it never leaves this folder."""


class Hashed:
    """A long key whose hash is worked out once."""

    __slots__ = ("key", "number")

    def __init__(self, key: Key) -> None:
        self.key, self.number = key, hash(key)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashed) and self.key == other.key


@dataclass(eq=False, slots=True)
class Outline:
    """``key``, and in the order of their numbers in it the different sources it leaves out.

    ``values`` tells constants apart that the key does not. ``nodes`` are those of the program, each
    after what it needs; ``roots`` says which of them are asked for.
    """

    nodes: list[Node] = field(default_factory=list)
    roots: tuple[int, ...] = ()
    key: Key = None
    data: list[Stored] = field(default_factory=list)
    constants: list[Const] = field(default_factory=list)
    random: list[Random] = field(default_factory=list)
    values: list[Key] = field(default_factory=list)
    numbers: dict[Key, int] = field(default_factory=dict)  # of sources
    _hashed: Hashed | None = None

    def hashed(self) -> Hashed:
        """``key``, once it is there."""
        if self._hashed is None:
            self._hashed = Hashed(self.key)
        return self._hashed

    def source(self, source: Source) -> tuple[Key, ...]:
        """What of ``source`` is in the key."""
        kind = type(source)
        if kind is Stored:
            return self._stored(source)  # type: ignore[arg-type]
        if kind is Const:
            return self._constant(source)  # type: ignore[arg-type]
        if kind is Random:
            return self._random(source)  # type: ignore[arg-type]
        if kind is Position:
            return ("position", source.dtype)
        if kind is Tiled:
            return self._tiled(source)  # type: ignore[arg-type]
        raise NoOutlineError

    def number_of(self, source: Source) -> int:
        """Which one of its kind ``source`` is."""
        return self.numbers[_identity(source)]

    def _stored(self, source: Stored) -> tuple[Key, ...]:
        name = id(source)
        if name not in self.numbers:
            if not isinstance(source.buffer, np.ndarray) and not source.on_device:
                raise NoOutlineError
            self.numbers[name] = len(self.data)
            self.data.append(source)
        return (self.numbers[name], source.dtype, source.on_device)

    def _tiled(self, source: Tiled) -> tuple[Key, ...]:
        """A small one as data in memory: to plan for boxes of it takes longer than to read it.

        A chunk of it: of others, some may be asked for and some not be there.
        """
        name = id(source)
        if name not in self.numbers:
            size = math.prod(source.shape) * dtypes.itemsize(source.dtype)
            if size > streams.BLOCK // 8 or any(map(lt, source.tiles.chunks, source.shape)):
                raise NoOutlineError
            self.numbers[name] = len(self.data)
            self.data.append(Stored(source.everything().reshape(-1), source.dtype))
        return (self.numbers[name], source.dtype, False)

    def _constant(self, source: Const) -> tuple[Key, ...]:
        name = _identity(source)
        if name not in self.numbers:
            self.numbers[name] = len(self.constants)
            self.constants.append(source)
            self.values.append(name)
        return ("constant", self.numbers[name], source.dtype)

    def _random(self, source: Random) -> tuple[Key, ...]:
        name = _identity(source)
        if name not in self.numbers:
            self.numbers[name] = len(self.random)
            self.random.append(source)
        what = source.distribution, source.dtype, repr(source.parameters)
        return ("random", self.numbers[name], *what)


def _identity(source: Any) -> Key:
    """What tells ``source`` from others: 0.0 is not -0.0 here, nor 1 True."""
    if isinstance(source, Const):
        return source.dtype, type(source.value), repr(source.value)
    return id(source)


def outline_of(roots: Sequence[Node], memory: int) -> Outline:
    """The outline of ``roots``.

    `NoOutlineError` for what Dask has to compute first, for programs that are too long, and for
    those with an array of more than ``memory`` bytes: how they are cut depends on what is free.
    """
    found = Outline()
    nodes = found.nodes
    entries: list[Key] = []
    places: dict[int, int] = {}
    place_of = places.get
    stack: list[Any] = [*roots]
    while stack:
        node = stack[-1]  # it waits here for what it needs
        kind = type(node)
        entry: Key
        if kind is Map:
            there = [place_of(id(arg)) for arg in node.args]
            if None in there:
                stack += [arg for arg in node.args if id(arg) not in places]
                continue
            entry = (node.op, node.dtype, *there)
        elif kind is Leaf:
            source = node.source
            what: Key = place_of(id(source))
            if what is None:
                if type(source) in _NODES:
                    stack.append(source)
                    continue
                what = found.source(source)
            entry = (what, node.shape, node.offset, node.strides)
        elif kind is Piecewise:
            missing = [piece.expr for piece in node.pieces if id(piece.expr) not in places]
            if missing:
                stack += missing
                continue
            where = [(piece.at, places[id(piece.expr)]) for piece in node.pieces]
            entry = ("pieces", node.shape, node.dtype, *where)
        else:
            if id(node.arg) not in places:
                stack.append(node.arg)
                continue
            entry = _staged(node, places[id(node.arg)])
        stack.pop()
        if id(node) not in places:
            places[id(node)] = len(nodes)
            nodes.append(node)
            entries.append(entry)
            if len(nodes) > MOST_NODES:
                raise NoOutlineError
    maps = {(id(node.shape), node.dtype): node for node in nodes if type(node) is Map}
    if any(math.prod(n.shape) * dtypes.itemsize(n.dtype) > memory for n in maps.values()):
        raise NoOutlineError
    found.roots = tuple(places[id(root)] for root in roots)
    found.key = (found.roots, *entries)
    return found


def _staged(node: Staged, arg: int) -> Key:
    if isinstance(node, Through):
        return "through", node.op, arg, node.shape, node.dtype, node.options, node.axis
    if isinstance(node, Reduced):
        return node.op, arg, node.axes, node.keepdims, node.dtype, node.ddof
    return node.op, arg, node.dtype, node.lines, node.initial, node.odd, node.inner
