"""A function of numbers as an expression: called once with symbols, which arrays then stand for.

A symbol is an array without axes whose value nobody knows yet. What a function makes of symbols is
an expression without axes; `instead` makes it one of the arrays. Who asks for a symbol's value, as
a branch does, is told why that cannot be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NoReturn

from ...dataclass import dataclass
from ...errors import UnsupportedError
from ...expr import views
from ...expr.graph import below, children
from ...expr.nodes import Deferred, Expr, Leaf, Map, Node, Shape, whole
from ..array import Array

_WAYS: Final = (
    "say numpy.where(condition, a, b) for if and else, numpy.maximum for max, numpy.sin for "
    "math.sin; or take speedcube.vectorize, which calls the function for each element"
)


class ValueAskedError(UnsupportedError):
    """A function asks for the value of a number that nobody knows."""


@dataclass(frozen=True, eq=False)
class Symbol:
    """The number that a function was not told; ``who`` calls the function."""

    who: str

    def compute(self, **_: Any) -> NoReturn:
        """Refuse: nobody knows the value."""
        raise ValueAskedError(
            f"{self.who} cannot become part of a kernel: a branch (if, and, or, "
            "while), max, int or a function of math needs the value of a number; "
            f"{_WAYS}"
        )


def symbol(who: str, name: str, dtype: str) -> Array:
    """An array for a number of ``dtype`` that is not known."""
    return Array(whole(Deferred(Symbol(who), dtype, (), name), ()))


def instead(who: str, result: Array, symbols: Sequence[Array], arrays: Sequence[Array]) -> Array:
    """``result``, made of ``symbols``, with ``arrays`` of one shape in their place."""
    shape = arrays[0].shape if arrays else ()
    known: dict[int, Expr] = {
        id(one._expr.source): array._expr  # type: ignore[union-attr]
        for one, array in zip(symbols, arrays, strict=True)
    }
    expr = _Replaced(who, shape, known).of(result._expr)
    return Array(expr, gpu=any(one._gpu for one in (result, *arrays)))


@dataclass
class _Replaced:
    """Nodes with arrays of ``shape`` in the place of the sources that are ``known``."""

    who: str
    shape: Shape
    known: dict[int, Expr]

    def of(self, root: Expr) -> Expr:
        if root.shape:
            raise UnsupportedError(
                f"{self.who} gives an array of shape {root.shape}, and has to give a "
                "number for each element; call functions of arrays as they are, or by "
                "map_blocks"
            )
        done: dict[int, Expr] = {}
        for node in below(root):
            made = self._made(node, done)
            if made is not None:
                done[id(node)] = made
        return done.get(id(root)) or views.broadcast_to(root, self.shape)

    def _made(self, node: Node, done: dict[int, Expr]) -> Expr | None:
        """``node`` of the arrays; None where it is the same number for each element."""
        if isinstance(node, Leaf) and id(node.source) in self.known:
            return self.known[id(node.source)]
        if not any(id(one) in done for one in children(node)):
            return None
        if isinstance(node, Map) and not node.shape:
            args = [done.get(id(one)) or views.broadcast_to(one, self.shape) for one in node.args]
            return Map(node.op, tuple(args), self.shape, node.dtype)
        if isinstance(node, Leaf) and not node.shape and isinstance(node.source, (Map, Leaf)):
            return done[id(node.source)]
        raise UnsupportedError(
            f"{self.who} does more than compute a number from numbers, and only that can be "
            f"part of a kernel: {_WAYS}"
        )
