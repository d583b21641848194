"""The steps of `lu` that cuSOLVER and cuBLAS have, and NumPy has not.

A block of rows lies in memory as its transpose does in columns, which is how both libraries take
it: what they call rows that change places are our columns.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def factored(a: Any) -> list[int]:
    """Factor the rows ``a`` where they lie; with which column each of the first changed places."""
    from cupyx.scipy.linalg import lu_factor

    with warnings.catch_warnings():  # of a singular matrix, which whoever divides by it says
        warnings.simplefilter("ignore", RuntimeWarning)
        packed, places = lu_factor(a.T, check_finite=False)
    a[...] = packed.T
    return [int(place) for place in places.tolist()]


def divide(lines: Any, matrix: Any, upper: bool, ones: bool) -> None:
    """Multiply ``lines`` by the inverse of a triangle of ``matrix``, where they lie."""
    from cupyx.scipy.linalg import solve_triangular

    if not ones and (matrix.diagonal() == 0).any():  # cuBLAS divides by it
        raise np.linalg.LinAlgError("Singular matrix")
    lines[...] = solve_triangular(
        matrix.T, lines.T, lower=upper, unit_diagonal=ones, check_finite=False
    ).T
