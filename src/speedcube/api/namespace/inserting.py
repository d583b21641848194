"""Elements put in and taken out, and arrays made of blocks."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...errors import (
    AxisError,
    DTypeError,
    MemoryLimitError,
    ParameterError,
    ShapeError,
)
from ...expr import build
from ..array import Array, array_of
from ..indexing.held import elements_of
from ..joining import concatenate
from ..shapes import broadcast_to
from ..take import take
from .axes import moveaxis

# Up to so many stretches an array is put together of slices, which are regions of one kernel; with
# more its elements are read at computed places.
_STRETCHES: Final = 64


def delete(arr: Any, obj: Any, axis: int | None = None) -> Array:
    """Take elements out of an array.

    Parameters
    ----------
    arr : array
        The values.
    obj : int, slice, sequence of int, or mask
        Which indices go.
    axis : int, optional
        Along which axis; of all elements, in C order, where it is left out.

    Returns
    -------
    Array
        What stays.

    Raises
    ------
    IndexError
        If there is no such index.

    Examples
    --------
    >>> sc.delete(sc.arange(5), [1, 3]).compute()
    array([0, 2, 4])
    """
    x, k = _along(arr, axis)
    extent = x.shape[k]
    if (isinstance(obj, slice) and abs(obj.step or 1) == 1) or _is_index(obj):
        gone = obj if isinstance(obj, slice) else _one(obj, extent, k)
        places = range(*gone.indices(extent))
        low, high = sorted((places[0], places[-1])) if places else (0, -1)
        return concatenate([_cut(x, k, 0, low), _cut(x, k, high + 1, extent)], k)
    known = _known("delete", obj)
    if _are_few(known):
        ends = sorted({int(at) for at in _places(known, extent, k, extent)})
        starts = [0, *(at + 1 for at in ends)]
        cuts = zip(starts, [*ends, extent], strict=True)
        return concatenate([_cut(x, k, a, b) for a, b in cuts], k)
    return _chosen(x, _numpys("delete", k, extent, known), k)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Array:
    """Put values into an array, before some of its indices.

    Parameters
    ----------
    arr : array
        The values that are there.
    obj : int, slice, sequence of int, or mask
        Before which indices; each counts in the array as it was.
    values : array
        What is put there, converted to the dtype of ``arr``. It broadcasts.
    axis : int, optional
        Along which axis; of all elements, in C order, where it is left out.

    Returns
    -------
    Array
        Both.

    Raises
    ------
    IndexError
        If there is no such index.
    ValueError
        If the values do not broadcast.

    Examples
    --------
    >>> sc.insert(sc.arange(4), [1, 3], 9).compute()
    array([0, 9, 1, 2, 9, 3])
    """
    x, k = _along(arr, axis)
    new = elements_of(values, x.dtype, "insert").astype(x.dtype)
    new = new[(None,) * (x.ndim - new.ndim)] if new.ndim < x.ndim else new
    known = _known("insert", obj)
    extent = x.shape[k]
    if not isinstance(known, slice) and known.dtype.kind in "iu" and known.size == 1:
        at = int(known.reshape(()))
        if not -extent <= at <= extent:
            raise AxisError(f"index {at} is out of bounds for axis {k} with size {extent}")
        at += extent if at < 0 else 0
        new = moveaxis(new, 0, k) if not known.ndim else new
        pieces = [_cut(x, k, 0, at), _spread(new, x, k, new.shape[k]), _cut(x, k, at, extent)]
        return concatenate(pieces, k)
    count = len(range(*known.indices(extent))) if isinstance(known, slice) else _count(known)
    if _are_few(known):
        places = _places(known, extent, k, extent + 1)
        spread = _spread(new, x, k, count)
        pieces, begin = [], 0
        for number in np.argsort(places, kind="stable").tolist():
            end = int(places[number])
            pieces += [_cut(x, k, begin, end), _cut(spread, k, number, number + 1)]
            begin = end
        return concatenate([*pieces, _cut(x, k, begin, extent)], k)
    order = _numpys("insert", k, extent, known, np.arange(extent, extent + count))
    return _chosen(concatenate([x, _spread(new, x, k, count)], k), order, k)


def _count(known: Any) -> int:
    return int(known.sum()) if known.dtype == np.bool else known.size


def _along(arr: Any, axis: int | None) -> tuple[Array, int]:
    x = array_of(arr)
    return (x.ravel(), 0) if axis is None else (x, build.check_axis(axis, x.ndim))


def _is_index(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _one(index: Any, extent: int, axis: int) -> slice:
    at = int(index)
    if not -extent <= at < extent:
        raise AxisError(f"index {at} is out of bounds for axis {axis} with size {extent}")
    return slice(at % extent, at % extent + 1)


def _known(name: str, value: Any) -> Any:
    """Indices as NumPy takes them: a slice, or an array of integers or bool in memory."""
    if isinstance(value, slice):
        return value
    known = np.asarray(value)  # those that are lazy are computed: how many there are is a size
    if name == "insert" and known.ndim > 1:
        raise ParameterError(f"insert takes indices of one axis, not of {known.ndim}")
    if known.size or isinstance(value, (Array, np.ndarray)):
        return known
    return known.astype(np.intp)  # an empty list says no dtype


def _are_few(known: Any) -> bool:
    return (
        not isinstance(known, slice) and known.dtype.kind in "iu" and known.size < _STRETCHES // 2
    )


def _places(known: Any, extent: int, axis: int, end: int) -> Any:
    """Indices from 0 on, below ``end``."""
    places = known.reshape(-1).astype(np.int64)
    outside = (places < -extent) | (places >= end)
    if outside.any():
        raise AxisError(
            f"index {places[outside][0]} is out of bounds for axis {axis} with size {extent}"
        )
    return np.where(places < 0, places + extent, places)


def _numpys(name: str, axis: int, extent: int, *args: Any) -> Any:
    """What NumPy's function makes of the numbers of all places; its refusals are ours."""
    try:
        return getattr(np, name)(np.arange(extent), *args)
    except MemoryError as err:
        raise MemoryLimitError(
            f"{name}: the {extent} places of axis {axis} do not fit in memory, which a mask or "
            "many indices need; slices do not"
        ) from err
    except IndexError as err:
        raise AxisError(f"{name} along axis {axis}: {err}") from err
    except ValueError as err:
        raise ShapeError(f"{name} along axis {axis}: {err}") from err
    except TypeError as err:
        raise DTypeError(f"{name} along axis {axis}: {err}") from err


