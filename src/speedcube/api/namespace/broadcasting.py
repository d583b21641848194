"""Arrays brought to one shape, or to enough axes; and products of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...expr import build, views
from ..array import Array, array_of, elementwise
from ..methods.keywords import put
from ..shapes import broadcast_to


def broadcast_shapes(*args: Any) -> tuple[int, ...]:
    """Return the shape that arrays of several shapes broadcast to.

    Parameters
    ----------
    *args : int or tuple of int
        The shapes.

    Returns
    -------
    tuple of int
        The common shape.

    Raises
    ------
    ValueError
        If they do not broadcast.

    Examples
    --------
    >>> sc.broadcast_shapes((3, 1), (1, 4), 4)
    (3, 4)
    """
    return views.broadcast_shapes(*(build.check_shape(shape) for shape in args))


def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Array, ...]:
    """Repeat arrays to the shape that they broadcast to.

    Parameters
    ----------
    *args : arrays
        The arrays.
    subok : bool
        NumPy's; it changes nothing here.

    Returns
    -------
    tuple of Array
        Views of the same elements.

    Raises
    ------
    ValueError
        If they do not broadcast.

    Examples
    --------
    >>> a, b = sc.broadcast_arrays(sc.arange(3), [[1], [2]])
    >>> a.shape, b.shape
    ((2, 3), (2, 3))
    """
    several = [array_of(one) for one in args]
    shape = views.broadcast_shapes(*(one.shape for one in several))
    return tuple(broadcast_to(one, shape) for one in several)


def _each(arys: tuple[Any, ...], raised: Callable[[Array], Array]) -> Any:
    several = tuple(raised(array_of(one)) for one in arys)
    return several[0] if len(several) == 1 else several


def atleast_1d(*arys: Any) -> Any:
    """Give arrays one axis at least.

    Parameters
    ----------
    *arys : arrays
        The arrays.

    Returns
    -------
    Array, or tuple of Array
        As many as are given: views.

    Examples
    --------
    >>> sc.atleast_1d(3.0).shape
    (1,)
    """
    return _each(arys, lambda x: x if x.ndim else x.reshape(1))


def atleast_2d(*arys: Any) -> Any:
    """Give arrays two axes at least; a vector is a row.

    Parameters
    ----------
    *arys : arrays
        The arrays.

    Returns
    -------
    Array, or tuple of Array
        As many as are given: views.

    Examples
    --------
    >>> sc.atleast_2d(sc.arange(3)).shape
    (1, 3)
    """
    return _each(arys, lambda x: x if x.ndim > 1 else x[(None,) * (2 - x.ndim)])


def atleast_3d(*arys: Any) -> Any:
    """Give arrays three axes at least; a vector stands along the second, a matrix has a third.

    Parameters
    ----------
    *arys : arrays
        The arrays.

    Returns
    -------
    Array, or tuple of Array
        As many as are given: views.

    Examples
    --------
    >>> sc.atleast_3d(sc.arange(3)).shape
    (1, 3, 1)
    """
    items: dict[int, Any] = {
        0: (None, None, None),
        1: (None, slice(None), None),
        2: (slice(None), slice(None), None),
    }
    return _each(arys, lambda x: x if x.ndim > 2 else x[items[x.ndim]])


def outer(a: Any, b: Any, out: Any = None) -> Array:
    """Multiply all pairs of elements of two arrays, which are taken as vectors.

    Parameters
    ----------
    a, b : array
        The arrays.
    out : Array, optional
        Takes the result.

    Returns
    -------
    Array
        The products, those of an element of ``a`` in a row.

    Examples
    --------
    >>> sc.outer([1, 2], [10, 20]).compute()
    array([[10, 20],
           [20, 40]])
    """
    rows, columns = array_of(a).ravel(), array_of(b).ravel()
    return put(out, elementwise("multiply", rows[:, None], columns[None, :]), "outer", spread=True)


def kron(a: Any, b: Any) -> Array:
    """Put a multiple of one array in the place of each element of another.

    Parameters
    ----------
    a, b : array
        The factors, and what is multiplied by them.

    Returns
    -------
    Array
        The Kronecker product.

    Examples
    --------
    >>> sc.kron([1, 10], [[1, 2]]).compute()
    array([[ 1,  2, 10, 20]])
    """
    x, y = array_of(a), array_of(b)
    if not x.ndim or not y.ndim:
        return elementwise("multiply", x, y)
    ndim = max(x.ndim, y.ndim)
    x, y = (one[(None,) * (ndim - one.ndim)] if one.ndim < ndim else one for one in (x, y))
    wide = x[(slice(None), None) * ndim]
    product = elementwise("multiply", wide, y[(None, slice(None)) * ndim])
    return product.reshape(tuple(m * n for m, n in zip(x.shape, y.shape, strict=True)))
