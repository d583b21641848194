"""Some singular values of a large matrix, by a random projection."""

from __future__ import annotations

from typing import Any

from ..api.array import Array
from ..api.elementwise import where
from ..errors import MatrixError, ParameterError
from ..expr import build
from .calls import matrices
from .decompositions import SVDResult, qr, svd
from .products import matmul


def svd_compressed(
    a: Any,
    k: int,
    iterator: str = "power",
    n_power_iter: int = 0,
    n_oversamples: int = 10,
    seed: Any = None,
    compute: bool = False,
    coerce_signs: bool = True,
) -> SVDResult:
    """The largest singular values of a matrix and their vectors, about, as Dask's function.

    Halko, Martinsson and Tropp, "Finding structure with randomness", 2011: the matrix times a few
    random vectors has nearly its range.

    Parameters
    ----------
    a : array
        A matrix.
    k : int
        How many values.
    iterator : {"power", "QR"}
        Whether vectors are made orthonormal after the last step alone, or after each.
    n_power_iter : int
        How many steps of power iteration: more, where values fall slowly.
    n_oversamples : int
        How many random vectors more than values.
    seed : int or SeedSequence, optional
        Of the random vectors: with one the result is the same each time.
    compute : bool
        Whether the vectors of each step are computed at once, and kept.
    coerce_signs : bool
        Whether the rows of Vh are turned so that none sums to less than 0.

    Returns
    -------
    SVDResult
        U, the values (the largest first) and Vh.

    Raises
    ------
    numpy.linalg.LinAlgError
        If it has not two axes.
    ValueError
        If a number is too small, or there is no such iterator.

    Examples
    --------
    >>> u, s, vh = sc.linalg.svd_compressed(sc.eye(20) * 3.0, 2, seed=0)
    >>> s.compute().round(9)
    array([3., 3.])
    """
    from ..random import default_rng  # loaded when it is first used

    x = matrices("svd_compressed", a)
    if x.ndim != 2:
        raise MatrixError(f"svd_compressed takes one matrix, not an array of shape {x.shape}")
    wanted = build.check_integer("k", k)
    if iterator not in ("power", "QR"):
        raise ParameterError(f"svd_compressed has the iterators 'power' and 'QR', not {iterator!r}")
    if wanted < 1 or n_power_iter < 0 or n_oversamples < 0:
        raise ParameterError("svd_compressed: k must be 1 or more, and no number below 0")
    width = min(*x.shape, wanted + n_oversamples)
    drawn = default_rng(seed).normal(size=(x.shape[1], width), dtype=x.dtype)
    held = Array.persist if compute else _lazy
    line = held(matmul(x, drawn))
    for _ in range(n_power_iter):
        line = _orthonormal(line, iterator)
        line = held(matmul(x, _orthonormal(held(matmul(x.T, line)), iterator)))
    q = qr(line).Q
    u, s, vh = svd(matmul(q.T, x), full_matrices=False)
    u, s, vh = matmul(q, u)[:, :wanted], s[:wanted], vh[:wanted]
    if coerce_signs:
        signs = where(vh.sum(axis=1) < 0, -1.0, 1.0).astype(x.dtype)
        u, vh = u * signs, vh * signs[:, None]
    return SVDResult(u, s, vh)


def _lazy(array: Array) -> Array:
    return array


def _orthonormal(line: Array, iterator: str) -> Array:
    """Vectors that stay apart: those of powers soon all point the same way."""
    return line if iterator == "power" else qr(line).Q
