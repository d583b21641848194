"""What the methods that are written outside `Array`'s class know of it."""

from __future__ import annotations

from typing import Any, Protocol, Self, TypeVar

from ...engine.compute import Plans
from ...expr.nodes import Expr
from ...interop.chunks import Grid


class Lazy(Protocol):
    """An expression, a grid, and how to make another array of these; `Array` is one.

    The functions that are methods of `Array` name it ``self``.
    """

    _expr: Expr
    _grid: Grid
    _gpu: bool
    _plans: Plans
    _writes: int
    _copied: int

    def _view(self, expr: Expr, grid: Grid | None) -> Self: ...

    def _rebuilt(self, expr: Expr, gpu: bool = False) -> Self: ...

    def _elementwise(self, op: str, *args: Any) -> Self: ...

    def __getitem__(self, item: Any) -> Self: ...


A = TypeVar("A", bound=Lazy)
