"""All windows of an array."""

from __future__ import annotations

from typing import Any

from ..array import Array
from .through import by_dask


@by_dask("dask.array.overlap")
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, automatic_rechunk: bool = True
) -> Array:
    """All windows of an array, each as axes behind those of where it begins.

    Parameters
    ----------
    x : Array
        Cut into blocks of ``x.chunks``.
    window_shape : int or tuple of int
        The size of a window, along each of `axis`.
    axis : int or tuple of int, optional
        Along which axes; all by default.
    automatic_rechunk : bool
        Whether chunks are cut smaller where the result's would be too large.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ValueError
        For windows larger than the array.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.overlap.sliding_window_view(sc.arange(4), 2).compute()
    array([[0, 1],
           [1, 2],
           [2, 3]])
    """
    raise NotImplementedError


def numpys_sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    """The same with NumPy's arguments; ``writeable`` and ``subok`` change nothing."""
    return sliding_window_view(x, window_shape, axis)
