"""What changes the grid of chunks, or is made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import ParameterError
from ...expr import build
from ..array import Array, array_of
from ..take import take
from .through import by_dask, called


def rechunk(
    x: Any,
    chunks: Any = "auto",
    threshold: int | None = None,
    block_size_limit: int | None = None,
    balance: bool = False,
    method: str | None = None,
) -> Array:
    """The same array with another grid of chunks: nothing is moved, and no value depends on it.

    Functions that are given blocks (`map_blocks`) get those of the new grid.

    Parameters
    ----------
    x : array_like
        Any shape.
    chunks : optional
        As in `asarray`; a dictionary names the axes whose chunks change.
    threshold, block_size_limit, method : optional
        Dask's, for the way there; nothing is moved here.
    balance : bool
        Whether chunks are made as even as Dask makes them.

    Returns
    -------
    Array
        The same elements.

    Raises
    ------
    ValueError
        For chunks that are no grid of the shape.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.rechunk(sc.ones((4, 6)), (2, 3)).chunks
    ((2, 2), (3, 3))
    """
    return array_of(x).rechunk(chunks, threshold, block_size_limit, balance, method)


def unify_chunks(*args: Any, **kwargs: Any) -> tuple[dict[Any, Any], list[Array]]:
    """Arrays on one grid for each index of their axes.

    Parameters
    ----------
    *args : arrays, each with its indices
        As `blockwise` takes them.
    **kwargs
        Dask's ``warn``.

    Returns
    -------
    dict, list of Array
        The chunks of each index, and the arrays on them.

    Raises
    ------
    ValueError
        Where the sizes of axes differ.

    Examples
    --------
    >>> import speedcube as sc
    >>> x, y = sc.ones(6, chunks=3), sc.ones(6, chunks=2)
    >>> grid, arrays = sc.unify_chunks(x, "i", y, "i")
    >>> grid
    {'i': (2, 1, 1, 2)}
    """
    import dask.array

    arrays = [array_of(one) for one in args[::2]]
    outlines = [dask.array.empty(one.shape, chunks=one.chunks, dtype=one.dtype) for one in arrays]
    pairs = [one for pair in zip(outlines, args[1::2], strict=True) for one in pair]
    grid, cut = dask.array.core.unify_chunks(*pairs, **kwargs)
    return grid, [one.rechunk(like.chunks) for one, like in zip(arrays, cut, strict=True)]


def shuffle(x: Any, indexer: Sequence[Sequence[int]], axis: int, chunks: Any = "auto") -> Array:
    """Elements along an axis put in groups, each a chunk or a part of one.

    Parameters
    ----------
    x : array_like
        Of one axis or more.
    indexer : list of lists of int
        The positions of each group.
    axis : int
        Along which axis.
    chunks : "auto"
        How groups become chunks: as Dask has them.

    Returns
    -------
    Array
        Exact: elements, moved.

    Raises
    ------
    ValueError
        For positions that are not there, and for other chunks.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.shuffle(sc.arange(4) * 10, [[3, 0], [1, 2]], 0).compute()
    array([30,  0, 10, 20])
    """
    import dask.array

    array = array_of(x)
    k = build.check_axis(axis, array.ndim)
    if not all(isinstance(group, (list, tuple, range, np.ndarray)) for group in indexer):
        raise ParameterError("shuffle takes lists of positions, one for each group")
    if chunks != "auto":
        raise ParameterError(f"shuffle takes chunks='auto' only, not {chunks!r}")
    order = np.concatenate([np.asarray(group, np.int64) for group in indexer])
    outline = dask.array.empty(array.shape, chunks=array.chunks, dtype=array.dtype)
    groups = [list(map(int, group)) for group in indexer]
    return take(array, order, k).rechunk(outline.shuffle(groups, k).chunks)


def coarsen(
    reduction: Callable[..., Any],
    x: Any,
    axes: dict[int, int],
    trim_excess: bool = False,
    **kwargs: Any,
) -> Array:
    """A reduction of groups of neighbours along axes.

    Parameters
    ----------
    reduction : callable
        NumPy's or ours, as ``np.mean``: an expression, with the law. Another is called with blocks.
    x : array_like
        Any shape.
    axes : dict
        By axis: how many neighbours become one.
    trim_excess : bool
        Whether what is left over at the end of an axis is left out; else it is refused.
    **kwargs
        What else `reduction` takes.

    Returns
    -------
    Array
        Shorter along `axes`.

    Raises
    ------
    ValueError
        Where an axis is no multiple.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.coarsen(np.sum, sc.arange(6), {0: 2}).compute()
    array([1, 5, 9])
    """
    array = array_of(x)
    steps = {build.check_axis(k, array.ndim): int(n) for k, n in axes.items()}
    kept = [n - n % steps.get(k, 1) for k, n in enumerate(array.shape)]
    if not trim_excess and kept != list(array.shape):
        raise ParameterError(
            f"coarsen: the axes of {array.shape} are not multiples of {steps}; cut them, or give "
            "trim_excess=True"
        )
    module = getattr(reduction, "__module__", None) or ""
    if module.partition(".")[0] not in ("numpy", "speedcube"):
        return _coarsened_blocks(reduction, array, steps, trim_excess, kwargs)
    pairs = [(n // steps.get(k, 1), steps.get(k, 1)) for k, n in enumerate(kept)]
    cells = array[tuple(slice(n) for n in kept)].reshape([n for pair in pairs for n in pair])
    inner = tuple(range(1, cells.ndim, 2))
    return array_of(reduction(cells, axis=inner, **kwargs))


def _coarsened_blocks(
    reduction: Any, array: Array, steps: dict[int, int], trim: bool, kwargs: dict[str, Any]
) -> Array:
    import dask.array

    result: Array = called(
        "coarsen", dask.array.coarsen, reduction, array, steps, trim_excess=trim, **kwargs
    )
    return result


def push(array: Any, n: int | None, axis: int) -> Array:
    """NaN replaced by the last number before it along an axis: lazy, over blocks of whole lines.

    Parameters
    ----------
    array : array_like
        Floats; integers stay as they are.
    n : int, optional
        How many in a row at most; all by default.
    axis : int
        Along which axis.

    Returns
    -------
    Array
        Exact: elements, repeated.

    Raises
    ------
    AxisError
        For an axis that it has not.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.push(sc.asarray([1.0, np.nan, np.nan, 4.0]), 1, 0).compute()
    array([ 1.,  1., nan,  4.])
    """
    import dask.array

    lines = array_of(array)
    k = build.check_axis(axis, lines.ndim)
    most = None if n is None else build.check_integer("n", n)
    whole = lines.rechunk({k: -1})
    blocks = dask.array.map_blocks
    options = {"dtype": lines.dtype, "meta": np.empty((0,) * lines.ndim, lines.dtype)}
    result: Array = called("push", blocks, _filled, whole, most, k, **options)
    return result


def _filled(block: Any, n: int | None, axis: int) -> Any:
    """Task: whole lines, gaps in them filled."""
    shape = [1] * block.ndim
    shape[axis] = -1
    places = np.arange(block.shape[axis]).reshape(shape)
    last = np.maximum.accumulate(np.where(np.isnan(block), -1, places), axis=axis)
    near = last >= 0 if n is None else (last >= 0) & (places - last <= n)
    return np.where(near, np.take_along_axis(block, np.maximum(last, 0), axis), block)


@by_dask()
def reshape_blockwise(x: Any, shape: Any, chunks: Any = None) -> Array:
    """Each block reshaped by itself: elements are in another order than `reshape` has them.

    Parameters
    ----------
    x : Array
        Cut into blocks of ``x.chunks``.
    shape : int or tuple of int
        Of the result.
    chunks : tuple, optional
        Of the result, where axes are split.

    Returns
    -------
    Array
        The same elements, block after block.

    Raises
    ------
    ValueError
        Where blocks cannot be reshaped so.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.arange(8).reshape(2, 4).rechunk((2, 2))
    >>> sc.reshape_blockwise(x, (8,)).compute()
    array([0, 1, 4, 5, 2, 3, 6, 7])
    """
    raise NotImplementedError
