"""Inner products of vectors: the exact sum of the exact products, rounded once."""

from __future__ import annotations

from typing import Any

from ..errors import ShapeError
from ..expr import build, reductions
from ..interop.chunks import reduced
from .array import Array, array_of, elementwise


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Array:
    """The dot products of the vectors along ``axis``; the other axes broadcast.

    Of floats each is the exact sum of the exact products, rounded once to their common dtype: no
    product overflows or vanishes on the way, and no order, split or device can change a bit.
    Integers wrap in their common dtype; of bool it is whether any pair is true.

    Raises `ShapeError` where the vectors differ in length, `AxisError` for an axis that one of the
    arrays has not.
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


def dot(a: Any, b: Any) -> Array:
    """The dot product of two vectors (see `vecdot`); ``a * b`` where one of them is a number."""
    x, y = array_of(a), array_of(b)
    if not x.shape or not y.shape:
        return elementwise("multiply", a, b)
    return _of_vectors("dot", x, y)


def vdot(a: Any, b: Any) -> Array:
    """The dot product of all elements of ``a`` and ``b``, in C order (see `vecdot`)."""
    return vecdot(array_of(a).ravel(), array_of(b).ravel())


def matmul(x1: Any, x2: Any) -> Array:
    """``x1 @ x2`` of two vectors: their dot product (see `vecdot`)."""
    return _of_vectors("@ (matmul)", array_of(x1), array_of(x2))


def _last(x: Array, axis: int) -> Array:
    """``x`` with ``axis`` last."""
    k = build.check_axis(axis, x.ndim)
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
