"""Sums of products along pairs of axes, as products of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from .. import dtypes
from ..api import dot as vectors
from ..api.array import Array, array_of, elementwise
from ..api.methods.keywords import as_axes
from ..engine.streams.made.cells import reads_files
from ..errors import AxisError, ShapeError
from ..expr import build
from ..expr.nodes import Shape
from .blocks import are_one_block, product_in_blocks
from .calls import as_dtype, routine, turned

_FEW: Final = 8 << 20  # bytes of weights that may be of a file, too: they are read first


def product(name: str, x: Array, y: Array, shape: Shape, *given: Any) -> Array:
    """The routine ``name``, or that for integers, of ``x`` and ``y`` in their common dtype."""
    dtype, other = x._expr.dtype, y._expr.dtype
    if dtype != other:
        dtype = dtypes.promote(dtype, other)
    if not dtypes.is_float(dtype) and dtype not in dtypes.COMPLEX:
        name += "_integers"
    x, y = as_dtype(x, dtype), as_dtype(y, dtype)
    if not given and (made := product_in_blocks(name, x, y, dtype)) is not None:
        return made
    return routine(name, [x, y], [shape], dtype, *given)[0]


def check_length(name: str, x: Array, y: Array, left: int, right: int) -> None:
    """Refuse axes of two lengths, which are to be multiplied and summed."""
    if left != right:
        raise ShapeError(
            f"{name} of shapes {x.shape} and {y.shape}: {left} elements along one "
            f"cannot be multiplied by {right} along the other; transpose one of them "
            "(x.T), or slice it"
        )


def tensordot(a: Any, b: Any, axes: Any = 2) -> Array:
    """Multiply two arrays along pairs of axes, and sum.

    Parameters
    ----------
    a, b : array
        The arrays.
    axes : int or (axes of a, axes of b)
        Which axes; a number: so many of the last ones of ``a`` and the first ones of ``b``.

    Returns
    -------
    Array
        The other axes of ``a``, then those of ``b``.

    Raises
    ------
    ValueError
        If axes of a pair differ in length, or there are not as many of both.

    Examples
    --------
    >>> sc.tensordot([[1, 2], [3, 4]], [[1, 0], [0, 1]], axes=2).compute()
    np.int64(5)
    """
    x, y = array_of(a), array_of(b)
    left, right = _pairs(x, y, axes)
    return contracted("tensordot", x, y, left, right)


def _pairs(x: Array, y: Array, axes: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if hasattr(axes, "__iter__"):
        pair = tuple(as_axes(axes))
        if len(pair) != 2:
            raise ShapeError(f"tensordot: axes= takes a number, or two lists of axes, not {axes!r}")
        left, right = (_listed(one, z.ndim) for one, z in zip(pair, (x, y), strict=True))
    else:
        count = build.check_integer("axes", axes)
        if not 0 <= count <= min(x.ndim, y.ndim):
            raise AxisError(
                f"tensordot: axes={count} does not fit arrays of {x.ndim} and {y.ndim} axes"
            )
        left, right = tuple(range(x.ndim - count, x.ndim)), tuple(range(count))
    if len(left) != len(right) or len({*left}) < len(left) or len({*right}) < len(right):
        raise ShapeError(
            f"tensordot: axes={axes!r} must name as many axes of one array as of the "
            "other, each once"
        )
    return left, right


def _listed(axes: Any, ndim: int) -> tuple[int, ...]:
    listed = tuple(as_axes(axes)) if hasattr(axes, "__iter__") else (axes,)
    return tuple(build.check_axis(axis, ndim) for axis in listed)


def contracted(
    name: str,
    x: Array,
    y: Array,
    left: Sequence[int],
    right: Sequence[int],
    batch_left: Sequence[int] = (),
    batch_right: Sequence[int] = (),
) -> Array:
    """The sums of products along the axes ``left`` of ``x`` and ``right`` of ``y``.

    The result has the ``batch`` axes, which both have, then the others of ``x``, then of ``y``.
    """
    for j, k in zip((*left, *batch_left), (*right, *batch_right), strict=True):
        if x.shape[j] != y.shape[k]:
            check_length(name, x, y, x.shape[j], y.shape[k])
    rest_x = [k for k in range(x.ndim) if k not in (*left, *batch_left)]
    rest_y = [k for k in range(y.ndim) if k not in (*right, *batch_right)]
    batch = tuple(x.shape[k] for k in batch_left)
    rows, columns = tuple(x.shape[k] for k in rest_x), tuple(y.shape[k] for k in rest_y)
    length = math.prod(x.shape[k] for k in left)
    if not left:
        return _outer(x, y, (*batch_left, *rest_x), (*batch_right, *rest_y), len(batch))
    if not rows and not columns:
        return _dots(x, y, (*batch_left, *left), (*batch_right, *right), batch, length)
    if not rows or not columns:
        found = _of_file(x, y, left, right, (*batch_left, *rest_x), (*batch_right, *rest_y))
        if found is not None:
            return found.reshape((*batch, *rows, *columns))
    stack = (math.prod(batch),) if batch else ()
    lines = (math.prod(rows),) if rows or batch else ()
    others = (math.prod(columns),) if columns or batch else ()
    turned_x = (*batch_left, *rest_x, *left), (*stack, *lines, length)
    turned_y = (*batch_right, *right, *rest_y), (*stack, length, *others)
    shape = (*batch, *rows, *columns)
    if not batch and rows and columns and not are_one_block(x, y):
        a, b = turned(x, *turned_x), turned(y, *turned_y)
        return product("matmul", a, b, (*lines, *others)).reshape(shape)
    return product("contract", x, y, shape, turned_x, turned_y)


def _outer(x: Array, y: Array, turn_x: Sequence[int], turn_y: Sequence[int], batch: int) -> Array:
    """All products of elements of ``x`` and ``y`` in a pair of their stacks."""
    x, y = x.transpose([*turn_x]), y.transpose([*turn_y])
    rows = x.shape[batch:]
    x = x.reshape((*x.shape, *(1 for _ in y.shape[batch:])))
    y = y.reshape((*y.shape[:batch], *(1 for _ in rows), *y.shape[batch:]))
    return elementwise("multiply", x, y)


def _of_file(
    x: Array,
    y: Array,
    left: Sequence[int],
    right: Sequence[int],
    others_x: Sequence[int],
    others_y: Sequence[int],
) -> Array | None:
    """Sums of a file's elements, each times one of a smaller array: as they are read.

    None where neither is a file, or both are. ``others``: axes that stay, those of both first.
    """
    if len(others_x) < len(others_y):
        return _of_file(y, x, right, left, others_y, others_x)
    dtype = dtypes.promote(x._expr.dtype, y._expr.dtype)
    if dtype not in ("float32", "float64") or not reads_files([x._expr]):
        return None
    if y.nbytes > x.nbytes // 2 or (y.nbytes > _FEW and reads_files([y._expr])):
        return None
    both = len(others_y)
    weights = y.transpose([*others_y, *right])
    ones = (1,) * (len(others_x) - both)
    weights = weights.reshape((*weights.shape[:both], *ones, *weights.shape[both:]))
    products = elementwise(
        "multiply",
        x.transpose([*others_x, *left]).astype("float64"),
        weights.astype("float64"),
    )
    return products.sum(axis=tuple(range(len(others_x), x.ndim))).astype(dtype)


def _dots(
    x: Array, y: Array, turn_x: Sequence[int], turn_y: Sequence[int], batch: Shape, length: int
) -> Array:
    """Dot products of pairs of vectors: exact sums, rounded once."""
    lines = (*batch, length)
    return vectors.inner_products(turned(x, turn_x, lines), turned(y, turn_y, lines))
