"""Values that are kept in a block of a program, and used again wherever the same is asked for.

Two expressions are the same if they do the same with the same sources: each node has a number, by
its operation and the numbers of its arguments. A stored source is known by its place in memory.
"""

from __future__ import annotations

import math
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field, fields, replace
from itertools import count
from typing import Any

import numpy as np

from ... import dtypes
from ...dataclass import dataclass
from ...expr.graph import below, children
from ...expr.nodes import (
    STAGED,
    Deferred,
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Source,
    Stored,
    Tiled,
    is_whole,
    whole,
)


@dataclass(eq=False, repr=False)
class Kept:
    """The values of a block, at most ``limit`` bytes of them."""

    limit: int
    used: int = 0  # how often a value was used again
    _values: OrderedDict[int, Any] = field(default_factory=OrderedDict)
    _numbers: dict[object, int] = field(default_factory=dict)
    _held: int = 0  # bytes
    # By their place: who owns the memory, and a number of its own. Data are not kept alive: another
    # owner of the same place has another number.
    _owners: dict[object, tuple[Any, int]] = field(default_factory=dict)
    _serial: Iterator[int] = field(default_factory=count)

    @property
    def nbytes(self) -> int:
        """Bytes that are kept."""
        return self._held

    def __repr__(self) -> str:
        return (
            f"{len(self._values):,} values, {self.nbytes:,} of {self.limit:,} bytes; "
            f"used again {self.used:,} times"
        )

    def values(
        self, roots: Sequence[Expr], compute: Callable[[Sequence[Expr]], list[Any]]
    ) -> list[Any]:
        """The values of ``roots``; ``compute`` is asked for those that are not kept.

        It gives reductions and scans on the way to them, too.
        """
        nodes = below(*roots)
        numbers = self._numbered(nodes)
        kept = {id(n): numbers[id(n)] for n in nodes if numbers[id(n)] in self._values}
        missing = [root for root in roots if id(root) not in kept]
        made = dict[int, Any]()
        if missing:
            values = self._made(missing, kept, numbers, compute)
            made = {id(root): value for root, value in zip(missing, values, strict=True)}
        return [
            made[id(root)] if id(root) in made else self._again(kept[id(root)]).copy()[()]
            for root in roots
        ]

    def _made(
        self,
        missing: Sequence[Expr],
        kept: Mapping[int, int],
        numbers: Mapping[int, int],
        compute: Callable[[Sequence[Expr]], list[Any]],
    ) -> list[Any]:
        """The values of ``missing``, computed from what is ``kept``."""
        new = self._with_values(_needed(below(*missing), kept, missing), kept)
        asked = {numbers[id(root)]: new[id(root)] for root in missing}
        parts = {
            numbers[number]: whole(node, node.shape)
            for number, node in new.items()
            if isinstance(node, STAGED) and numbers[number] not in asked
        }
        if sum(map(_bytes, parts.values())) <= self.limit:
            asked |= parts
        values = dict(zip(asked, compute([*asked.values()]), strict=True))
        for number, value in values.items():
            self._keep(number, np.array(value))
        first = dict.fromkeys(values, True)
        return [_own(values[numbers[id(root)]], first, numbers[id(root)]) for root in missing]

    def _with_values(self, nodes: Sequence[Node], kept: Mapping[int, int]) -> dict[int, Any]:
        """``nodes`` by their ids, each reading what is ``kept`` of those below."""
        new: dict[int, Any] = {}
        for node in nodes:
            if id(node) in kept:
                source = Stored(self._again(kept[id(node)]).reshape(-1), node.dtype)
                is_expr = isinstance(node, (Leaf, Map))
                new[id(node)] = whole(source, node.shape) if is_expr else source
            elif isinstance(node, Map):
                args = tuple(new[id(arg)] for arg in node.args)
                new[id(node)] = Map(node.op, args, node.shape, node.dtype)
            elif isinstance(node, Leaf):
                below_it = new.get(id(node.source), node.source)
                new[id(node)] = Leaf(below_it, node.shape, node.offset, node.strides)
            elif isinstance(node, Piecewise):
                pieces = (replace(piece, expr=new[id(piece.expr)]) for piece in node.pieces)
                new[id(node)] = replace(node, boxes=tuple(pieces))
            else:
                new[id(node)] = replace(node, arg=new[id(node.arg)])
        return new

    def _again(self, number: int) -> Any:
        """A value that is used again."""
        self.used += 1
        self._values.move_to_end(number)
        return self._values[number]

    def _keep(self, number: int, value: Any) -> None:
        if value.nbytes > self.limit:
            return
        before = self._values.pop(number, None)
        self._values[number] = value
        self._held += value.nbytes - (0 if before is None else before.nbytes)
        while self._held > self.limit:
            self._held -= self._values.popitem(last=False)[1].nbytes

    def written(self, buffer: Any) -> None:
        """``buffer`` has other elements from now on: nothing made of it is used again."""
        owner = _owner(buffer)
        for place in [place for place, (one, _) in self._owners.items() if one() is owner]:
            del self._owners[place]

    def clear(self) -> None:
        """Keep nothing any more."""
        self._values.clear()
        self._numbers.clear()
        self._owners.clear()
        self._held = 0

    def _numbered(self, nodes: Sequence[Node]) -> dict[int, int]:
        """A number for each of ``nodes`` by its id; equal ones have the same."""
        found: dict[int, int] = {}
        for node in nodes:
            if isinstance(node, Leaf) and _is_all(node):
                found[id(node)] = found[id(node.source)]
                continue
            found[id(node)] = self._numbers.setdefault(self._key(node, found), len(self._numbers))
        return found

    def _key(self, node: Node, found: Mapping[int, int]) -> object:
        if isinstance(node, Map):
            return node.op, tuple(found[id(arg)] for arg in node.args), node.shape, node.dtype
        if isinstance(node, Leaf):
            return self._source(node.source, found), node.shape, node.offset, node.strides
        if isinstance(node, Piecewise):
            pieces = ((piece.at, found[id(piece.expr)]) for piece in node.pieces)
            return node.shape, node.dtype, *pieces
        others = (getattr(node, one.name) for one in fields(node) if one.name != "arg")
        return type(node), found[id(node.arg)], *others

    def _source(self, source: Source, found: Mapping[int, int]) -> object:
        if id(source) in found:
            return found[id(source)]
        if isinstance(source, Stored):
            return self._owned(_owner(source.buffer), _place(source.buffer))
        if isinstance(source, (Deferred, Tiled)):
            return self._owned(source, id(source))
        return repr(source)  # which tells 0.0 from -0.0, and 1 from True

    def _owned(self, owner: Any, place: object) -> object:
        """What nothing else has that is, was or will be at ``place``."""
        known, number = self._owners.get(place, (None, 0))
        if known is None or known() is not owner:
            number = next(self._serial)
            self._owners[place] = weakref.ref(owner), number
        return place, number


