"""Functions of others, called with blocks: one by one, with their neighbours, by their indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..array import Array
from .neighbours import of_neighbours
from .through import by_dask, reduced_at_once
from .ufuncs import as_operation


@by_dask(ours=as_operation)
def map_blocks(
    func: Callable[..., Any],
    *args: Any,
    name: str | None = None,
    token: str | None = None,
    dtype: Any = None,
    chunks: Any = None,
    drop_axis: Any = None,
    new_axis: Any = None,
    enforce_ndim: bool = False,
    meta: Any = None,
    **kwargs: Any,
) -> Array:
    """A function of each block: lazy, and called with arrays of NumPy's, or CuPy's on a GPU.

    Blocks are those of ``x.chunks``, on every rung; each is the function's own, to write into as
    well. What it does is covered by no law, which `Array.explain` says.

    Parameters
    ----------
    func : callable
        Takes a block of each array, and gives a block. It gets ``block_id=`` and ``block_info=``
        where it has parameters of these names.
    *args : arrays and others
        Arrays are cut into blocks, as if broadcast; NumPy's and others are given whole.
    name, token : str, optional
        Dask's, for names of tasks.
    dtype : dtype, optional
        What `func` gives; else it is called with an empty block to find out.
    chunks : tuple, optional
        The sizes of the blocks that it gives, where they differ.
    drop_axis, new_axis : int or sequence of int, optional
        Axes that blocks lose and get.
    enforce_ndim : bool
        Whether the number of axes of each block is held against what was said.
    meta : array, optional
        An empty array like what `func` gives.
    **kwargs
        What else `func` takes.

    Returns
    -------
    Array
        Lazy; what is made of it is one kernel again.

    Raises
    ------
    ValueError
        Where no dtype can be found, and, when it is computed, for blocks of another shape.
    TypeError
        When it is computed, for blocks of another dtype.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.arange(6, chunks=3)
    >>> (sc.map_blocks(lambda block: block[::-1], x) + 1).compute()
    array([3, 2, 1, 6, 5, 4])
    """
    raise NotImplementedError


@by_dask(ours=of_neighbours)
def map_overlap(
    func: Callable[..., Any],
    *args: Any,
    depth: Any = None,
    boundary: Any = None,
    trim: bool = True,
    align_arrays: bool = True,
    allow_rechunk: bool = True,
    **kwargs: Any,
) -> Array:
    """A function of each block with a border of its neighbours' elements: lazy.

    Parameters
    ----------
    func : callable
        Takes blocks, and gives one of the same shape.
    *args : arrays
        Cut into blocks of ``x.chunks``.
    depth : int, tuple, dict or list
        How many elements of its neighbours a block gets: on all sides, of each axis, or of each
        array.
    boundary : {"reflect", "periodic", "nearest", "none"} or number, tuple, dict, list
        What lies outside of the array.
    trim : bool
        Whether the border is cut off from what `func` gives. Else, and without ``chunks=``, a call
        with zeros finds whether `func` does that itself, or the border stays.
    align_arrays : bool
        Whether arrays are cut alike.
    allow_rechunk : bool
        Whether blocks smaller than `depth` are put together.
    **kwargs
        What else `map_blocks` and `func` take.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ValueError
        As `map_blocks` does, and where `depth` is more than an axis has.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.arange(6, chunks=3)
    >>> sc.map_overlap(lambda v: v + np.roll(v, 1), x, depth=1, boundary=0).compute()
    array([0, 1, 3, 5, 7, 9])
    """
    raise NotImplementedError


@by_dask()
def blockwise(
    func: Callable[..., Any],
    out_ind: Any,
    *args: Any,
    name: str | None = None,
    token: str | None = None,
    dtype: Any = None,
    adjust_chunks: Any = None,
    new_axes: Any = None,
    align_arrays: bool = True,
    concatenate: bool | None = None,
    meta: Any = None,
    **kwargs: Any,
) -> Array:
    """A function of blocks that are paired by the indices of their axes, as in `einsum`: lazy.

    Parameters
    ----------
    func : callable
        Takes blocks, and gives one.
    out_ind : iterable
        The indices of the result's axes.
    *args : arrays, each with its indices
        None as the indices of what is given whole.
    name, token : str, optional
        Dask's, for names of tasks.
    dtype : dtype, optional
        What `func` gives.
    adjust_chunks : dict, optional
        By index: how the sizes of blocks change.
    new_axes : dict, optional
        The sizes of indices that no array has.
    align_arrays : bool
        Whether arrays are cut alike.
    concatenate : bool, optional
        Whether blocks along an index that the result lacks are put together, or given as lists.
    meta : array, optional
        An empty array like what `func` gives.
    **kwargs
        What else `func` takes.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ValueError
        Where arrays do not fit.

    Examples
    --------
    >>> import speedcube as sc
    >>> x, y = sc.arange(4, chunks=2), sc.arange(3, chunks=3)
    >>> sc.blockwise(np.multiply.outer, "ij", x, "i", y, "j", dtype=int).compute()
    array([[0, 0, 0],
           [0, 1, 2],
           [0, 2, 4],
           [0, 3, 6]])
    """
    raise NotImplementedError


def atop(*args: Any, **kwargs: Any) -> Array:
    """`blockwise` by the name that it had.

    Parameters
    ----------
    *args, **kwargs
        Those of `blockwise`.

    Returns
    -------
    Array
        Lazy.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.atop(np.negative, "i", sc.arange(3), "i", dtype=int).compute()
    array([ 0, -1, -2])
    """
    return blockwise(*args, **kwargs)


@by_dask(ours=reduced_at_once)
def reduction(
    x: Any,
    chunk: Callable[..., Any],
    aggregate: Callable[..., Any],
    axis: Any = None,
    keepdims: bool = False,
    dtype: Any = None,
    split_every: Any = None,
    combine: Callable[..., Any] | None = None,
    name: str | None = None,
    out: Any = None,
    concatenate: bool = True,
    output_size: int = 1,
    meta: Any = None,
    weights: Any = None,
) -> Array:
    """A reduction of one's own: of each block, then of what blocks gave, as a tree: lazy.

    Parameters
    ----------
    x : Array
        Cut into blocks of ``x.chunks``.
    chunk : callable
        Takes a block, ``axis=`` and ``keepdims=``.
    aggregate : callable
        Takes what blocks gave, put together, and the same; it gives results.
    axis : int or sequence of int, optional
        Which axes; all by default.
    keepdims : bool
        Whether reduced axes stay, with size one.
    dtype : dtype
        Of the results; it has to be given.
    split_every : int or dict, optional
        How many blocks are put together at once.
    combine : callable, optional
        Between the two; `aggregate` by default.
    name : str, optional
        Dask's, for names of tasks.
    out : None
        Refused.
    concatenate : bool
        Whether functions get arrays, or lists of what blocks gave.
    output_size : int
        How many elements a result has along reduced axes.
    meta : array, optional
        An empty array like the results.
    weights : array, optional
        Given to `chunk` as well.

    Returns
    -------
    Array
        Lazy; covered by no law: a sum is that of NumPy, block after block.

    Raises
    ------
    ValueError
        Without `dtype`.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.arange(6, chunks=2)
    >>> sc.reduction(x, np.max, np.max, dtype=x.dtype).compute()
    np.int64(5)
    """
    raise NotImplementedError
