"""NumPy's functions that assign: to arrays of ours, which become others for all of their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...errors import AxisError, DTypeError, ParameterError, ShapeError
from ...expr import build
from ..array import Array, array_of
from ..elementwise import where
from ..namespace.ranges import arange
from ..shapes import broadcast_to
from ..take import take
from .held import elements_of
from .into import also_into_numpys
from .places import mask_of, on_host


@also_into_numpys
def put(a: Array, ind: Any, v: Any, mode: str = "raise") -> None:
    """``a.flat[ind] = v``, ``v`` repeated where it is too short.

    Parameters
    ----------
    a : Array, or an array of NumPy's
    ind : array_like of int
        Positions in C order.
    v : array_like
    mode : {'raise', 'wrap', 'clip'}
        What is done with positions out of bounds: `AxisError`; modulo ``a.size``; the first or
        the last.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.zeros(4)
    >>> sc.put(x, [1, 3], [5, 7])
    >>> x.tolist()
    [0.0, 5.0, 0.0, 7.0]
    """
    _check(a, "put")
    index, values = on_host(ind).reshape(-1), elements_of(v, a.dtype, "put").reshape(-1)
    if mode == "wrap":
        index = index % max(a.size, 1)
    elif mode == "clip":
        index = np.clip(index, 0, a.size - 1)
    elif mode != "raise":
        raise ParameterError(f"put has the modes 'raise', 'wrap' and 'clip', not {mode!r}")
    if not index.size or not values.size:
        return
    flat = a.reshape(-1)
    flat[index] = take(values, np.arange(index.size) % values.size)
    a._rebind(Array(flat.reshape(a.shape)._expr, gpu=a._gpu or flat._gpu, hint=a._grid))


@also_into_numpys
def putmask(a: Array, /, mask: Any, values: Any) -> None:
    """``a.flat[k] = values[k]`` where ``mask`` is true, ``values`` repeated where too short.

    Parameters
    ----------
    a : Array, or an array of NumPy's
    mask : array_like of bool
        The shape of ``a``.
    values : array_like

    Raises
    ------
    ShapeError
        For a mask of another shape.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.arange(5)
    >>> sc.putmask(x, x > 2, [-1, -2])
    >>> x.tolist()
    [0, 1, 2, -2, -1]
    """
    _check(a, "putmask")
    condition, several = array_of(mask).astype("bool"), array_of(values)
    if condition.size != a.size:
        raise ShapeError(f"putmask: the array has shape {a.shape}, and the mask {condition.shape}")
    if several.dtype.kind == "c" and a.dtype.kind != "c":
        raise DTypeError(
            f"putmask cannot put complex values into an array of {a.dtype}: give their .real"
        )
    dtypes.check_holds(a._expr.dtype, values)
    if not several.size:
        return
    if several.shape == a.shape:
        new = several
    else:
        place = arange(a.size, dtype="int64") % several.size
        new = take(several.reshape(-1), place).reshape(a.shape)
    _become(a, where(condition.reshape(a.shape), new.astype(a.dtype), a))


@also_into_numpys
def place(arr: Array, mask: Any, vals: Any) -> None:
    """The first elements of ``vals``, in order, where ``mask`` is true, repeated where too few.

    Parameters
    ----------
    arr : Array, or an array of NumPy's
    mask : array_like of bool
        As many elements as ``arr``.
    vals : array_like

    Raises
    ------
    ParameterError
        Where something is to be placed and ``vals`` is empty.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.arange(5)
    >>> sc.place(x, x > 2, [44, 55])
    >>> x.tolist()
    [0, 1, 2, 44, 55]
    """
    _check(arr, "place")
    condition = array_of(mask).astype("bool")
    if condition.size != arr.size:
        raise ShapeError(f"place: the array has shape {arr.shape}, and the mask {condition.shape}")
    values = elements_of(vals, arr.dtype, "place").reshape(-1)
    condition = condition.reshape(arr.shape)
    if not values.size:
        if mask_of(condition).count:
            raise ParameterError("place has no values to put where the mask is true")
        return
    number = condition.reshape(-1).cumsum() - 1
    new = take(values, number % values.size).reshape(arr.shape)
    _become(arr, where(condition, new.astype(arr.dtype), arr))


@also_into_numpys
def copyto(dst: Array, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    """``dst[...] = src``, where ``where`` is true.

    Parameters
    ----------
    dst : Array, or an array of NumPy's
    src : array_like
        Broadcast to ``dst``.
    casting : {'no', 'equiv', 'safe', 'same_kind', 'unsafe'}
    where : array_like of bool
        Broadcast to ``dst``.

    Raises
    ------
    DTypeError
        Where ``casting`` does not allow the dtype of ``src`` to become that of ``dst``.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.zeros(3)
    >>> sc.copyto(x, [1.0, 2.0, 3.0], where=[True, False, True])
    >>> x.tolist()
    [1.0, 0.0, 3.0]
    """
    _check(dst, "copyto")
    plain = isinstance(src, (bool, int, float))
    kind: Any = np.min_scalar_type(src) if plain else array_of(src).dtype
    if isinstance(src, int) and not isinstance(src, bool) and dst.dtype.kind in "iu":
        kind = dst.dtype  # a Python integer is of any integer dtype that holds it
    if not dtypes.castable(kind, dst.dtype, casting):
        raise DTypeError(
            f"copyto cannot cast {kind} to {dst.dtype} by casting={casting!r}; casting='unsafe' "
            "does"
        )
    if where is True:
        dst[...] = src
        return
    if array_of(where).dtype != bool:
        raise DTypeError(f"copyto: where= takes bools, not {array_of(where).dtype}; say where != 0")
    dst[broadcast_to(array_of(where), dst.shape)] = _source(src, dst, where)


def _source(src: Any, dst: Array, where: Any) -> Any:
    """What the elements of ``dst`` become where ``where``: selected as they are."""
    if isinstance(src, (bool, int, float)):
        return src
    condition = broadcast_to(array_of(where), dst.shape)
    return broadcast_to(src, dst.shape)[condition]


@also_into_numpys
def fill_diagonal(a: Array, val: Any, wrap: bool = False) -> None:
    """``val`` at the places whose indices are all the same.

    Parameters
    ----------
    a : Array, or an array of NumPy's
        Two axes or more; all of one extent where there are more than two.
    val : array_like
        Repeated where it is too short.
    wrap : bool
        Whether, in a tall matrix, the diagonal begins again below itself.

    Raises
    ------
    ParameterError
        For an array of one axis, or of more than two that differ.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.zeros((2, 2))
    >>> sc.fill_diagonal(x, 3)
    >>> x.tolist()
    [[3.0, 0.0], [0.0, 3.0]]
    """
    _check(a, "fill_diagonal")
    if a.ndim < 2:
        raise ParameterError(f"fill_diagonal takes two axes or more, not {a.ndim}")
    end = None
    if a.ndim == 2:
        step = a.shape[1] + 1
        if not wrap:
            end = a.shape[1] * a.shape[1]
    else:
        if len(set(a.shape)) > 1:
            raise ParameterError(f"fill_diagonal takes axes of one extent, not {a.shape}")
        step = 1 + sum(a.shape[0] ** k for k in range(1, a.ndim))
    put(a, np.arange(a.size)[:end:step], val)


@also_into_numpys
def put_along_axis(arr: Array, indices: Any, values: Any, axis: int | None) -> None:
    """``values`` at ``indices`` along ``axis``, each line by its own line of ``indices``.

    Parameters
    ----------
    arr : Array, or an array of NumPy's
    indices : array_like of int
        As many axes as ``arr``; they broadcast along the others.
    values : array_like
        Broadcast to ``indices``.
    axis : int or None
        None: of all elements in C order.

    Raises
    ------
    ShapeError
        For indices of another number of axes.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.asarray([[10, 30, 20], [60, 40, 50]])
    >>> sc.put_along_axis(x, [[1], [0]], 99, axis=1)
    >>> x.tolist()
    [[10, 99, 20], [99, 40, 50]]
    """
    _check(arr, "put_along_axis")
    index = on_host(indices)
    if axis is None:
        put(arr, index, values)
        return
    k = build.check_axis(axis, arr.ndim)
    if index.ndim != arr.ndim:
        raise ShapeError(
            f"put_along_axis wants as many axes in indices as in the array: {index.ndim} and "
            f"{arr.ndim}"
        )
    extent = arr.shape[k]
    if index.size and not -extent <= index.min() <= index.max() < extent:
        raise AxisError(
            f"put_along_axis: indices from {index.min()} to {index.max()} are out of bounds for "
            f"axis {k} with size {extent}"
        )
    places = [
        np.arange(n).reshape([-1 if a == j else 1 for a in range(arr.ndim)])
        for j, n in enumerate(arr.shape)
    ]
    places[k] = index
    arr[tuple(places)] = values


def _become(array: Array, other: Array) -> None:
    array._rebind(Array(other._expr, gpu=array._gpu or other._gpu, hint=array._grid))


def _check(array: Any, name: str) -> None:
    if not isinstance(array, Array):
        raise DTypeError(
            f"{name} assigns to an array of speedcube or of NumPy, not to {type(array).__name__}"
        )
