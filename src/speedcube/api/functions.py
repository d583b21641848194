"""Array creation and NumPy's function names."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import AxisError, DTypeError, ParameterError, ShapeError, UnsafeFileError
from ..expr import build, views
from ..expr.nodes import Deferred, Leaf, Position, Shape, c_strides, const
from ..interop.chunks import broadcast, eye_grid, reshaped
from .array import Array, asarray, elementwise, operand, running


def full(shape: Any, fill_value: Any, dtype: Any = None, *, chunks: Any = None) -> Array:
    """``fill_value`` everywhere."""
    given = np.asarray(fill_value)
    if given.shape:
        raise ParameterError(
            f"full takes one value, not an array of shape {given.shape}; see broadcast_to"
        )
    if dtype is None or (given.dtype.kind not in "biuf" and not isinstance(fill_value, int)):
        dtypes.check(given.dtype)
    name = dtypes.check(given.dtype if dtype is None else dtype)
    if dtypes.is_integer(name):
        limits = np.iinfo(name)
        if not limits.min <= fill_value <= limits.max:
            raise ParameterError(f"{fill_value} does not fit {name} ({limits.min}..{limits.max})")
    value = given.astype(name).item()
    return Array(const(value, name, build.check_shape(shape)), hint=chunks)


def zeros(shape: Any, dtype: Any = "float64", *, chunks: Any = None) -> Array:
    """Zeros."""
    return full(shape, 0, dtype, chunks=chunks)


def ones(shape: Any, dtype: Any = "float64", *, chunks: Any = None) -> Array:
    """Ones."""
    return full(shape, 1, dtype, chunks=chunks)


def full_like(x: Any, fill_value: Any, dtype: Any = None, *, chunks: Any = None) -> Array:
    """``fill_value`` in the shape of ``x``, and in its dtype unless ``dtype`` is given."""
    array = _like(x)
    grid = array._grid if chunks is None else chunks
    return full(array.shape, fill_value, array.dtype if dtype is None else dtype, chunks=grid)


def zeros_like(x: Any, dtype: Any = None, *, chunks: Any = None) -> Array:
    """Zeros in the shape and dtype of ``x``."""
    return full_like(x, 0, dtype, chunks=chunks)


def ones_like(x: Any, dtype: Any = None, *, chunks: Any = None) -> Array:
    """Ones in the shape and dtype of ``x``."""
    return full_like(x, 1, dtype, chunks=chunks)


def _coordinate(shape: Shape, axis: int) -> Array:
    """The index along ``axis``, int64."""
    strides = tuple(int(k == axis) for k in range(len(shape)))
    return Array(Leaf(Position(), shape, 0, strides))


def eye(
    n: int, m: int | None = None, k: int = 0, dtype: Any = "float64", *, chunks: Any = None
) -> Array:
    """Ones on diagonal ``k``, zeros elsewhere."""
    shape = build.check_shape((n, n if m is None else m))
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise ParameterError(f"k, the diagonal, must be an integer, not {k!r}")
    on_diagonal = _coordinate(shape, 1) - _coordinate(shape, 0) == k
    found = on_diagonal.astype(dtype)
    return Array(found._expr, hint=eye_grid(chunks, shape, found._expr.dtype))


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: Any = None,
    *,
    chunks: Any = None,
) -> Array:
    """``start + step * k`` below ``stop``; one rounding each for floats (fewer than a loop's).

    `ParameterError` where an integer dtype cannot hold the numbers.
    """
    start, stop = (0, start) if stop is None else (start, stop)
    if step == 0:
        raise ParameterError("step must not be 0")
    _finite("arange", start, stop, step)
    whole = builtins.all(isinstance(v, (int, np.integer)) for v in (start, stop, step))
    if whole:
        start, stop, step = int(start), int(stop), int(step)
    count = builtins.max(
        0, -((start - stop) // step) if whole else math.ceil((stop - start) / step)
    )
    index = _coordinate(build.check_shape(count), 0)
    name = dtypes.check(dtype or ("int64" if whole else "float64"))
    if count and dtypes.is_integer(name):
        _holds(name, start, start + step * (count - 1))
    if whole and dtypes.is_integer(name):  # on the way it may wrap, which the end undoes
        found = (index * _wrapped(step) + _wrapped(start)).astype(name)
    else:
        found = (index.astype("float64") * float(step) + float(start)).astype(name)
    return Array(found._expr, hint=chunks)


def _holds(dtype: str, first: float, last: float) -> None:
    limits = np.iinfo(dtype)
    for value in (first, last):
        if not limits.min <= int(value) <= limits.max:
            raise ParameterError(
                f"arange: {value} does not fit {dtype} ({limits.min}..{limits.max}); give another "
                "dtype, for example dtype='uint64' or 'float64'"
            )


def _wrapped(value: float) -> int:
    """``value`` modulo 2**64, as an int64."""
    return (int(value) + 2**63) % 2**64 - 2**63


def _finite(name: str, *values: Any) -> None:
    for value in values:
        if not isinstance(value, (int, float, np.integer, np.floating)) or not math.isfinite(value):
            raise ParameterError(f"{name} takes finite numbers, not {value!r}")


def linspace(
    start: float,
    stop: float,
    num: int = 50,
    endpoint: bool = True,
    dtype: Any = "float64",
    *,
    chunks: Any = None,
) -> Array:
    """``num`` evenly spaced numbers from ``start`` to ``stop``; the last is exactly ``stop``.

    An integer dtype takes the floor of each.
    """
    _finite("linspace", start, stop)
    (count,) = build.check_shape(num)
    spaces = count - 1 if endpoint else count
    step = (stop - start) / spaces if spaces > 0 else math.nan
    index = _coordinate((count,), 0)
    values = index.astype("float64") * step + float(start)
    if endpoint and count > 1:
        values = where(index == count - 1, float(stop), values)
    elif count == 1:
        values = full((1,), float(start))
    if dtypes.is_integer(dtypes.check(dtype)):
        values = floor(values)
    return Array(values.astype(dtype)._expr, hint=chunks)


def from_npy(path: str | Path) -> Array:
    """A ``.npy`` file, memory-mapped; `UnsafeFileError` for one that holds pickled objects."""
    with open(path, "rb") as file:
        if file.read(6) != b"\x93NUMPY":
            raise UnsafeFileError(f"{path} cannot be read: it does not begin as a .npy file does")
    try:
        return asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError) as err:
        raise UnsafeFileError(
            f"{path} cannot be read without unpickling or is no .npy file ({err}); "
            "pickled files are never loaded"
        ) from err


def from_dask_array(collection: Any) -> Array:
    """A Dask array as a source: computed to memory when it is needed."""
    if not hasattr(collection, "__dask_graph__") or not hasattr(collection, "chunks"):
        raise DTypeError(f"{type(collection).__name__} is no Dask array; use speedcube.asarray")
    name = dtypes.check(collection.dtype)
    if builtins.any(math.isnan(n) for n in collection.shape):
        raise ShapeError(
            f"a Dask array of unknown shape {collection.shape}; call its "
            "compute_chunk_sizes() first"
        )
    shape = tuple(int(n) for n in collection.shape)
    source = Deferred(collection, name, shape)
    return Array(Leaf(source, shape, 0, c_strides(shape)), hint=collection.chunks)


def where(condition: Any, x: Any, y: Any) -> Array:
    """``x`` where ``condition``, else ``y``."""
    return elementwise("where", condition, x, y)  # type: ignore[no-any-return]


def clip(x: Any, low: Any = None, high: Any = None) -> Array:
    """``x`` held between ``low`` and ``high``."""
    found = x if low is None else elementwise("maximum", x, low)
    return found if high is None else elementwise("minimum", found, high)  # type: ignore[no-any-return]


def round(x: Any, decimals: int = 0) -> Array:
    """To the nearest whole number, ties to even (``decimals`` must be 0); integers stay as is."""
    return _like(x).round(decimals)


def _like(array: Any) -> Array:
    found = operand(array)
    return found if isinstance(found, Array) else asarray(found)


def broadcast_to(x: Any, shape: Any, chunks: Any = None) -> Array:
    """``x`` repeated to ``shape``."""
    array = _like(x)
    expr = views.broadcast_to(array._expr, build.check_shape(shape))
    grid = broadcast(array._grid, expr.shape) if chunks is None else chunks
    return Array(expr, gpu=array._gpu, hint=grid)


def expand_dims(x: Any, axis: int) -> Array:
    """A new axis of size one at ``axis``."""
    array = _like(x)
    k = build.check_axis(axis, array.ndim + 1)
    found = array[(slice(None),) * k + (None,)]
    grid = reshaped(array._grid, found.shape, found._expr.dtype)  # as Dask's expand_dims does
    return Array(found._expr, gpu=found._gpu, hint=grid)


def flip(x: Any, axis: Any = None) -> Array:
    """Backwards along ``axis`` (default: every axis)."""
    array = _like(x)
    axes = build.normalise_axes(axis, array.ndim)
    return array[tuple(slice(None, None, -1 if k in axes else 1) for k in range(array.ndim))]


def moveaxis(x: Any, source: int, destination: int) -> Array:
    """Axis ``source`` moved to ``destination``."""
    array = _like(x)
    a, b = (build.check_axis(k, array.ndim) for k in (source, destination))
    order = [k for k in range(array.ndim) if k != a]
    order.insert(b, a)
    return array.transpose(order)


def permute_dims(x: Any, axes: Any) -> Array:
    """The Array API's transpose."""
    return _like(x).transpose(axes)


def reshape(x: Any, shape: Any) -> Array:
    """``x`` in another shape."""
    return _like(x).reshape(shape)


def squeeze(x: Any, axis: Any = None) -> Array:
    """``x`` without axes of size one."""
    return _like(x).squeeze(axis)


def swapaxes(x: Any, a: int, b: int) -> Array:
    """Axes ``a`` and ``b`` exchanged."""
    return _like(x).swapaxes(a, b)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """How many elements are not zero."""
    return _like(x).astype(bool).sum(axis, keepdims=keepdims)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The Array API's `cumsum`: ``axis`` may be left out for one axis only.

    With ``include_initial`` each line begins with 0, the sum of nothing.
    """
    return _cumulative("cumsum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The Array API's `cumprod`: ``axis`` may be left out for one axis only.

    With ``include_initial`` each line begins with 1, the product of nothing.
    """
    return _cumulative("cumprod", x, axis, dtype, include_initial)


def _cumulative(op: str, x: Any, axis: Any, dtype: Any, initial: bool) -> Array:
    array = _like(x)
    if axis is None and array.ndim != 1:
        name = {"cumsum": "cumulative_sum", "cumprod": "cumulative_prod"}[op]
        raise AxisError(
            f"{name} of an array of {array.ndim} dimensions needs axis=; {op} runs through all of "
            "them"
        )
    return running(array, op, axis, dtype, initial)


def _unary(op: str) -> Callable[[Any], Array]:
    def function(x: Any) -> Array:
        return elementwise(op, x)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"``numpy.{op}``, element by element."
    return function


def _binary(op: str) -> Callable[[Any, Any], Array]:
    def function(x: Any, y: Any) -> Array:
        return elementwise(op, x, y)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"``numpy.{op}``, element by element."
    return function


def _reduction(name: str) -> Callable[..., Array]:
    def function(x: Any, *args: Any, **kwargs: Any) -> Array:
        return getattr(_like(x), name)(*args, **kwargs)  # type: ignore[no-any-return]

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(Array, name).__doc__
    return function


abs = absolute = _unary("absolute")
sign, sqrt, square = map(_unary, ("sign", "sqrt", "square"))
exp, exp2, expm1, sigmoid = map(_unary, ("exp", "exp2", "expm1", "sigmoid"))
log, log1p, log2, log10 = map(_unary, ("log", "log1p", "log2", "log10"))
sin, cos, tan = map(_unary, ("sin", "cos", "tan"))
asin, acos, atan, cbrt = map(_unary, ("asin", "acos", "atan", "cbrt"))
sinh, cosh, tanh = map(_unary, ("sinh", "cosh", "tanh"))
asinh, acosh, atanh = map(_unary, ("asinh", "acosh", "atanh"))
erf, erfc, gammaln = map(_unary, ("erf", "erfc", "gammaln"))
atan2, hypot = map(_binary, ("atan2", "hypot"))
pow = power = _binary("power")
floor, ceil, trunc, rint = map(_unary, ("floor", "ceil", "trunc", "rint"))
isnan, isfinite, isinf, signbit = map(_unary, ("isnan", "isfinite", "isinf", "signbit"))
negative, positive, logical_not = map(_unary, ("negative", "positive", "logical_not"))
bitwise_invert = invert = _unary("invert")
add, subtract, multiply, divide = map(_binary, ("add", "subtract", "multiply", "divide"))
floor_divide, remainder = map(_binary, ("floor_divide", "remainder"))
minimum, maximum = map(_binary, ("minimum", "maximum"))
equal, not_equal, less, less_equal = map(_binary, ("equal", "not_equal", "less", "less_equal"))
greater, greater_equal = map(_binary, ("greater", "greater_equal"))
logical_and, logical_or, logical_xor = map(_binary, ("logical_and", "logical_or", "logical_xor"))
bitwise_and, bitwise_or, bitwise_xor = map(_binary, ("bitwise_and", "bitwise_or", "bitwise_xor"))
left_shift, right_shift = map(_binary, ("left_shift", "right_shift"))
sum, prod, mean, var, std = map(_reduction, ("sum", "prod", "mean", "var", "std"))
cumsum, cumprod = map(_reduction, ("cumsum", "cumprod"))
min, max, any, all = map(_reduction, ("min", "max", "any", "all"))
argmin, argmax = map(_reduction, ("argmin", "argmax"))
