"""Operators, reductions and changes of shape, which `MaskedArray` has from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..errors import DTypeError, ShapeError
from . import pairs, reducing
from .arrays import MOVED, REDUCTIONS, MaskedArray, pair_of, result_of


def _operator(op: str, swapped: bool) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        sides = (other, self) if swapped else (self, other)
        first, second = map(pair_of, sides)
        return result_of(sides, pairs.of_operator(op, first, second))

    return method


def _in_place(op: str) -> Callable[[Any, Any], Any]:
    """``x op= other``: the same array, of the same dtype and shape, for all of its names."""

    def method(self: Any, other: Any) -> Any:
        return _kept(op, self, *pairs.of_operator(op, pair_of(self), pair_of(other)))

    return method


def _ufunc_in_place(op: str) -> Callable[[Any, Any], Any]:
    """The same by NumPy's function, as `numpy.ma` has it."""

    def method(self: Any, other: Any) -> Any:
        return _kept(op, self, *pair_of(getattr(np, op)(self, other)))

    return method


def _kept(op: str, array: Any, data: Any, mask: Any) -> Any:
    """``array``, which is ``data`` and ``mask`` from now on, of the dtype and shape that it had."""
    if not np.can_cast(data.dtype, array.dtype, "same_kind"):
        raise DTypeError(f"{op} in place keeps {array.dtype}, and the result has {data.dtype}")
    if data.shape != array.shape:
        raise ShapeError(f"{op} in place keeps {array.shape}, and the result has {data.shape}")
    array._data, array._mask, array._collection = data.astype(array.dtype), mask, None
    return array


def _ufunc(op: str, swapped: bool = False) -> Callable[..., Any]:
    return lambda self, *other: getattr(np, op)(*(other if swapped else ()), self, *other[swapped:])


def _moved(name: str) -> Callable[..., MaskedArray]:
    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        return self._both(lambda one: getattr(one, name)(*args, **keywords))

    method.__name__, method.__doc__ = name, f"`Array.{name}` of the values and of the mask."
    return method


def _reduced(name: str) -> Callable[..., Any]:
    rule = getattr(reducing, f"of_{name}")

    def method(self: Any, axis: Any = None, *args: Any, **keywords: Any) -> Any:
        found = rule(self._data, self._mask, axis, *args, **keywords)
        return MaskedArray(*found) if isinstance(found, tuple) else found

    method.__name__, method.__doc__ = name, rule.__doc__
    return method


_ARITHMETIC: Final = {
    **dict(add="add", sub="subtract", mul="multiply", truediv="divide", floordiv="floor_divide"),
    "pow": "power",
}
_COMPARED: Final = {
    **dict(eq="equal", ne="not_equal", lt="less", le="less_equal"),
    **dict(gt="greater", ge="greater_equal"),
}
_OF_BITS: Final = {
    **{"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor"},
    **dict(lshift="left_shift", rshift="right_shift", mod="remainder"),
}
for _name, _op in {**_ARITHMETIC, **_COMPARED}.items():
    setattr(MaskedArray, f"__{_name}__", _operator(_op, False))
for _name, _op in _ARITHMETIC.items():
    setattr(MaskedArray, f"__r{_name}__", _operator(_op, True))
for _name, _op in _ARITHMETIC.items():
    setattr(MaskedArray, f"__i{_name}__", _in_place(_op))
for _name, _op in _OF_BITS.items():
    setattr(MaskedArray, f"__{_name}__", _ufunc(_op))
    setattr(MaskedArray, f"__r{_name}__", _ufunc(_op, True))
    setattr(MaskedArray, f"__i{_name}__", _ufunc_in_place(_op))
for _name, _op in dict(neg="negative", pos="positive", abs="absolute", invert="invert").items():
    setattr(MaskedArray, f"__{_name}__", _ufunc(_op))
for _name in MOVED.split():
    setattr(MaskedArray, _name, _moved(_name))
for _name in REDUCTIONS.split():
    setattr(MaskedArray, _name, _reduced(_name))
