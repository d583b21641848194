"""What ``linalg`` has in common with the namespace, with its own defaults: the Array API's."""

from __future__ import annotations

from typing import Any

from ..api.array import Array, array_of
from ..api.functions import words
from ..api.namespace import broadcasting
from ..errors import MatrixError, ShapeError
from ..expr import build


def outer(x1: Any, x2: Any, /) -> Array:
    """Multiply all pairs of elements of two vectors.

    Parameters
    ----------
    x1, x2 : array
        Vectors.

    Returns
    -------
    Array
        A matrix, the products with an element of ``x1`` in a row.

    Raises
    ------
    ValueError
        If one has not one axis.

    Examples
    --------
    >>> sc.linalg.outer([1, 2], [10, 20]).compute()
    array([[10, 20],
           [20, 40]])
    """
    x, y = array_of(x1), array_of(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(
            f"linalg.outer takes vectors, not shapes {x.shape} and {y.shape}; speedcube.outer "
            "takes arrays as vectors"
        )
    return broadcasting.outer(x, y)


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of three elements.

    Parameters
    ----------
    x1, x2 : array
        The vectors.
    axis : int
        Along which axis they lie.

    Returns
    -------
    Array
        The products.

    Raises
    ------
    ValueError
        If vectors have not three elements.

    Examples
    --------
    >>> sc.linalg.cross([1, 0, 0], [0, 1, 0]).compute()
    array([0, 0, 1])
    """
    vectors = array_of(x1), array_of(x2)
    for one in vectors:
        if one.shape[build.check_axis(axis, one.ndim)] != 3:
            raise ShapeError(
                f"linalg.cross takes vectors of three elements, not arrays of shape {one.shape} "
                f"along axis {axis}; speedcube.cross takes two, too"
            )
    return words.cross(*vectors, axis=axis)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices along the last two axes.

    Parameters
    ----------
    x : array
        The matrices.
    offset : int
        Which diagonal; above the main one where it is positive.

    Returns
    -------
    Array
        A view.

    Raises
    ------
    ValueError
        If there are not two axes.

    Examples
    --------
    >>> sc.linalg.diagonal([[1, 2], [3, 4]]).compute()
    array([1, 4])
    """
    return _matrices("diagonal", x).diagonal(offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """Sum the diagonals of matrices along the last two axes: exact sums, rounded once.

    Parameters
    ----------
    x : array
        The matrices.
    offset : int
        Which diagonal; above the main one where it is positive.
    dtype : dtype, optional
        That of the sums.

    Returns
    -------
    Array
        The sums.

    Raises
    ------
    ValueError
        If there are not two axes.

    Examples
    --------
    >>> sc.linalg.trace([[1, 2], [3, 4]]).compute()
    np.int64(5)
    """
    return diagonal(_matrices("trace", x), offset=offset).sum(axis=-1, dtype=dtype)


def _matrices(name: str, x: Any) -> Array:
    array = array_of(x)
    if array.ndim < 2:
        raise MatrixError(
            f"{name} takes matrices, arrays of two axes or more, not one of shape {array.shape}"
        )
    return array
