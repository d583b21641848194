"""Decompositions of matrices by LAPACK: lazy, and of stacks of matrices as NumPy's."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..api.array import Array
from ..api.elementwise import abs as absolute
from ..api.elementwise import sign
from ..api.order.sorting import argsort
from ..api.shapes import flip
from ..api.take import take_along_axis
from ..errors import ParameterError
from .blocks import cholesky_in_blocks, factors, tall_cuts, triangle
from .calls import matrices, routine
from .eigen import eigh
from .products import matmul


class SVDResult(NamedTuple):
    """``U @ diag(S) @ Vh`` is the matrix."""

    U: Array
    S: Array
    Vh: Array


class QRResult(NamedTuple):
    """``Q @ R`` is the matrix: columns that are orthonormal, and an upper triangle."""

    Q: Array
    R: Array


def cholesky(a: Any, *, upper: bool = False, lower: bool | None = None) -> Array:
    """The Cholesky factors of positive definite matrices, of which one triangle is read.

    Parameters
    ----------
    a : array
        Symmetric matrices along the last two axes.
    upper : bool
        Whether the factor is an upper triangle, and the upper one is read.
    lower : bool, optional
        Dask's word for the opposite of `upper`.

    Returns
    -------
    Array
        Triangles L for which ``L @ L.mT`` is ``a``; upper ones U: ``U.mT @ U``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they are not square; when computed, if one is not positive definite.

    Examples
    --------
    >>> sc.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]]).compute()
    array([[2., 0.],
           [1., 2.]])
    """
    x = matrices("cholesky", a, square=True)
    upper = upper if lower is None else not lower
    factor = cholesky_in_blocks(x.T if upper and x.ndim == 2 else x)
    if factor is not None:
        return factor.T if upper else factor
    return routine("cholesky", [x], [x.shape], x._expr.dtype, bool(upper))[0]


_MODES = ("reduced", "complete", "r")


def qr(a: Any, mode: str = "reduced") -> Any:
    """The QR factors of matrices.

    Tall matrices are factored in blocks of rows whose number follows from the shape. Where only R
    is asked for, one block after the other is made: they may be larger than the memory.

    Parameters
    ----------
    a : array
        Matrices along the last two axes.
    mode : {"reduced", "complete", "r"}
        Whether Q has as many columns as the smaller size, as rows, or is left out.

    Returns
    -------
    QRResult, or Array
        Q and R; for "r" R alone.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it has fewer than two axes.
    ValueError
        For another mode.

    Examples
    --------
    >>> q, r = sc.linalg.qr([[3.0, 1.0], [4.0, 2.0]])
    >>> (q @ r).compute().round(9)
    array([[3., 1.],
           [4., 2.]])
    """
    if mode not in _MODES:
        raise ParameterError(f"qr has the modes {_MODES}, not {mode!r}; 'raw' is NumPy's alone")
    x = matrices("qr", a)
    *stack, rows, columns = x.shape
    least = min(rows, columns)
    dtype = x._expr.dtype
    if mode != "complete" and tall_cuts(x):
        return triangle(x) if mode == "r" else QRResult(*factors(x))
    if mode == "r":
        return routine("qr_r", [x], [(*stack, least, columns)], dtype)[0]
    inner = rows if mode == "complete" else least
    shapes = [(*stack, rows, inner), (*stack, inner, columns)]
    return QRResult(*routine("qr", [x], shapes, dtype, mode))


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """The singular value decomposition of matrices.

    Where only the singular values are asked for, only they are computed.

    Parameters
    ----------
    a : array
        Matrices along the last two axes.
    full_matrices : bool
        Whether U and Vh are square, or have as many columns and rows as there are values.
    compute_uv : bool
        Whether U and Vh are given; else the values alone.
    hermitian : bool
        Whether the matrices are symmetric.

    Returns
    -------
    SVDResult, or Array
        U, the values (the largest first) and Vh.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it has fewer than two axes; when computed, if it does not converge, as of NaN.

    Examples
    --------
    >>> u, s, vh = sc.linalg.svd([[3.0, 0.0], [0.0, 4.0]])
    >>> s.compute()
    array([4., 3.])
    """
    if not compute_uv:
        return _hermitian(a)[1] if hermitian else svdvals(a)
    if hermitian:
        return SVDResult(*_hermitian(a))
    x = matrices("svd", a)
    *stack, rows, columns = x.shape
    least = min(rows, columns)
    if not full_matrices and tall_cuts(x):
        q, r = factors(x)
        u, s, vh = svd(r, full_matrices=False)
        return SVDResult(matmul(q, u), s, vh)
    left, right = (rows, columns) if full_matrices else (least, least)
    shapes = [(*stack, rows, left), (*stack, least), (*stack, right, columns)]
    return SVDResult(*routine("svd", [x], shapes, x._expr.dtype, bool(full_matrices)))


def svdvals(x: Any, /) -> Array:
    """The singular values of matrices, the largest first.

    Parameters
    ----------
    x : array
        Matrices along the last two axes.

    Returns
    -------
    Array
        The values.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it has fewer than two axes; when computed, if it does not converge, as of NaN.

    Examples
    --------
    >>> sc.linalg.svdvals([[3.0, 0.0], [0.0, 4.0]]).compute()
    array([4., 3.])
    """
    array = matrices("svdvals", x)
    if tall_cuts(array):
        array = triangle(array)
    shape = (*array.shape[:-2], min(array.shape[-2:]))
    return routine("svdvals", [array], [shape], array._expr.dtype)[0]


def _hermitian(a: Any) -> tuple[Array, Array, Array]:
    """The decomposition of symmetric matrices, by their eigenvalues."""
    values, vectors = eigh(a)
    order = flip(argsort(absolute(values), axis=-1), -1)
    values = take_along_axis(values, order, -1)
    vectors = take_along_axis(vectors, order[..., None, :], -1)
    signs = sign(values)
    right = (vectors * signs[..., None, :]).swapaxes(-1, -2)
    return vectors, absolute(values), right
