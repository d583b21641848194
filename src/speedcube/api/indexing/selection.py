"""``x[mask]``: an array whose length is counted when it is first needed."""

from __future__ import annotations

from contextlib import suppress
from functools import wraps
from typing import Any

from ...expr.written import written
from ...interop import chunks as grids
from ..array import Array, elementwise
from ..methods.operators import NUMBERS
from .places import Mask


def _of_what_is_chosen(name: str) -> Any:
    """The method ``name`` of `Array`, which needs no length where it has no other keywords."""
    plain = getattr(Array, name)

    @wraps(plain)
    def method(self: Selection, axis: Any = None, *args: Any, **keywords: Any) -> Any:
        chosen = None if args or keywords else self._chosen(axis)
        if chosen is None:
            return plain(self, axis, *args, **keywords)
        return getattr(self._values, name)(chosen[0], where=chosen[1])

    return method


class Selection(Array):
    """The elements of ``values`` where ``mask`` is true, in C order, along one axis in front.

    Operations with numbers and with what the same mask selects stay selections; sums and truths of
    it need no length. Everything else asks for it: that computes the mask, once.
    """

    __slots__ = ("_mask", "_values")

    def __init__(self, values: Array, mask: Mask) -> None:
        # The slots _expr and _grid stay empty until they are asked for: see `__getattr__`. What is
        # assigned to the array later is not ours: its expression is kept, not the array.
        gpu = values._gpu or mask.array._gpu
        self._values, self._mask = Array(values._expr, gpu=gpu, hint=values._grid), mask
        self._gpu, self._plans, self._writes, self._name, self._walk = gpu, {}, 0, None, None
        self._copied = 0

    def __getattr__(self, name: str) -> Any:
        if name not in ("_expr", "_grid"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._expr = self._mask.taken(self._values)
        self._grid = grids.grid_of(None, self._expr.shape, self._expr.dtype)
        return self._expr if name == "_expr" else self._grid

    def _rebind(self, other: Array) -> None:
        if isinstance(other, Selection) and other.selecting:
            for name in ("_expr", "_grid"):
                with suppress(AttributeError):
                    delattr(self, name)
            self._values, self._mask = other._values, other._mask
            self._plans, self._name = {}, None
            return
        super()._rebind(other)
        if self.selecting:
            del self._values, self._mask

    @property
    def selecting(self) -> bool:
        """Whether this is what a mask selects still, and nothing was assigned to it."""
        return hasattr(self, "_mask")

    def _is_chosen_with(self, other: Any) -> bool:
        """Whether ``other`` is selected by the same mask from an array of the same shape."""
        alike = isinstance(other, Selection) and self.selecting and other.selecting
        if not alike or other._mask is not self._mask:
            return False
        return bool(other._values.shape == self._values.shape)

    def _applied(self, op: str, args: tuple[Any, ...]) -> Array | None:
        """``op`` of numbers and selections by one mask: a selection; else None."""
        if not self.selecting:
            return None
        values: list[Any] = []
        for one in args:
            if isinstance(one, Selection) and one.selecting and one._mask is self._mask:
                values.append(one._values)
            elif isinstance(one, (bool, int, float)):
                values.append(one)
            else:
                return None
        return Selection(elementwise(op, *values), self._mask)

    @wraps(Array.compute)
    def compute(  # type: ignore[override]
        self, on: Any = None, *, scheduler: Any = None, to: str = "numpy", **keywords: Any
    ) -> Any:
        if self.selecting and to == "numpy" and not keywords:
            made = self._mask.chosen_here(self._values, on, scheduler)
            if made is not None:
                return made
        return super().compute(  # type: ignore[misc]
            on, scheduler=scheduler, to=to, **keywords
        )

    @property
    def dtype(self) -> Any:
        return self._values.dtype if self.selecting else super().dtype

    @property
    def ndim(self) -> int:
        if not self.selecting:
            return super().ndim
        return self._values.ndim - self._mask.array.ndim + 1

    def astype(  # type: ignore[override]
        self,
        dtype: Any,
        order: str = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Array:
        """Elements converted to ``dtype``."""
        if not self.selecting:
            same: Array = super().astype(dtype, order, casting, subok, copy)  # type: ignore[misc]
            return same
        return Selection(self._values.astype(dtype, order, casting, subok, copy), self._mask)

    def __pow__(self, exponent: Any) -> Array:
        """Powers to a number are a selection, too."""
        if self.selecting and type(exponent) in NUMBERS:
            return Selection(self._values**exponent, self._mask)
        return super().__pow__(exponent)

    sum, any, all = map(_of_what_is_chosen, ("sum", "any", "all"))

    def _chosen(self, axis: Any) -> tuple[Any, Array] | None:
        """``axis``, None or 0, as axes of all elements, and the mask; else None.

        Sums and truths do not depend on the order of elements, nor on zeros between them, so that
        they need not be put together. A mean is rounded once, which needs their number.
        """
        if not self.selecting or axis not in (None, 0):
            return None
        ndim = self._mask.array.ndim
        rest = (None,) * (self._values.ndim - ndim)
        axes = None if axis is None else tuple(range(ndim))
        return axes, self._mask.array[(..., *rest)]

    def __repr__(self) -> str:
        if not self.selecting:
            return super().__repr__()
        rest = self._values.shape[self._mask.array.ndim :]
        shape = f"({', '.join(['?', *map(str, rest)])}{'' if rest else ','})"
        text = f"{written(self._values._expr)}[{written(self._mask.array._expr)}]"
        return f"<speedcube.Array {shape} {self.dtype}: {text}>"
