"""What the methods that are written outside `Array`'s class know of it."""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeVar

from ...expr.nodes import Expr
from ...interop.chunks import Grid


class Lazy(Protocol):
    """An expression and a grid, which an array of the same device can be made of; `Array` is one.

    The functions that are methods of `Array` name it ``self``.
    """

    _expr: Expr
    _grid: Grid

    def _view(self, expr: Expr, grid: Grid | None) -> Self: ...

    def __getitem__(self, item: Any) -> Self: ...


A = TypeVar("A", bound=Lazy)
