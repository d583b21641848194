"""Numbers that tell of matrices: determinants, norms, ranks."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from ..api.array import Array, array_of, elementwise
from ..api.elementwise import abs as absolute
from ..api.elementwise import exp, log, where
from ..api.reductions import count_nonzero
from ..errors import MatrixError, ParameterError
from .blocks import diagonal_in_blocks, is_solved_at_once
from .calls import matrices, routine
from .decompositions import svd, svdvals
from .norms import of_matrices


class SlogdetResult(NamedTuple):
    """The sign of a determinant, and the logarithm of its size."""

    sign: Array
    logabsdet: Array


def det(a: Any, /) -> Array:
    """The determinants of square matrices.

    Parameters
    ----------
    a : array
        Square matrices along the last two axes.

    Returns
    -------
    Array
        The determinants.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they are not square.

    Examples
    --------
    >>> sc.linalg.det([[2.0, 0.0], [0.0, 4.0]]).compute().round(9)
    np.float64(8.0)
    """
    x = matrices("det", a, square=True)
    if not is_solved_at_once(x):
        sign, logarithm = slogdet(x)
        return elementwise("multiply", sign, exp(logarithm))
    return routine("det", [x], [x.shape[:-2]], x._expr.dtype)[0]


def slogdet(a: Any, /) -> SlogdetResult:
    """The signs and logarithms of the determinants of square matrices.

    Parameters
    ----------
    a : array
        Square matrices along the last two axes.

    Returns
    -------
    SlogdetResult
        The signs (0 of a singular matrix), and the logarithms of the sizes.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they are not square.

    Examples
    --------
    >>> sc.linalg.slogdet([[1.0, 0.0], [0.0, -1.0]]).sign.compute()
    np.float64(-1.0)
    """
    x = matrices("slogdet", a, square=True)
    if (cut := diagonal_in_blocks(x)) is not None:
        return _of_diagonal(*cut)
    return SlogdetResult(*routine("slogdet", [x], [x.shape[:-2]] * 2, x._expr.dtype))


def _of_diagonal(values: Array, is_odd: Array) -> SlogdetResult:
    """The same of a triangle with these ``values``, whose sign the pivots turn if ``is_odd``."""
    sizes = absolute(values)
    signs = where(sizes == 0, 0, values / where(sizes == 0, 1, sizes)).prod()
    return SlogdetResult(where(is_odd, -signs, signs), log(sizes).sum())


def cond(x: Any, p: Any = None) -> Array:
    """The condition numbers of matrices.

    Parameters
    ----------
    x : array
        Matrices along the last two axes.
    p : number, "fro" or "nuc", optional
        Of which norm; 2 where it is left out.

    Returns
    -------
    Array
        The numbers; infinite of a singular matrix.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it has fewer than two axes, or no elements.

    Examples
    --------
    >>> sc.linalg.cond([[2.0, 0.0], [0.0, 4.0]]).compute()
    np.float64(2.0)
    """
    array = matrices("cond", x)
    if 0 in array.shape[-2:]:
        raise MatrixError(f"cond of matrices without elements (shape {array.shape}) is not defined")
    if p in _BY_VALUES:
        values = svdvals(array)
        ends = (values[..., 0], values[..., -1])
        numbers = elementwise("divide", *(ends[::-1] if p == -2 else ends))
    else:
        array = matrices("cond", x, square=True)
        (inverse,) = routine("inv_or_nan", [array], [array.shape], array._expr.dtype)
        numbers = _norms(array, p) * _norms(inverse, p)
    has_nan = elementwise("isnan", array).any(axis=(-2, -1))
    undefined = elementwise("logical_and", elementwise("isnan", numbers), ~has_nan)
    return where(undefined, math.inf, numbers)


_BY_VALUES: Final = (None, 2, -2)


def _norms(array: Array, p: Any) -> Array:
    return of_matrices(array, p, (array.ndim - 2, array.ndim - 1), False)


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Array:
    """The ranks of matrices: how many singular values are not as small as rounding.

    Parameters
    ----------
    A : array
        Matrices along the last two axes, or a vector.
    tol : float or array, optional
        Values up to it count as 0.
    hermitian : bool
        Whether the matrices are symmetric.
    rtol : float or array, optional
        The same beside the largest value; the larger size times eps where both are left out.

    Returns
    -------
    Array
        int64.

    Raises
    ------
    ValueError
        If `tol` and `rtol` are both given.

    Examples
    --------
    >>> sc.linalg.matrix_rank([[1.0, 0.0], [0.0, 0.0]]).compute()
    np.int64(1)
    """
    if tol is not None and rtol is not None:
        raise ParameterError("matrix_rank takes tol= or rtol=, not both")
    array = array_of(A)
    if array.ndim < 2:
        return elementwise("not_equal", array, 0).any().astype("int64")
    values = svd(array, compute_uv=False, hermitian=hermitian)
    if tol is None:
        eps = float(np.finfo(values.dtype).eps)
        share = max(array.shape[-2:]) * eps if rtol is None else rtol
        if not isinstance(share, (int, float)):
            share = array_of(share)[..., None]
        largest = values.max(axis=-1, keepdims=True) if values.shape[-1] else values
        limit: Any = elementwise("multiply", largest, share)
    else:
        limit = tol if isinstance(tol, (int, float)) else array_of(tol)[..., None]
    return count_nonzero(elementwise("greater", values, limit), axis=-1)
