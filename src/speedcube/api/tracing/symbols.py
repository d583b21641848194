"""A function of numbers as an expression: called once with symbols, which arrays then stand for.

A symbol is an array without axes whose value nobody knows yet. What a function makes of symbols is
an expression without axes; `instead` makes it one of the arrays. Who asks for a symbol's value, as
a branch does, is told why that cannot be.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Final, NoReturn

from ... import dtypes
from ...dataclass import dataclass
from ...errors import UnsupportedError
from ...expr import views
from ...expr.graph import below, children
from ...expr.nodes import Deferred, Expr, Leaf, Map, Node, Shape, whole
from ...expr.pairs.node import is_pair, pair, parts
from ..array import Array

_WAYS: Final = (
    "say numpy.where(condition, a, b) for if and else, numpy.maximum for max, numpy.sin for "
    "math.sin; or take speedcube.vectorize, which calls the function for each element"
)
_SIGNED: Final = frozenset(("int8", "int16", "int32", "int64"))


class ValueAskedError(UnsupportedError):
    """A function asks for the value of a number that nobody knows."""


@dataclass(frozen=True, eq=False)
class Symbol:
    """The number that a function was not told; ``who`` calls the function, who ``asked`` is kept.

    A function may catch the error, and go on with another number: nobody may believe that one.
    """

    who: str
    asked: list[ValueAskedError]

    def compute(self, **_: Any) -> NoReturn:
        """Refuse: nobody knows the value."""
        error = ValueAskedError(
            f"{self.who} cannot become part of a kernel: a branch (if, and, or, "
            "while), max, int or a function of math needs the value of a number; "
            f"{_WAYS}"
        )
        self.asked.append(error)
        raise error


def symbol(who: str, name: str, dtype: str, asked: list[ValueAskedError]) -> Array:
    """An array for a number of ``dtype`` that is not known: a pair where that is complex."""
    part = Symbol(who, asked)
    if dtype not in dtypes.COMPLEX:
        return Array(whole(Deferred(part, dtype, (), name), ()))
    of = dtypes.PARTS[dtype]
    re, im = (whole(Deferred(part, of, (), f"{name}.{end}"), ()) for end in ("real", "imag"))
    return Array(pair(re, im))


def _reals(array: Array) -> tuple[Expr, ...]:
    """The expression of a real array; both parts of a complex one."""
    return parts(array._expr) if is_pair(array._expr) else (array._expr,)


def instead(who: str, result: Array, symbols: Sequence[Array], arrays: Sequence[Array]) -> Array:
    """``result``, made of ``symbols``, with ``arrays`` of one shape in their place."""
    shape = arrays[0].shape if arrays else ()
    known: dict[int, Expr] = {
        id(mark.source): expr  # type: ignore[union-attr]
        for one, array in zip(symbols, arrays, strict=True)
        for mark, expr in zip(_reals(one), _reals(array), strict=True)
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
            if node.op == "power" and _may_be_below_zero(node, done):
                raise ValueAskedError(
                    f"{self.who} raises an integer to a power that may be negative, for which "
                    f"Python gives a float: {_WAYS}"
                )
            args = [done.get(id(one)) or views.broadcast_to(one, self.shape) for one in node.args]
            return Map(node.op, tuple(args), self.shape, node.dtype)
        if isinstance(node, Leaf) and not node.shape and isinstance(node.source, (Map, Leaf)):
            return done[id(node.source)]
        raise UnsupportedError(
            f"{self.who} does more than compute a number from numbers, and only that can be "
            f"part of a kernel: {_WAYS}"
        )


def _may_be_below_zero(power: Map, unknown: Container[int]) -> bool:
    """Whether integers are raised to an integer power that is one of the ``unknown`` numbers."""
    exponent = power.args[1]
    return power.dtype in _SIGNED and id(exponent) in unknown
