"""Inner products of vectors: the exact sum of the exact products, rounded once."""

from __future__ import annotations

from typing import Any

from ..errors import ShapeError
from ..expr import build, reductions, views
from ..expr.pairs.dots import dot as dot_of_pairs
from ..interop.chunks import reduced
from .array import Array, array_of, elementwise


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Multiply vectors: the dot products along an axis.

    Of floats each is the exact sum of the exact products, rounded once to their common dtype: no
    product overflows or vanishes on the way, and no order, split or device can change a bit.
    Integers wrap in their common dtype; of bool it is whether any pair is true. Of complex numbers
    the conjugate of `x1` is taken, and each part of the sum is exact, rounded once.

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
    return inner_products(x.conj() if x.dtype.kind == "c" else x, y)


def inner_products(x: Array, y: Array) -> Array:
    """The sums along the last axis of the products."""
    if x.shape[-1] != y.shape[-1]:
        raise ShapeError(
            f"vectors of {x.shape[-1]} and {y.shape[-1]} elements have no dot product: give both "
            "the same length, by slicing or broadcast_to"
        )
    product = elementwise("multiply", x, y)
    grid = reduced(product._grid, (product.ndim - 1,), False)
    if product.dtype.kind == "c":
        name, shape = str(product.dtype), product.shape
        a, b = (views.broadcast_to(one.astype(name)._expr, shape) for one in (x, y))
        return Array(dot_of_pairs(a, b, product.ndim - 1), gpu=product._gpu, hint=grid)
    return Array(reductions.dot(product._expr, -1), gpu=product._gpu, hint=grid)


def vdot(a: Any, b: Any, /) -> Array:
    """Multiply all elements of two arrays, in C order, and sum: an exact sum, rounded once.

    Of complex numbers the conjugate of `a` is taken.

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


def _last(x: Array, axis: int) -> Array:
    """``x`` with ``axis`` last."""
    k = build.check_axis(axis, x.ndim)
    if k == x.ndim - 1:
        return x
    return x.transpose([*(j for j in range(x.ndim) if j != k), k])
