"""Blocks with a border of their neighbours' elements: `dask.array.overlap`'s functions."""

from __future__ import annotations

from typing import Any

from ..array import Array
from .mapping import map_overlap
from .moving import push
from .neighbours import as_dask_says, with_borders
from .through import by_dask
from .windows import sliding_window_view

__all__ = [
    "map_overlap",
    "overlap",
    "push",
    "sliding_window_view",
    "trim_internal",
    "trim_overlap",
]


def _with_borders(x: Any, depth: Any, boundary: Any, *, allow_rechunk: bool = True) -> Any:
    each = as_dask_says(x, depth, boundary)
    return None if each is None else with_borders(x, *each, allow_rechunk)


@by_dask("dask.array.overlap", _with_borders)
def overlap(x: Any, depth: Any, boundary: Any, *, allow_rechunk: bool = True) -> Array:
    """An array whose chunks have a border of their neighbours' elements: longer than `x`.

    Parameters
    ----------
    x : Array
        Cut into blocks of ``x.chunks``.
    depth : int, tuple or dict
        How many elements on each side.
    boundary : str, number, tuple or dict
        What lies outside of the array, as in `map_overlap`.
    allow_rechunk : bool
        Whether blocks smaller than `depth` are put together.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ValueError
        Where `depth` is more than an axis has.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.overlap.overlap(sc.arange(4, chunks=2), 1, "none").compute()
    array([0, 1, 2, 1, 2, 3])
    """
    raise NotImplementedError


@by_dask("dask.array.overlap")
def trim_internal(x: Any, axes: dict[int, Any], boundary: Any = None) -> Array:
    """Cut the border off each chunk.

    Parameters
    ----------
    x : Array
        As `overlap` makes it.
    axes : dict
        By axis: how many elements on each side.
    boundary : str, number, tuple or dict, optional
        What `overlap` was given.

    Returns
    -------
    Array
        Lazy.

    Examples
    --------
    >>> import speedcube as sc
    >>> wide = sc.overlap.overlap(sc.arange(4, chunks=2), 1, 0)
    >>> sc.overlap.trim_internal(wide, {0: 1}).compute()
    array([0, 1, 2, 3])
    """
    raise NotImplementedError


@by_dask("dask.array.overlap")
def trim_overlap(x: Any, depth: Any, boundary: Any = None) -> Array:
    """Cut off each chunk what `overlap` with the same arguments added.

    Parameters
    ----------
    x : Array
        As `overlap` makes it.
    depth : int, tuple or dict
        How many elements on each side.
    boundary : str, number, tuple or dict, optional
        What `overlap` was given.

    Returns
    -------
    Array
        Lazy.

    Examples
    --------
    >>> import speedcube as sc
    >>> wide = sc.overlap.overlap(sc.arange(4, chunks=2), 1, 0)
    >>> sc.overlap.trim_overlap(wide, 1, 0).compute()
    array([0, 1, 2, 3])
    """
    raise NotImplementedError
