"""Systems of linear equations: solutions, inverses, least squares."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api.array import Array, array_of, elementwise
from ..api.elementwise import abs as absolute
from ..api.elementwise import where
from ..api.joining import concatenate
from ..api.together import persist
from ..errors import MatrixError, ParameterError, ShapeError
from ..expr import build
from .blocks import inverse_in_blocks, solution_in_blocks, tall_cuts, triangle
from .calls import as_dtype, batch_of, common, matrices, routine
from .decompositions import svd
from .products import matmul


def solve(a: Any, b: Any) -> Array:
    """Solve systems of linear equations: the x for which ``a @ x`` is ``b``.

    Parameters
    ----------
    a : array
        Square matrices along the last two axes.
    b : array
        A vector, of one axis; or matrices, of which each column is a right-hand side.

    Returns
    -------
    Array
        The solutions, in the shape of ``b``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they are not square; when computed, if one is singular.
    ValueError
        If ``b`` has not as many rows as ``a``.

    Examples
    --------
    >>> sc.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [1.0, 1.0]).compute()
    array([0.5 , 0.25])
    """
    x, y = matrices("solve", a, square=True), array_of(b)
    if not y.ndim:
        raise ShapeError("solve takes a vector or matrices on the right, not a number")
    rows = y.shape[0] if y.ndim == 1 else y.shape[-2]
    if rows != x.shape[-1]:
        raise ShapeError(
            f"solve of shapes {x.shape} and {y.shape}: {x.shape[-1]} equations need as "
            f"many right-hand sides, not {rows}"
        )
    dtype = common(x, y)
    x, y = as_dtype(x, dtype), as_dtype(y, dtype)
    if (cut := solution_in_blocks(x, y)) is not None:
        return cut
    batch = batch_of("solve", x.shape[:-2], () if y.ndim == 1 else y.shape[:-2])
    shape = (*batch, *(y.shape if y.ndim == 1 else y.shape[-2:]))
    return routine("solve", [x, y], [shape], dtype)[0]


def inv(a: Any) -> Array:
    """Invert square matrices.

    Parameters
    ----------
    a : array
        Square matrices along the last two axes.

    Returns
    -------
    Array
        Their inverses.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they are not square; when computed, if one is singular.

    Examples
    --------
    >>> sc.linalg.inv([[2.0, 0.0], [0.0, 4.0]]).compute()
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    x = matrices("inv", a, square=True)
    if (cut := inverse_in_blocks(x)) is not None:
        return cut
    return routine("inv", [x], [x.shape], x._expr.dtype)[0]


