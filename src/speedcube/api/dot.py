"""Inner products of vectors: the exact sum of the exact products, rounded once."""

from __future__ import annotations

from typing import Any

from ..errors import ShapeError
from ..expr import build, reductions
from ..interop.chunks import reduced
from .array import Array, array_of, elementwise
from .methods.keywords import put


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Multiply vectors: the dot products along an axis.

    Of floats each is the exact sum of the exact products, rounded once to their common dtype: no
    product overflows or vanishes on the way, and no order, split or device can change a bit.
    Integers wrap in their common dtype; of bool it is whether any pair is true.

    Parameters
    ----------
    x1, x2 : array
        The vectors. The other axes broadcast.
    axis : int
        Along which axis they lie.

    Returns
    -------
    Array
        The products, without the axis.

    Raises
    ------
    ValueError
        If the vectors differ in length, or one of the arrays has no such axis.

    Examples
    --------
    >>> sc.vecdot([[1.0, 2.0], [3.0, 4.0]], [1.0, 1.0]).compute()
    array([3., 7.])
    """
    x, y = (_last(array_of(vectors), axis) for vectors in (x1, x2))
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"vectors of {x.shape[-1]} and {y.shape[-1]} elements have no dot product: give both "
            "the same length, by slicing or broadcast_to"
        )
    product = elementwise("multiply", x, y)
    grid = reduced(product._grid, (product.ndim - 1,), False)
    return Array(reductions.dot(product._expr, -1), gpu=product._gpu, hint=grid)


def dot(a: Any, b: Any, out: Any = None) -> Array:
    """Multiply two vectors: their dot product, an exact sum rounded once.

    Parameters
    ----------
    a, b : array
        Two vectors; or a number and an array, which is multiplied by it.
    out : Array, optional
        Takes the result.

    Returns
    -------
    Array
        The product.

    Raises
    ------
    ValueError
        If the vectors differ in length, or an array has more axes.

    Examples
    --------
    >>> sc.dot([1, 2, 3], [4, 5, 6]).compute()
    np.int64(32)
    """
    x, y = array_of(a), array_of(b)
    if not x.shape or not y.shape:
        return put(out, elementwise("multiply", a, b), "dot")
    return put(out, _of_vectors("dot", x, y), "dot")


def vdot(a: Any, b: Any, /) -> Array:
    """Multiply all elements of two arrays, in C order, and sum: an exact sum, rounded once.

    Parameters
    ----------
    a, b : array
        Arrays of as many elements.

    Returns
    -------
    Array
        The product.

    Raises
    ------
    ValueError
        If one has more elements than the other.

    Examples
    --------
    >>> sc.vdot([[1, 2], [3, 4]], [[1, 1], [1, 1]]).compute()
    np.int64(10)
    """
    x, y = (v if v.ndim == 1 else v.ravel() for v in map(array_of, (a, b)))
    return vecdot(x, y)


def matmul(x1: Any, x2: Any, /) -> Array:
    """Multiply two vectors: ``x1 @ x2``, an exact sum rounded once.

    Parameters
    ----------
    x1, x2 : array
        The vectors.

    Returns
    -------
    Array
        Their dot product.

    Raises
    ------
    ValueError
        If they differ in length, or have more axes than one.

    Examples
    --------
    >>> sc.matmul([1, 2, 3], [4, 5, 6]).compute()
    np.int64(32)
    """
    return _of_vectors("@ (matmul)", array_of(x1), array_of(x2))


def _last(x: Array, axis: int) -> Array:
    """``x`` with ``axis`` last."""
    k = build.check_axis(axis, x.ndim)
    if k == x.ndim - 1:
        return x
    return x.transpose([*(j for j in range(x.ndim) if j != k), k])


def _of_vectors(name: str, x: Array, y: Array) -> Array:
    if x.ndim == y.ndim == 1:
        return vecdot(x, y)
    raise ShapeError(
        f"{name} of shapes {x.shape} and {y.shape}: it takes two vectors, arrays of one axis. "
        "Products of matrices are NumPy's, x.compute() @ y.compute(), or, of what does not fit "
        "into memory, Dask's: x.to_dask_array() @ y.to_dask_array(). speedcube.vecdot gives the "
        "exact dot products of pairs of vectors; it is no way to multiply matrices"
    )
