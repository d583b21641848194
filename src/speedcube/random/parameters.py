"""Parameters of distributions: numbers, or arrays that broadcast, checked where they are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import dtypes
from ..api.array import Array
from ..api.sources import asarray
from ..dataclass import dataclass
from ..errors import DTypeError, ParameterError, ParameterTypeError, ShapeError
from ..expr.build import check_shape
from ..expr.nodes import Shape, countable
from ..expr.views import broadcast_shapes
from ..interop.buffers import readable


@dataclass(frozen=True)
class Domain:
    """Where a parameter may lie; ``refused`` says of ``{name}`` when ``outside`` holds."""

    refused: str
    outside: Callable[[Any], Any]


REAL: Final = Domain("{name} must not be NaN", lambda v: v != v)
FINITE: Final = Domain("{name} must be finite", lambda v: abs(v) == math.inf)
NOT_NEGATIVE: Final = Domain("{name} < 0", lambda v: v < 0)
POSITIVE: Final = Domain("{name} <= 0", lambda v: v <= 0)
PROBABILITY: Final = Domain("{name} <= 0 or {name} > 1", lambda v: (v <= 0) | (v > 1))
FRACTION: Final = Domain("{name} < 0 or {name} > 1", lambda v: (v < 0) | (v > 1))
COUNT: Final = Domain("{name} < 0", lambda v: v < 0)


@dataclass(frozen=True)
class Parameter:
    """``value`` is what a formula computes with.

    ``known`` is the number or the NumPy array that it is; None where only computing would tell.
    """

    name: str
    value: Any
    known: Any

    @property
    def shape(self) -> Shape:
        return self.value.shape if isinstance(self.value, Array) else _shape_of(self.value)

    @property
    def is_number(self) -> bool:
        return not isinstance(self.value, Array)


def _shape_of(value: Any) -> Shape:
    return () if type(value) in (float, int) else np.shape(value)


def parameter(name: str, value: Any, domain: Domain = REAL, dtype: str = "float64") -> Parameter:
    """``value``, a number or an array of them, inside ``domain``; `ParameterError` otherwise.

    What is of another type is refused with `ParameterTypeError`.

    An array must hold its numbers until the draw is computed. A lazy one is not computed to be
    checked: outside the domain the results mean nothing.
    """
    if type(value) is float and not (value != value or domain.outside(value)):  # as nearly always
        return Parameter(name, value, value)
    if isinstance(value, Array):
        return Parameter(name, _real(name, value).astype(dtype), None)
    checked = _array(name, value, dtype) if _is_array(value) else _number(name, value)
    for each in (REAL, domain):
        refuse(each.refused.format(name=name), each.outside(checked.known), checked)
    return checked


def _number(name: str, value: Any) -> Parameter:
    """One number; text is none, as for NumPy."""
    try:
        number = None if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None:
        raise ParameterTypeError(f"{name} must be a number, not {value!r}")
    return Parameter(name, number, number)


def _array(name: str, value: Any, dtype: str) -> Parameter:
    """An array in memory; one without axes is a number, as in NumPy."""
    large = _large(value)
    if large is not None:
        refuse(f"{name} is beyond float64", abs(large) >= 2**1024, Parameter(name, large, large))
        value = large.astype("float64")
    array, known = _in_memory(name, value)
    if not array.shape:
        return _number(name, known.item())
    return Parameter(name, array.astype(dtype), known)


def numbers(name: str, value: Any) -> NDArray[np.float64]:
    """Numbers that a draw needs at once, as float64; what is lazy is computed."""
    value = value.compute() if isinstance(value, Array) else value
    known = _in_memory(name, value)[1] if _is_array(value) else _number(name, value).known
    return np.asarray(known, np.float64)


def _is_array(value: Any) -> bool:
    if type(value) in (int, float):
        return False
    protocols = ("__array__", "__dlpack__", "__cuda_array_interface__")
    return isinstance(value, (list, tuple, range)) or (
        not isinstance(value, np.generic) and any(hasattr(value, name) for name in protocols)
    )


def _in_memory(name: str, value: Any) -> tuple[Array, Any]:
    """The array that reads ``value``, and its numbers as NumPy sees them, copied from a GPU."""
    if hasattr(value, "__dask_graph__"):
        raise DTypeError(f"{name} is a Dask collection; use speedcube.from_dask_array")
    try:
        buffer = readable(value)
        array = asarray(buffer)
    except (DTypeError, ShapeError) as err:
        raise ParameterTypeError(f"{name} must be a number or an array of them: {err}") from err
    return _real(name, array), buffer.get() if hasattr(buffer, "get") else buffer


def _real(name: str, array: Array) -> Array:
    """``array``; `ParameterTypeError` where its numbers are complex."""
    if array.dtype.kind == "c":
        raise ParameterTypeError(f"{name} must be real numbers, not {array.dtype}")
    return array


def _large(value: Any) -> Any:
    """Integers beyond 64 bits as the objects that NumPy holds them in; None for all others."""
    if not isinstance(value, (list, tuple, np.ndarray)):
        return None
    try:
        array = np.asarray(value)
    except ValueError:  # ragged: `_in_memory` says so
        return None
    is_large = array.dtype == object and array.size and all(isinstance(v, int) for v in array.flat)
    return array if is_large else None


_NO: Final = np.False_


def refuse(words: str, bad: Any, *parameters: Parameter) -> None:
    """`ParameterError` with ``words`` and the first values for which ``bad`` is true."""
    if bad is False or bad is _NO:  # of one number, as nearly always
        return
    outside = np.asarray(bad)
    if outside.any():
        place = np.unravel_index(int(outside.argmax()), outside.shape)
        values = ", ".join(_described(p, tuple(map(int, place))) for p in parameters)
        raise ParameterError(f"{words}: {values}")


def _described(parameter: Parameter, place: tuple[int, ...]) -> str:
    """A parameter's value at ``place`` of what it is broadcast to."""
    own = np.asarray(parameter.known)
    last = place[len(place) - own.ndim :]
    index = tuple(0 if n == 1 else k for n, k in zip(own.shape, last, strict=True))
    at = f"[{', '.join(map(str, index))}]" if index else ""
    return f"{parameter.name}{at} is {own[index]}"


