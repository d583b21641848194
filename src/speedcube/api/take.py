"""Elements at given indices: `take` and `take_along_axis`."""

from __future__ import annotations

from typing import Any

from ..errors import AxisError, ParameterError, ShapeError
from ..expr import build, gather
from ..expr.views import broadcast_shapes, broadcast_to
from .array import Array, array_of
from .indexing.places import checked
from .methods.keywords import put
from .sources import asarray


def take(
    a: Any, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
) -> Array:
    """``a`` at ``indices`` along ``axis``. Nothing is moved: elements are read where needed.

    Parameters
    ----------
    a : array_like
    indices : array_like of int
        Negative ones count from the end. All are checked before anything is read, for which those
        that are lazy, and may be out of bounds by what is known of them, are computed once.
    axis : int, optional
        None: of all elements in C order.
    out : Array, optional
        Takes the result.
    mode : {'raise', 'wrap', 'clip'}
        What is done with indices out of bounds: an error; modulo the extent; the first or last.

    Returns
    -------
    Array
        The shape of ``a`` with ``axis`` replaced by the shape of ``indices``.

    Raises
    ------
    AxisError
        An IndexError: for an index out of bounds.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.take(sc.arange(5) * 10, [0, -1, 2]).tolist()
    [0, 40, 20]
    """
    array = asarray(a)
    if axis is None:
        array, axis = array.reshape(-1), 0
    array = array if array.ndim else array.reshape(1)  # as NumPy has it
    k = build.check_axis(axis, array.ndim)
    index = checked(_within(indices, array.shape[k], mode), array.shape[k], k)
    taken = Array(gather.take(array._expr, index._expr, k), gpu=array._gpu or index._gpu)
    return put(out, taken, "take")


def _within(indices: Any, extent: int, mode: str) -> Any:
    """``indices`` held inside an axis of ``extent``, as ``mode`` says."""
    if mode == "raise":
        return indices
    places = array_of(indices)
    if mode == "wrap":
        return places % max(extent, 1)
    if mode == "clip":
        return places.clip(0, max(extent - 1, 0))
    raise ParameterError(f"take has the modes 'raise', 'wrap' and 'clip', not {mode!r}")


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Array:
    """``arr`` at ``indices`` along ``axis``, each line of it by its own line of ``indices``.

    Parameters
    ----------
    arr : array_like
    indices : array_like of int
        As many axes as ``arr``; both broadcast along the others. Checked as by `take`.
    axis : int or None
        None: of all elements in C order.

    Returns
    -------
    Array

    Raises
    ------
    ShapeError
        For indices of another number of axes.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.asarray([[10, 30, 20], [60, 40, 50]])
    >>> sc.take_along_axis(x, [[1], [0]], axis=1).tolist()
    [[30], [60]]
    """
    array = asarray(arr)
    if axis is None:
        array, axis = array.reshape(-1), 0
    k = build.check_axis(axis, array.ndim)
    index = checked(indices, array.shape[k], k)
    if index.ndim != array.ndim:
        raise ShapeError(
            f"take_along_axis wants as many axes in indices as in the array: {index.ndim} and "
            f"{array.ndim}"
        )
    lines = (tuple(1 if a == k else n for a, n in enumerate(y.shape)) for y in (array, index))
    try:
        others = broadcast_shapes(*lines)
    except ShapeError as err:  # NumPy's is an IndexError here
        raise AxisError(f"take_along_axis: array and indices but for axis {k}: {err}") from err

    def spread(y: Array) -> Any:
        return broadcast_to(y._expr, (*others[:k], y.shape[k], *others[k + 1 :]))

    gpu = array._gpu or index._gpu
    return Array(gather.take_along(spread(array), spread(index), k), gpu=gpu)
