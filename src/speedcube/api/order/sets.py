"""Sets of numbers: what two arrays have together, in common, or one of them alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ..array import Array, array_of
from ..functions.floats import together
from ..joining import concatenate
from ..sources import asarray
from .distinct import Values, values_of
from .lookup import isin


def _both(ar1: Any, ar2: Any, assume_unique: bool = False) -> tuple[Values, Values]:
    """Two sets in their common dtype, as they are where they ``assume_unique``."""
    x, y = together(array_of(ar1), array_of(ar2))
    if assume_unique:
        return x.reshape(-1).compute(), y.reshape(-1).compute()
    return values_of(x), values_of(y)


_NUMBERS: Final = (int, float, complex)
_common: Final = partial(np.intersect1d, assume_unique=True)
_differing: Final = partial(np.setxor1d, assume_unique=True)


def _together(function: Callable[[Values, Values], Values], x: Values, y: Values) -> Values:
    """``function`` of two sets; of float16 as float32, which NumPy sorts (`put_in_order`)."""
    wide = np.dtype("float32") if x.dtype == np.float16 else x.dtype
    found = function(x.astype(wide, copy=False), y.astype(wide, copy=False))
    return found.astype(x.dtype, copy=False)


def union1d(ar1: Any, ar2: Any) -> Array:
    """The distinct elements of two arrays together, in order. They are found when this is called.

    Parameters
    ----------
    ar1, ar2 : array_like
        Any shapes.

    Returns
    -------
    Array
        One axis, in memory.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.union1d([3, 1], [2, 3]).tolist()
    [1, 2, 3]
    """
    if isinstance(ar1, _NUMBERS) or isinstance(ar2, _NUMBERS):  # beside an array they are weak here
        kind = concatenate([ar1, ar2], axis=None).dtype
        ar1, ar2 = array_of(ar1).astype(kind), array_of(ar2).astype(kind)
    return asarray(_together(np.union1d, *_both(ar1, ar2)))


def intersect1d(
    ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The distinct elements that two arrays have in common, in order, found when this is called.

    Parameters
    ----------
    ar1, ar2 : array_like
        Any shapes.
    assume_unique : bool
        Whether no element of an array comes twice.
    return_indices : bool
        Whether the position of the first of each in both arrays is given, too.

    Returns
    -------
    Array, or a tuple of three
        One axis, in memory.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.intersect1d([3, 1, 2], [2, 3, 3]).tolist()
    [2, 3]
    """
    if return_indices:
        x, y = together(array_of(ar1), array_of(ar2))
        found = np.intersect1d(x.compute(), y.compute(), assume_unique, True)
        return tuple(map(asarray, found))
    return asarray(_together(_common, *_both(ar1, ar2, assume_unique)))


def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """The distinct elements of one array that another has not, in order, found when this is called.

    Parameters
    ----------
    ar1, ar2 : array_like
        Any shapes.
    assume_unique : bool
        Whether no element of an array comes twice; then the order is that of `ar1`.

    Returns
    -------
    Array
        One axis, in memory.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.setdiff1d([3, 1, 2, 1], [2]).tolist()
    [1, 3]
    """
    array = array_of(ar1).reshape(-1)
    x, y = _both(array, ar2, assume_unique)
    if x.dtype == array.dtype:
        return asarray(np.setdiff1d(x, y, assume_unique=True))
    own = array.compute() if assume_unique else values_of(array)
    other = isin(own, ar2, invert=True)  # cast back, a wide integer is another one
    return asarray(own[other.compute()])


def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Array:
    """The distinct elements that just one of two arrays has, in order, found when this is called.

    Parameters
    ----------
    ar1, ar2 : array_like
        Any shapes.
    assume_unique : bool
        Whether no element of an array comes twice.

    Returns
    -------
    Array
        One axis, in memory.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.setxor1d([3, 1, 2], [2, 4]).tolist()
    [1, 3, 4]
    """
    return asarray(_together(_differing, *_both(ar1, ar2, assume_unique)))
