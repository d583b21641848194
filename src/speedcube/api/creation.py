"""Arrays from values in memory, from files and Dask arrays, and from nothing but their shape."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import DTypeError, ParameterError, ShapeError, UnsafeFileError
from ..expr import build
from ..expr.nodes import Deferred, Leaf, Position, Shape, Stored, c_strides, const
from ..interop.chunks import eye_grid
from .array import Array, array_of
from .elementwise import floor, where
from .stored import leaf_of


def asarray(value: Any, dtype: Any = None, *, chunks: Any = None) -> Array:
    """An array that reads ``value`` when it is computed: NumPy, CuPy, DLPack, lists, scalars.

    NumPy and CuPy arrays are not copied: what they hold when `Array.compute` runs is what counts.
    So a write in between changes the result, also of what was built before it: `array` copies at
    once, for buffers that are filled again (``x = sc.asarray(buffer)``, ``buffer[:] = ...``).
    Raises `DTypeError` for object, string, complex and other dtypes speedcube has no kernels for.
    """
    if isinstance(value, Array):
        return value if dtype is None else value.astype(dtype)
    leaf, gpu = leaf_of(value)
    array = Array(leaf, gpu=gpu, hint=chunks)
    return array if dtype is None else array.astype(dtype)


def array(value: Any, dtype: Any = None, *, chunks: Any = None) -> Array:
    """An array of its own copy of ``value``, taken now: later writes to ``value`` change nothing.

    A speedcube array is given back as it is, nothing computed: `Array.persist` holds its values.
    Raises what `asarray` raises.
    """
    if isinstance(value, Array):
        return asarray(value, dtype)
    source = leaf_of(value)[0].source
    assert isinstance(source, Stored)
    return asarray(source.buffer.copy(), dtype, chunks=chunks)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, chunks: Any = None) -> Array:
    """``fill_value`` everywhere."""
    scalar = np.asarray(fill_value)
    if scalar.shape:
        raise ParameterError(
            f"full takes one value, not an array of shape {scalar.shape}; see broadcast_to"
        )
    if dtype is None or (scalar.dtype.kind not in "biuf" and not isinstance(fill_value, int)):
        dtypes.check(scalar.dtype)
    name = dtypes.check(scalar.dtype if dtype is None else dtype)
    if dtypes.is_integer(name):
        limits = np.iinfo(name)
        if not limits.min <= fill_value <= limits.max:
            raise ParameterError(f"{fill_value} does not fit {name} ({limits.min}..{limits.max})")
    value = scalar.astype(name).item()
    return Array(const(value, name, build.check_shape(shape)), hint=chunks)


def zeros(shape: Any, dtype: Any = "float64", *, chunks: Any = None) -> Array:
    """Zeros."""
    return full(shape, 0, dtype, chunks=chunks)


def ones(shape: Any, dtype: Any = "float64", *, chunks: Any = None) -> Array:
    """Ones."""
    return full(shape, 1, dtype, chunks=chunks)


def full_like(x: Any, fill_value: Any, dtype: Any = None, *, chunks: Any = None) -> Array:
    """``fill_value`` in the shape of ``x``, and in its dtype unless ``dtype`` is given."""
    array = array_of(x)
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
    expr = on_diagonal.astype(dtype)._expr
    return Array(expr, hint=eye_grid(chunks, shape, expr.dtype))


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
    whole = all(isinstance(v, (int, np.integer)) for v in (start, stop, step))
    if whole:
        start, stop, step = int(start), int(stop), int(step)
    count = max(0, -((start - stop) // step) if whole else math.ceil((stop - start) / step))
    index = _coordinate(build.check_shape(count), 0)
    name = dtypes.check(dtype or ("int64" if whole else "float64"))
    if count and dtypes.is_integer(name):
        _holds(name, start, start + step * (count - 1))
    if whole and dtypes.is_integer(name):  # on the way it may wrap, which the end undoes
        numbers = index * _wrapped(step) + _wrapped(start)
    else:
        numbers = index.astype("float64") * float(step) + float(start)
    return Array(numbers.astype(name)._expr, hint=chunks)


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
    is_dask = hasattr(collection, "__dask_graph__")
    if not is_dask or not isinstance(getattr(collection, "chunks", None), tuple):
        way = "compute it first, and use" if is_dask else "use"
        raise DTypeError(f"{type(collection).__name__} is no Dask array; {way} speedcube.asarray")
    name = dtypes.check(collection.dtype)
    if any(math.isnan(n) for n in collection.shape):
        raise ShapeError(
            f"a Dask array of unknown shape {collection.shape}; call its "
            "compute_chunk_sizes() first"
        )
    shape = tuple(int(n) for n in collection.shape)
    source = Deferred(collection, name, shape)
    return Array(Leaf(source, shape, 0, c_strides(shape)), hint=collection.chunks)