def _cut(x: Array, axis: int, start: int, stop: int) -> Array:
    return x[(*(slice(None),) * axis, slice(start, stop))]


def _spread(new: Array, like: Array, axis: int, count: int) -> Array:
    """``new`` in the shape of ``like`` but for ``count`` indices along ``axis``."""
    shape = (*like.shape[:axis], count, *like.shape[axis + 1 :])
    if new.ndim > like.ndim:
        extra = new.ndim - like.ndim
        if any(n != 1 for n in new.shape[:extra]):
            raise ShapeError(f"insert: values of shape {new.shape} do not fit {shape}")
        new = new.reshape(new.shape[extra:])
    return broadcast_to(new, shape)


def _chosen(x: Array, places: Any, axis: int) -> Array:
    """``x`` at ``places`` along ``axis``: slices where they are few, else read one by one."""
    ends = np.flatnonzero(np.diff(places) != 1) + 1
    if len(ends) >= _STRETCHES:
        return take(x, places, axis)
    runs = [run for run in np.split(places, ends) if run.size]
    if not runs:
        return _cut(x, axis, 0, 0)
    return concatenate([_cut(x, axis, int(run[0]), int(run[-1]) + 1) for run in runs], axis)


def block(arrays: Any, *, allow_unknown_chunksizes: Any = None) -> Array:
    """Put an array together of nested lists of blocks.

    Parameters
    ----------
    arrays : array, or nested lists of arrays
        Those of the innermost lists are put together along the last axis, and so on outwards.
    allow_unknown_chunksizes : optional
        As in `concatenate`.

    Returns
    -------
    Array
        All of them.

    Raises
    ------
    TypeError
        If there is a tuple, which stands for no block.
    ValueError
        If lists are empty or not equally deep, or shapes do not fit.

    Examples
    --------
    >>> x = sc.ones((1, 2), int)
    >>> sc.block([[x, x * 2], [x * 3, x * 4]]).compute()
    array([[1, 1, 2, 2],
           [3, 3, 4, 4]])
    """
    depth = _depth(arrays, ())
    leaves = list(_innermost(arrays))
    ndim = max(depth, *(one.ndim for one in leaves))
    return _block(arrays, depth, ndim)


def _depth(value: Any, path: tuple[int, ...]) -> int:
    """How deep lists are nested: equally deep everywhere."""
    where = "arrays" + "".join(f"[{k}]" for k in path)
    if isinstance(value, tuple):
        raise DTypeError(f"block takes lists, and {where} is a tuple")
    if not isinstance(value, list):
        return 0
    if not value:
        raise ParameterError(f"block: the list {where} is empty")
    depths = {_depth(one, (*path, k)) for k, one in enumerate(value)}
    if len(depths) > 1:
        raise ParameterError(f"block: lists below {where} are not equally deep: {sorted(depths)}")
    return 1 + depths.pop()


def _innermost(value: Any) -> Any:
    if isinstance(value, list):
        for one in value:
            yield from _innermost(one)
    else:
        yield array_of(value)


def _block(value: Any, depth: int, ndim: int) -> Array:
    if not depth:
        x = array_of(value)
        return x[(None,) * (ndim - x.ndim)] if x.ndim < ndim else x.copy()
    return concatenate([_block(one, depth - 1, ndim) for one in value], -depth)
