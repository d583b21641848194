"""Values that are kept in a block of a program, and used again wherever the same is asked for.

Two expressions are the same if they do the same with the same sources: each node has a number, by
its operation and the numbers of its arguments. A stored source is known by its place in memory.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from ... import dtypes
from ...expr.graph import below
from ...expr.nodes import (
    Deferred,
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Reduced,
    Scanned,
    Source,
    Staged,
    Stored,
    whole,
)


@dataclass(eq=False, repr=False)
class Kept:
    """The values of a block, at most ``limit`` bytes of them."""

    limit: int
    used: int = 0  # how often a value was used again
    _values: OrderedDict[int, Any] = field(default_factory=OrderedDict)
    _numbers: dict[object, int] = field(default_factory=dict)
    _sources: dict[object, Any] = field(
        default_factory=dict
    )  # alive, so that no other has their ids

    @property
    def nbytes(self) -> int:
        """Bytes that are kept."""
        return sum(value.nbytes for value in self._values.values())

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
        kept = {id(n): self._used(numbers[id(n)]) for n in nodes if numbers[id(n)] in self._values}
        given = {id(root): kept[id(root)].copy()[()] for root in roots if id(root) in kept}
        missing = [root for root in roots if id(root) not in kept]
        if missing:
            for root, value in zip(
                missing, self._made(missing, kept, numbers, compute), strict=True
            ):
                given[id(root)] = value
        return [given[id(root)] for root in roots]

    def _made(
        self,
        missing: Sequence[Expr],
        kept: Mapping[int, Any],
        numbers: Mapping[int, int],
        compute: Callable[[Sequence[Expr]], list[Any]],
    ) -> list[Any]:
        """The values of ``missing``, computed from what is ``kept``."""
        new = _with_values(below(*missing), kept)
        needed = below(*(new[id(root)] for root in missing))
        back = {id(made): numbers[number] for number, made in new.items()}
        parts = [n for n in needed if isinstance(n, (Reduced, Scanned))]
        if sum(_bytes(part) for part in parts) > self.limit:
            parts = []
        asked = [new[id(root)] for root in missing] + [whole(part, part.shape) for part in parts]
        values = compute(asked)
        for number, value in zip(
            [*(numbers[id(root)] for root in missing), *(back[id(part)] for part in parts)],
            values,
            strict=True,
        ):
            self._keep(number, np.array(value))
        return values[: len(missing)]

    def _used(self, number: int) -> Any:
        self.used += 1
        self._values.move_to_end(number)
        return self._values[number]

    def _keep(self, number: int, value: Any) -> None:
        if value.nbytes > self.limit:
            return
        self._values[number] = value
        while self.nbytes > self.limit:
            self._values.popitem(last=False)

    def clear(self) -> None:
        """Keep nothing any more."""
        self._values.clear()
        self._numbers.clear()
        self._sources.clear()

    def _numbered(self, nodes: Sequence[Node]) -> dict[int, int]:
        """A number for each of ``nodes`` by its id; equal ones have the same."""
        found: dict[int, int] = {}
        for node in nodes:
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
            return self._alive(source, _place(source.buffer))
        if isinstance(source, Deferred):
            return self._alive(source, id(source))
        return repr(source)  # which tells 0.0 from -0.0, and 1 from True

    def _alive(self, source: Any, key: object) -> object:
        """``key``, which nothing else has while ``source`` lives."""
        self._sources.setdefault(key, source)
        return type(source), key


def _place(buffer: Any) -> object:
    """Where ``buffer`` lies, and how it is laid out."""
    on_device = hasattr(buffer, "__cuda_array_interface__")
    where = buffer.__cuda_array_interface__ if on_device else buffer.__array_interface__
    return on_device, where["data"][0], buffer.shape, buffer.strides, where["typestr"]


def _bytes(part: Staged) -> int:
    return math.prod(part.shape) * dtypes.itemsize(part.dtype)


def _with_values(nodes: Sequence[Node], kept: Mapping[int, Any]) -> dict[int, Any]:
    """``nodes`` by their ids, each reading what is ``kept`` of those below."""
    new: dict[int, Any] = {}
    for node in nodes:
        if id(node) in kept:
            source = Stored(kept[id(node)].reshape(-1), node.dtype)
            is_expr = isinstance(node, (Leaf, Map))
            new[id(node)] = whole(source, node.shape) if is_expr else source
        elif isinstance(node, Map):
            args = tuple(new[id(arg)] for arg in node.args)
            new[id(node)] = Map(node.op, args, node.shape, node.dtype)
        elif isinstance(node, Leaf):
            source = new.get(id(node.source), node.source)
            new[id(node)] = Leaf(source, node.shape, node.offset, node.strides)
        elif isinstance(node, Piecewise):
            pieces = (replace(piece, expr=new[id(piece.expr)]) for piece in node.pieces)
            new[id(node)] = replace(node, pieces=tuple(pieces))
        else:
            new[id(node)] = replace(node, arg=new[id(node.arg)])
    return new


_active: ContextVar[Kept | None] = ContextVar("kept", default=None)


def active() -> Kept | None:
    """What keeps values here; None outside of such a block."""
    return _active.get()


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
