"""Eigenvalues and eigenvectors, by LAPACK."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..api.array import Array, array_of
from ..api.complexes.of_parts import complex_of
from ..api.sources import asarray
from ..api.together import compute, persist
from ..errors import ParameterError
from .calls import matrices, routine


class EighResult(NamedTuple):
    """Eigenvalues in order, and the eigenvectors in columns."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """Eigenvalues in any order, and the eigenvectors in columns."""

    eigenvalues: Array
    eigenvectors: Array


def eigh(a: Any, UPLO: str = "L") -> EighResult:
    """The eigenvalues and eigenvectors of symmetric matrices, of which one triangle is read.

    Parameters
    ----------
    a : array
        Symmetric matrices along the last two axes.
    UPLO : {"L", "U"}
        Which triangle is read.

    Returns
    -------
    EighResult
        The values, the least first, and vectors in columns.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they are not square; when computed, if it does not converge.
    ValueError
        For another triangle.

    Examples
    --------
    >>> values, vectors = sc.linalg.eigh([[2.0, 0.0], [0.0, 1.0]])
    >>> values.compute()
    array([1., 2.])
    """
    x = matrices("eigh", a, square=True)
    shapes = [x.shape[:-1], x.shape]
    return EighResult(*routine("eigh", [x], shapes, x._expr.dtype, _triangle("eigh", UPLO)))


def eigvalsh(a: Any, UPLO: str = "L") -> Array:
    """The eigenvalues of symmetric matrices, the least first.

    Parameters
    ----------
    a : array
        Symmetric matrices along the last two axes.
    UPLO : {"L", "U"}
        Which triangle is read.

    Returns
    -------
    Array
        The values.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they are not square; when computed, if it does not converge.
    ValueError
        For another triangle.

    Examples
    --------
    >>> sc.linalg.eigvalsh([[2.0, 0.0], [0.0, 1.0]]).compute()
    array([1., 2.])
    """
    x = matrices("eigvalsh", a, square=True)
    triangle = _triangle("eigvalsh", UPLO)
    return routine("eigvalsh", [x], [x.shape[:-1]], x._expr.dtype, triangle)[0]


def _triangle(name: str, which: Any) -> str:
    if not isinstance(which, str) or which.upper() not in ("L", "U"):
        raise ParameterError(f"{name}: UPLO must be 'L' or 'U', not {which!r}")
    return which.upper()


def eig(a: Any) -> EigResult:
    """The eigenvalues and eigenvectors of square matrices, computed at once.

    Whether they are real depends on values.

    Parameters
    ----------
    a : array
        Square matrices along the last two axes.

    Returns
    -------
    EigResult
        The values, in any order, and vectors in columns: complex numbers where one is not real.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they are not square, have elements that are not finite, or it does not converge.

    Examples
    --------
    >>> sc.linalg.eig([[2.0, 0.0], [0.0, 1.0]]).eigenvalues.compute()
    array([2., 1.])
    """
    x = matrices("eig", a, square=True)
    if x.dtype.kind == "c":
        return EigResult(*persist(*routine("eig", [x], [x.shape[:-1], x.shape], str(x.dtype))))
    pairs = [(*x.shape[:-1], 2), (*x.shape, 2)]
    values, vectors = compute(*routine("eig", [x], pairs, x._expr.dtype))
    found = (asarray(one) for one in (values, vectors))
    if values[..., 1].any():
        return EigResult(*(complex_of(one[..., 0], one[..., 1]) for one in found))
    return EigResult(*(one[..., 0] for one in found))


def eigvals(a: Any) -> Array:
    """The eigenvalues of square matrices, computed at once.

    Whether they are real depends on values.

    Parameters
    ----------
    a : array
        Square matrices along the last two axes.

    Returns
    -------
    Array
        The values, in any order: complex numbers where one is not real.

    Raises
    ------
    numpy.linalg.LinAlgError
        If they are not square, have elements that are not finite, or it does not converge.

    Examples
    --------
    >>> sc.linalg.eigvals([[2.0, 0.0], [0.0, 1.0]]).compute()
    array([2., 1.])
    """
    x = matrices("eigvals", a, square=True)
    if x.dtype.kind == "c":
        (kept,) = persist(*routine("eigvals", [x], [x.shape[:-1]], str(x.dtype)))
        return array_of(kept)
    (values,) = compute(*routine("eigvals", [x], [(*x.shape[:-1], 2)], x._expr.dtype))
    found = asarray(values)
    if values[..., 1].any():
        return complex_of(found[..., 0], found[..., 1])
    return found[..., 0]