_NOT_GIVEN: Any = type("NotGiven", (), {"__repr__": lambda self: "<not given>"})()


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NOT_GIVEN) -> Array:
    """The pseudo-inverses of matrices, by their singular values.

    Parameters
    ----------
    a : array
        Matrices along the last two axes.
    rcond : float or array, optional
        Singular values up to so much of the largest count as 0; 1e-15.
    hermitian : bool
        Whether they are symmetric.
    rtol : float or array, optional
        The Array API's word for `rcond`; None: the larger size times eps.

    Returns
    -------
    Array
        The pseudo-inverses.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it has fewer than two axes.
    ValueError
        If `rcond` and `rtol` are both given.

    Examples
    --------
    >>> sc.linalg.pinv([[2.0, 0.0], [0.0, 0.0]]).compute()
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    x = matrices("pinv", a).conj()
    if rcond is not None and rtol is not _NOT_GIVEN:
        raise ParameterError("pinv takes rcond= or rtol=, not both")
    if rcond is None:
        widest = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)
        rcond = 1e-15 if rtol is _NOT_GIVEN else widest if rtol is None else rtol
    if not x.size:
        return x.swapaxes(-1, -2)
    u, s, vt = svd(x, full_matrices=False, hermitian=hermitian)
    limit = elementwise("multiply", s.max(axis=-1, keepdims=True), _of_stacks(rcond))
    kept = where(s > limit, elementwise("divide", 1.0, s), 0.0)
    return matmul(vt.swapaxes(-1, -2), kept[..., None] * u.swapaxes(-1, -2)).astype(x.dtype)


def _of_stacks(rcond: Any) -> Any:
    """A number for each stack, with an axis that broadcasts along its singular values."""
    return rcond if isinstance(rcond, (int, float)) else array_of(rcond)[..., None]


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Array, Array, Array, Array]:
    """The least-squares solution of linear equations, computed at once.

    How many residuals there are depends on the rank, and that on values.

    Parameters
    ----------
    a : array
        A matrix.
    b : array
        A vector, or a matrix of which each column is a right-hand side.
    rcond : float, optional
        Singular values up to so much of the largest count as 0; the larger size times eps.

    Returns
    -------
    tuple of Array
        The solution, the sums of squared residuals (none, where the rank is below the number of
        columns, or there are no more rows than columns), the rank (0-d, int32), and the singular
        values.

    Raises
    ------
    numpy.linalg.LinAlgError
        If ``a`` is no matrix, rows differ in number, or the computation does not converge.

    Examples
    --------
    >>> a = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]
    >>> x, residuals, rank, s = sc.linalg.lstsq(a, [1.0, 3.0, 5.0])
    >>> x.compute().round(9), int(rank)
    (array([1., 2.]), 2)
    """
    x, y = matrices("lstsq", a), array_of(b)
    if x.ndim != 2 or y.ndim not in (1, 2):
        raise MatrixError(
            f"lstsq takes a matrix and a vector or a matrix, not shapes {x.shape} and {y.shape}"
        )
    if x.shape[0] != y.shape[0]:
        raise MatrixError(
            f"lstsq of shapes {x.shape} and {y.shape}: {x.shape[0]} equations need as "
            f"many right-hand sides, not {y.shape[0]}"
        )
    dtype, (rows, columns), others = common(x, y), x.shape, y.shape[1:]
    operands = [as_dtype(x, dtype), as_dtype(y, dtype)]
    if tall_cuts(operands[0]):
        return _tall_lstsq(operands[0], operands[1], rcond)
    shapes = [(columns, *others), (math.prod(others),), (), (min(rows, columns),)]
    given = None if rcond is None else float(rcond)
    solution, residuals, rank, values = persist(*routine("lstsq", operands, shapes, dtype, given))
    found = int(rank)
    known = residuals if found == columns and rows > columns else residuals[:0]
    return solution, known, array_of(np.int32(found)), values


def _tall_lstsq(a: Array, b: Array, rcond: Any) -> tuple[Array, Array, Array, Array]:
    """The same of a tall matrix in blocks: of the triangle that the equations are turned to."""
    columns, eps = a.shape[1], float(np.finfo(a.dtype).eps)
    both = concatenate([a, b[:, None] if b.ndim == 1 else b], axis=1)
    turned = triangle(both).persist()
    right = turned[:columns, columns:]
    limit = max(a.shape) * eps if rcond is None else rcond
    x, _, rank, values = lstsq(turned[:columns, :columns], right, limit)
    residuals = (absolute(turned[columns:, columns:]) ** 2).sum(axis=0)
    known = residuals if int(rank) == columns else residuals[:0]
    return x[:, 0] if b.ndim == 1 else x, known, rank, values


def tensorinv(a: Any, ind: int = 2) -> Array:
    """The inverse for `tensordot`: of an array taken as a square matrix.

    Parameters
    ----------
    a : array
        Its first ``ind`` axes have as many elements as the others.
    ind : int
        How many axes are rows.

    Returns
    -------
    Array
        The axes that were columns, then those that were rows.

    Raises
    ------
    ValueError
        If ``ind`` is below 1.
    numpy.linalg.LinAlgError
        If it is not square; when computed, if it is singular.

    Examples
    --------
    >>> sc.linalg.tensorinv(sc.eye(4).reshape(4, 2, 2), ind=1).shape
    (2, 2, 4)
    """
    array, count = array_of(a), build.check_integer("ind", ind)
    if count < 1:
        raise ParameterError(f"tensorinv: ind={ind} must be 1 or more")
    shape = (*array.shape[count:], *array.shape[:count])
    rows = math.prod(array.shape[:count])
    square = array.reshape((rows, math.prod(array.shape[count:])))
    return inv(square).reshape(shape)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Array:
    """Solve ``tensordot(a, x, x.ndim) == b`` for x.

    Parameters
    ----------
    a : array
        Its first axes are those of ``b``, the others those of the solution.
    b : array
        The right-hand side.
    axes : sequence of int, optional
        Axes of ``a`` that go last first.

    Returns
    -------
    Array
        The solution.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it is not square; when computed, if it is singular.

    Examples
    --------
    >>> sc.linalg.tensorsolve(sc.eye(4).reshape(2, 2, 2, 2), [[1.0, 2.0], [3.0, 4.0]]).compute()
    array([[1., 2.],
           [3., 4.]])
    """
    array, right = array_of(a), array_of(b)
    if axes is not None:
        moved = [build.check_axis(axis, array.ndim) for axis in axes]
        array = array.transpose([*(k for k in range(array.ndim) if k not in moved), *moved])
    shape = array.shape[right.ndim :]
    size = math.prod(shape)
    if array.size != size * size or right.size != size:
        raise MatrixError(
            f"tensorsolve of shapes {array.shape} and {right.shape}: the first {right.ndim} axes "
            "must have as many elements as the others, and as the right-hand side"
        )
    return solve(array.reshape((size, size)), right.reshape(-1)).reshape(shape)
