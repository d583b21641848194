"""What was made of the nodes of one program, and the program over it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, TypeAlias

import numpy as np

from ...expr.nodes import Expr, Leaf, Map, Stored, Through
from .calls import Result, RoutineCalls, read_of
from .look import AS_THEY_ARE, Ahead

Make: TypeAlias = Callable[[Expr], Any]


class MadeFirst(ABC):
    """Nodes of ``roots`` over arrays, by their ids.

    ``make`` gives the values of operations on arrays, ``threads`` of a library those of routines.
    """

    def __init__(self, roots: Sequence[Expr], ahead: Ahead, make: Make, threads: int) -> None:
        self.roots, self.ahead, self.make, self.threads = roots, ahead, make, threads
        self.done: dict[int, Any] = {}
        self._calls: RoutineCalls | None = None

    @property
    def own(self) -> dict[int, Stored]:
        """Results of routines that are asked for as they are, by their ids."""
        return {} if self._calls is None else self._calls.own

    def root(self, root: Expr) -> Expr:
        """``root`` over arrays."""
        return self.visit(root)

    def visit(self, node: Expr) -> Expr:
        """``node`` over arrays."""
        if type(node) is Leaf and type(node.source) in AS_THEY_ARE:
            return node
        return self.once(node, self._leaf if type(node) is Leaf else self._map)  # type: ignore[no-any-return]

    @abstractmethod
    def once(self, node: Any, make: Callable[[Any], Any]) -> Any:
        """What ``make`` gives of ``node``, kept for those who read it later."""

    @abstractmethod
    def is_read(self, node: Expr) -> bool:
        """Whether others may read ``node`` after this."""

    @abstractmethod
    def over(self, source: Any) -> Any:
        """``source``, which no library makes, over arrays, or one; itself where that is no gain."""

    def _map(self, node: Any) -> Expr:
        args = tuple([self.visit(arg) for arg in node.args])
        if all(map(is_, args, node.args)):
            return node  # type: ignore[no-any-return]
        return Map(node.op, args, node.shape, node.dtype)

    def _leaf(self, leaf: Leaf) -> Leaf:
        source: Any = leaf.source
        if type(source) is Through:
            return read_of(leaf, self.once(source, self._results))
        found = self.over(source)
        return leaf if found is source else Leaf(found, leaf.shape, leaf.offset, leaf.strides)

    def _results(self, source: Through) -> list[Result]:
        if self._calls is None:
            self._calls = RoutineCalls(self.roots, self.ahead.reaches, self.threads, self.make)
        return self._calls.results_of(source, self._arrays)

    def _arrays(
        self, calls: RoutineCalls, args: Sequence[Expr], pairs: Sequence[bool]
    ) -> Sequence[Leaf]:
        """What a routine takes as arrays, each made once; both parts of complex numbers at once."""
        found: list[Leaf] = []
        rest = iter(args)
        for is_of_parts in pairs or (False,) * len(args):
            some = [next(rest), next(rest)] if is_of_parts else [next(rest)]
            made = calls.in_memory([self.visit(arg) for arg in some])
            for arg, leaf in zip(some, made, strict=True):
                if self.is_read(arg):
                    self.done[id(arg)] = leaf
            found += made
        return found


def stored(values: Any, dtype: str) -> Stored:
    """``values`` in memory, in C order: results may lie in another one, or be one number."""
    return Stored(np.ascontiguousarray(values, dtype).reshape(-1), dtype)