def _owner(buffer: Any) -> Any:
    """The array that has the memory of ``buffer``, as far as arrays go."""
    while isinstance(buffer.base, type(buffer)):
        buffer = buffer.base
    return buffer


def _place(buffer: Any) -> object:
    """Where ``buffer`` lies, and how it is laid out."""
    on_device = hasattr(buffer, "__cuda_array_interface__")
    where = buffer.__cuda_array_interface__ if on_device else buffer.__array_interface__
    return on_device, where["data"][0], buffer.shape, buffer.strides, where["typestr"]


def _is_all(leaf: Leaf) -> bool:
    """Whether ``leaf`` is a reduction or a scan as it is."""
    source = leaf.source
    staged = isinstance(source, STAGED) and leaf.shape == source.shape
    return staged and is_whole(leaf)


def _bytes(part: Leaf) -> int:
    return math.prod(part.shape) * dtypes.itemsize(part.dtype)


def _needed(nodes: Sequence[Node], kept: Mapping[int, int], roots: Sequence[Node]) -> list[Node]:
    """Those of ``nodes`` that ``roots`` need, but for what only what is ``kept`` does."""
    wanted = {id(root) for root in roots}
    found = []
    for node in reversed(nodes):
        if id(node) in wanted:
            found.append(node)
            if id(node) not in kept:
                wanted.update(id(child) for child in children(node))
    return found[::-1]


def _own(value: Any, first: dict[int, bool], number: int) -> Any:
    """``value``, for another who asks for it a copy."""
    is_first, first[number] = first[number], False
    return value if is_first else value.copy()


_active: ContextVar[Kept | None] = ContextVar("kept", default=None)


active = _active.get  # what keeps values here; None outside of such a block


@contextmanager
def keeping(limit: int) -> Iterator[Kept]:
    """A block that keeps values of at most ``limit`` bytes."""
    kept = Kept(limit)
    token = _active.set(kept)
    try:
        yield kept
    finally:
        _active.reset(token)
        kept.clear()
