"""Python's operators: ``x + 1`` and the others, as element-wise operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

NUMBERS: Final = frozenset((bool, int, float, complex))  # most of what is no array


def _binary(op: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind not in NUMBERS and kind is not type(self):
            if is_pandas(other):
                return _labelled(op, self, other, swapped)
            if not is_operand(other):
                return NotImplemented
        if swapped:
            return self._elementwise(op, other, self)
        return self._elementwise(op, self, other)

    return method


def _compared(op: str) -> Callable[[Any, Any], Any]:
    """Whether elements are equal: to None and to text none is."""

    def method(self: Any, other: Any) -> Any:
        if type(other) in NUMBERS:  # as nearly always
            return self._elementwise(op, self, other)
        if other is None or isinstance(other, (str, bytes)):
            never = self._elementwise("logical_and", self, False)
            return never if op == "equal" else self._elementwise("logical_not", never)
        if is_pandas(other):
            return _labelled(op, self, other, False)
        return self._elementwise(op, self, other) if is_operand(other) else NotImplemented

    return method


def is_pandas(value: Any) -> bool:
    """Whether ``value`` is a Series, a DataFrame or an Index: an array with labels."""
    if isinstance(value, (Operators, np.ndarray)):  # as nearly always
        return False
    return hasattr(value, "__pandas_priority__")


def _labelled(op: str, array: Any, other: Any, swapped: bool) -> Any:
    """What pandas makes of the values of ``array`` and of ``other``, whose labels it keeps."""
    values = np.asarray(array)
    function = getattr(np, op)
    return function(other, values) if swapped else function(values, other)


def is_operand(value: Any) -> bool:
    """Whether an operator takes ``value``: numbers and arrays; Python refuses the others."""
    if isinstance(value, Knowing):
        return False
    protocols = ("__array__", "__dlpack__", "__cuda_array_interface__")
    return isinstance(
        value, (bool, int, float, complex, list, tuple, np.ndarray, Operators)
    ) or any(hasattr(value, name) for name in protocols)


def _unary(op: str) -> Callable[[Any], Any]:
    return lambda self: self._elementwise(op, self)


class Knowing:
    """What knows how to be combined with our arrays: operators and ufuncs are left to it."""

    __slots__ = ()


class Operators:
    """What can be added, compared and so on; `_elementwise` says how."""

    __slots__ = ()

    @property
    def __pandas_priority__(self: Any) -> int:
        """Two axes come before a DataFrame, which else takes them for a list of rows."""
        return 5000 if len(self.shape) == 2 else 0

    def _elementwise(self, op: str, *args: Any) -> Any:
        """``op``, a name of `ops.OPS`, of arrays and numbers."""
        raise NotImplementedError

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __matmul__(self: Any, other: Any) -> Any:
        if isinstance(other, Operators):  # NumPy need not be asked who is to answer
            return self.__array_ufunc__(np.matmul, "__call__", self, other)
        return np.matmul(self, other) if is_operand(other) else NotImplemented

    def __rmatmul__(self: Any, other: Any) -> Any:
        return np.matmul(other, self) if is_operand(other) else NotImplemented

    def __contains__(self, value: Any) -> bool:
        return bool(self._elementwise("equal", self, value).any())

    __add__ = _binary("add")
    __radd__ = _binary("add", swapped=True)
    __sub__ = _binary("subtract")
    __rsub__ = _binary("subtract", swapped=True)
    __mul__ = _binary("multiply")
    __rmul__ = _binary("multiply", swapped=True)
    __truediv__ = _binary("divide")
    __rtruediv__ = _binary("divide", swapped=True)
    __floordiv__ = _binary("floor_divide")
    __rfloordiv__ = _binary("floor_divide", swapped=True)
    __mod__ = _binary("remainder")
    __rmod__ = _binary("remainder", swapped=True)
    __and__ = _binary("bitwise_and")
    __rand__ = _binary("bitwise_and", swapped=True)
    __or__ = _binary("bitwise_or")
    __ror__ = _binary("bitwise_or", swapped=True)
    __xor__ = _binary("bitwise_xor")
    __rxor__ = _binary("bitwise_xor", swapped=True)
    __lshift__ = _binary("left_shift")
    __rlshift__ = _binary("left_shift", swapped=True)
    __rshift__ = _binary("right_shift")
    __rrshift__ = _binary("right_shift", swapped=True)
    __eq__ = _compared("equal")
    __ne__ = _compared("not_equal")
    __lt__ = _binary("less")
    __le__ = _binary("less_equal")
    __gt__ = _binary("greater")
    __ge__ = _binary("greater_equal")
    __neg__ = _unary("negative")
    __pos__ = _unary("positive")
    __abs__ = _unary("absolute")
    __invert__ = _unary("invert")
    __pow__ = _binary("power")
    __rpow__ = _binary("power", swapped=True)

    def __hash__(self) -> int:
        """That of a number, which is computed, so that results are looked up as NumPy's are."""
        if self.shape:  # type: ignore[attr-defined]
            raise TypeError(
                f"unhashable type: {type(self).__name__!r}; a number is hashed (shape ()), "
                f"and this array has shape {self.shape}; "  # type: ignore[attr-defined]
                "pandas takes NumPy's arrays there: frame[np.asarray(x)] = ..."
            )
        return hash(self.item())  # type: ignore[attr-defined]
