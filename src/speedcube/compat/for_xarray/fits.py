"""Lines and polynomials fitted to each point of files: by sums of products, in one reading."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from ...api.array import Array, elementwise
from ...api.joining import stack


def fitted(lhs: Any, rhs: Array, rcond: float | None) -> tuple[Array, Array]:
    """The coefficients along a first axis, and the residuals, of ``lhs @ coefficients = rhs``.

    Parameters
    ----------
    lhs : numpy.ndarray
        (equations, unknowns), floats.
    rhs : Array
        (equations, ...), of any shape behind.
    rcond : float, optional
        Singular values up to so much of the largest count as 0; by default eps times the equations.

    Returns
    -------
    coefficients : Array
        (unknowns, ...), float64. NumPy's ``lstsq`` would need all of ``rhs`` in memory.
    residuals : Array
        Sums of squares, of the shape behind; NaN where ``lhs`` leaves some unknowns open.
    """
    from xarray.core.nputils import warn_on_deficient_rank

    a = np.asarray(lhs, "float64")
    rows, columns = a.shape
    left, values, right = np.linalg.svd(a, full_matrices=False)
    limit = max(a.shape) * np.finfo("float64").eps if rcond is None else rcond
    rank = int((values > limit * values.max(initial=0)).sum())
    warn_on_deficient_rank(rank, columns)
    inverse = (right[:rank].T / values[:rank]) @ left[:, :rank].T
    behind = (1,) * (rhs.ndim - 1)
    b = rhs.astype("float64")
    found = [(b * one.reshape(rows, *behind)).sum(axis=0) for one in inverse]
    if rank < columns or rows <= columns:
        return stack(found), found[0] * np.nan
    terms = (a[:, k].reshape(rows, *behind) * one for k, one in enumerate(found))
    rest = elementwise("subtract", b, reduce(lambda x, y: x + y, terms))
    return stack(found), (rest * rest).sum(axis=0)