def refuse_pair(words: str, test: Callable[[Any, Any], Any], a: Parameter, b: Parameter) -> None:
    """`refuse` where ``test`` holds of two parameters, if both are known."""
    if a.known is not None and b.known is not None:
        broadcast_shapes(a.shape, b.shape)
        with np.errstate(all="ignore"):
            refuse(words, test(a.known, b.known), a, b)


def refuse_all(words: str, test: Callable[..., Any], *parameters: Parameter) -> None:
    """`refuse` where ``test`` holds of all the parameters, if all are known."""
    if all(p.known is not None for p in parameters):
        broadcast_shapes(*(p.shape for p in parameters))
        with np.errstate(all="ignore"):
            refuse(words, test(*(p.known for p in parameters)), *parameters)


def counts(name: str, value: Any, domain: Domain) -> Parameter:
    """``value``, an integer or an array of them, inside ``domain``, as int64."""
    integers = integers_of(name, value)
    if integers.known is None:
        return Parameter(name, value.astype("int64"), None)
    known, last = integers.known, np.iinfo("int64").max
    refuse(f"{name} must fit int64", (known > last) | (known < -last - 1), integers)
    refuse(domain.refused.format(name=name), domain.outside(known), integers)
    whole = known.astype("int64")
    return Parameter(name, asarray(whole) if whole.shape else int(whole), whole)


def drawn_shape(size: Any, *parameters: Parameter) -> Shape:
    """The shape of a draw: ``size``, which the parameters must broadcast to, or their own."""
    common = broadcast_shapes(*[p.shape for p in parameters])
    if type(size) is int and size >= 0 and not common:  # as nearly always
        return countable((size,))
    if size is None:
        return common
    shape = check_shape(size)
    pairs = zip(common[::-1], shape[::-1], strict=False)
    if len(common) > len(shape) or any(n not in (1, m) for n, m in pairs):
        raise ShapeError(
            f"size {shape} is not compatible with the parameters, which have the shape {common} "
            "together; leave size out, or give a shape that they broadcast to"
        )
    return shape


def whole_number(name: str, value: Any) -> int:
    """``value`` as an integer."""
    fraction = isinstance(value, float) and not value.is_integer()
    if isinstance(value, (bool, str, bytes)) or fraction:
        raise ParameterTypeError(f"{name} must be an integer, not {value!r}")
    try:
        return int(value)
    except (TypeError, ValueError) as err:
        raise ParameterTypeError(f"{name} must be an integer, not {value!r}") from err


def float_dtype(what: str, dtype: Any) -> str:
    """The name of a dtype that floats are drawn in."""
    name = dtypes.check(dtype)
    if name == "float16":
        raise DTypeError(f"{what} gives float32 or float64; for float16 call .astype('float16')")
    if not dtypes.is_float(name):
        raise DTypeError(f"{what} gives float32 or float64, not {name}")
    return name


def has_axes(value: Any) -> bool:
    """Whether ``value`` is a sequence, or an array of one axis or more."""
    return isinstance(value, (list, tuple, range)) or getattr(value, "ndim", 0) > 0


def integers_of(name: str, value: Any) -> Parameter:
    """An integer or an array of them, at its own dtype; those beyond 64 bits stay objects."""
    if isinstance(value, Array):
        if not dtypes.is_integer(value._expr.dtype):
            raise DTypeError(f"{name} must be integers, not {value.dtype}; use .astype('int64')")
        return Parameter(name, value, None)
    known = _large(value) if has_axes(value) else np.asarray(whole_number(name, value))
    if known is None:
        known = _in_memory(name, value)[1]
    if known.size == 0:
        known = known.astype("int64")
    if known.dtype.kind not in "iuO":
        raise ParameterTypeError(
            f"{name} must be an integer or an array of them, not of {known.dtype}"
        )
    return Parameter(name, known, known)
