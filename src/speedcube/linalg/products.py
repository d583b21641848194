"""Products of matrices: of floats by BLAS, of integers and bool exact modulo 2**n."""

from __future__ import annotations

from typing import Any

from ..api import dot as vectors
from ..api.array import Array, array_of, elementwise
from ..api.complexes.of_parts import conj
from ..api.dot import product_with
from ..api.methods.keywords import put
from ..errors import ShapeError
from .calls import batch_of
from .contraction import check_length, contracted, product


def matmul(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: Any = None,
    subok: bool = True,
    signature: Any = None,
) -> Array:
    """Multiply matrices: ``x1 @ x2``, lazily.

    Floats are multiplied by BLAS: about n eps, and the bits follow the machine, its library and the
    number of threads. Products of integers and bool wrap and are the same everywhere. The dot
    product of two vectors is an exact sum, rounded once.

    Parameters
    ----------
    x1, x2 : array
        Matrices along the last two axes, whose other axes broadcast; or vectors, of one axis.
    out : Array, optional
        Takes the result.
    axes : list of tuple, optional
        The axes of the operands that are multiplied, and those that the result has of them.
    axis, keepdims : optional
        NumPy's, for products of vectors alone (`vecdot`): refused.
    casting, order, dtype, subok, signature : optional
        As in `add`.

    Returns
    -------
    Array
        The products, in the common dtype.

    Raises
    ------
    ValueError
        If one is a number, or what is multiplied and summed differs in length.

    Examples
    --------
    >>> sc.matmul([[1, 2], [3, 4]], [[1, 0], [1, 1]]).compute()
    array([[3, 2],
           [7, 4]])
    """
    x, y = array_of(x1), array_of(x2)
    places, keywords = (axes, axis, keepdims), (casting, order, dtype, signature)
    cores = min(2, x.ndim), min(2, y.ndim), (x.ndim > 1) + (y.ndim > 1)
    return product_with("matmul", _matmul, (x, y), cores, out, places, keywords)


def of_two(x: Array, y: Array) -> Array:
    """``x @ y``: `matmul` without keywords, of arrays that are ours."""
    return _matmul(x, y)


def _matmul(x: Array, y: Array) -> Array:
    a, b = x._expr.shape, y._expr.shape
    if len(a) == len(b) == 2 and a[1] == b[0]:  # as nearly always
        return product("matmul", x, y, (a[0], b[1]))
    if not x.ndim or not y.ndim:
        raise ShapeError(f"@ (matmul) of shapes {x.shape} and {y.shape}: use * for numbers")
    if x.ndim == y.ndim == 1:
        return vectors.inner_products(x, y)
    check_length("@ (matmul)", x, y, x.shape[-1], y.shape[max(0, y.ndim - 2)])
    batch = batch_of("@ (matmul)", x.shape[:-2], y.shape[:-2])
    rows = x.shape[-2:-1] if x.ndim > 1 else ()
    columns = y.shape[-1:] if y.ndim > 1 else ()
    return product("matmul", x, y, (*batch, *rows, *columns))


def dot(a: Any, b: Any, out: Any = None) -> Array:
    """Multiply two arrays as NumPy's ``dot`` does: the last axis of one by rows of the other.

    Of two vectors it is an exact sum, rounded once; of matrices `matmul`.

    Parameters
    ----------
    a, b : array
        Vectors, matrices, numbers or arrays of more axes.
    out : Array, optional
        Takes the result.

    Returns
    -------
    Array
        The product: the axes of ``a`` but the last, then those of ``b`` but the last but one.

    Raises
    ------
    ValueError
        If what is multiplied and summed differs in length.

    Examples
    --------
    >>> sc.dot([1, 2, 3], [4, 5, 6]).compute()
    np.int64(32)
    """
    x, y = array_of(a), array_of(b)
    if not x.ndim or not y.ndim:
        return put(out, elementwise("multiply", x, y), "dot")
    if x.ndim == y.ndim == 1:
        return put(out, vectors.inner_products(x, y), "dot")
    if y.ndim == 1 or (x.ndim <= 2 and y.ndim == 2):
        return put(out, matmul(x, y), "dot")
    return put(out, contracted("dot", x, y, (x.ndim - 1,), (y.ndim - 2,)), "dot")


def inner(a: Any, b: Any, /) -> Array:
    """Multiply along the last axes of both arrays, and sum.

    Parameters
    ----------
    a, b : array
        Arrays whose last axes are as long; or numbers.

    Returns
    -------
    Array
        The other axes of ``a``, then those of ``b``. Of two vectors an exact sum, rounded once.

    Raises
    ------
    ValueError
        If the last axes differ in length.

    Examples
    --------
    >>> sc.inner([[1, 2], [3, 4]], [1, 1]).compute()
    array([3, 7])
    """
    x, y = array_of(a), array_of(b)
    if not x.ndim or not y.ndim:
        return elementwise("multiply", x, y)
    if x.ndim == y.ndim == 1:
        return vectors.inner_products(x, y)
    return contracted("inner", x, y, (x.ndim - 1,), (y.ndim - 1,))


def matvec(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: Any = None,
    subok: bool = True,
    signature: Any = None,
) -> Array:
    """Multiply matrices by vectors.

    Parameters
    ----------
    x1 : array
        Matrices along the last two axes.
    x2 : array
        Vectors along the last axis; the other axes broadcast with those of the matrices.
    out : Array, optional
        Takes the result.
    axes : list of tuple, optional
        The axes of the operands that are multiplied, and those that the result has of them.
    axis, keepdims : optional
        NumPy's, for products of vectors alone (`vecdot`): refused.
    casting, order, dtype, subok, signature : optional
        As in `add`.

    Returns
    -------
    Array
        Vectors.

    Raises
    ------
    ValueError
        If a matrix has not as many columns as the vector elements.

    Examples
    --------
    >>> sc.matvec([[1, 2], [3, 4]], [1, 1]).compute()
    array([3, 7])
    """
    places, keywords = (axes, axis, keepdims), (casting, order, dtype, signature)
    return product_with("matvec", _matvec, (x1, x2), (2, 1, 1), out, places, keywords)


def _matvec(x1: Array, x2: Array) -> Array:
    x, y = _of_axes("matvec", x1, 2), _of_axes("matvec", x2, 1)
    check_length("matvec", x, y, x.shape[-1], y.shape[-1])
    return matmul(x, y) if y.ndim == 1 else matmul(x, y[..., None])[..., 0]


def vecmat(
    x1: Any,
    x2: Any,
    /,
    out: Any = None,
    *,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: Any = None,
    subok: bool = True,
    signature: Any = None,
) -> Array:
    """Multiply vectors by matrices; of complex vectors the conjugates, as NumPy does.

    Parameters
    ----------
    x1 : array
        Vectors along the last axis; the other axes broadcast with those of the matrices.
    x2 : array
        Matrices along the last two axes.
    out : Array, optional
        Takes the result.
    axes : list of tuple, optional
        The axes of the operands that are multiplied, and those that the result has of them.
    axis, keepdims : optional
        NumPy's, for products of vectors alone (`vecdot`): refused.
    casting, order, dtype, subok, signature : optional
        As in `add`.

    Returns
    -------
    Array
        Vectors.

    Raises
    ------
    ValueError
        If a matrix has not as many rows as the vector elements.

    Examples
    --------
    >>> sc.vecmat([1, 1], [[1, 2], [3, 4]]).compute()
    array([4, 6])
    """
    places, keywords = (axes, axis, keepdims), (casting, order, dtype, signature)
    return product_with("vecmat", _vecmat, (x1, x2), (1, 2, 1), out, places, keywords)


def _vecmat(x1: Array, x2: Array) -> Array:
    x, y = _of_axes("vecmat", x1, 1), _of_axes("vecmat", x2, 2)
    check_length("vecmat", x, y, x.shape[-1], y.shape[-2])
    x = conj(x) if x.dtype.kind == "c" else x  # NumPy's of bools would be int8
    return matmul(x, y) if x.ndim == 1 else matmul(x[..., None, :], y)[..., 0, :]


def _of_axes(name: str, value: Any, least: int) -> Array:
    array = array_of(value)
    if array.ndim < least:
        raise ShapeError(
            f"{name} takes an array of {least} axes or more there, not of shape {array.shape}"
        )
    return array
