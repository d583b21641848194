"""Products of matrices and their decompositions: rows for BLAS and LAPACK."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..nodes import Shape
from . import integers, tall
from .row import Fewer, Routine


def _product_flops(shapes: Sequence[Shape], results: Sequence[Shape]) -> float:
    return 2.0 * math.prod(results[0]) * (*shapes[0], 1)[len(shapes[0]) - 1]


def _contract_flops(shapes: Sequence[Shape], results: Sequence[Shape]) -> float:
    return 2.0 * math.sqrt(math.prod((*shapes[0], *shapes[1], *results[0])))


def _narrow(xp: Any, product: Any, a: Any, b: Any) -> Any:
    """A product of float16 is made in float32."""
    if a.dtype != "float16":
        return product(a, b)
    return product(a.astype("float32"), b.astype("float32")).astype("float16")


def _matmul(xp: Any, a: Any, b: Any) -> Any:
    return _narrow(xp, xp.matmul, a, b)


Order = tuple[tuple[int, ...], Shape]  # how axes are turned, and put together


def _contract(xp: Any, a: Any, b: Any, left: Order, right: Order) -> Any:
    """The products of ``a`` and ``b``, each turned and reshaped to matrices first."""
    (turn_a, shape_a), (turn_b, shape_b) = left, right
    x, y = a.transpose(turn_a).reshape(shape_a), b.transpose(turn_b).reshape(shape_b)
    return _narrow(xp, xp.matmul, x, y)


def _contract_integers(xp: Any, a: Any, b: Any, left: Order, right: Order) -> Any:
    (turn_a, shape_a), (turn_b, shape_b) = left, right
    x, y = a.transpose(turn_a).reshape(shape_a), b.transpose(turn_b).reshape(shape_b)
    return integers.matmul(xp, x, y)


def _cholesky(xp: Any, a: Any, upper: bool) -> Any:
    lower = xp.linalg.cholesky(a.swapaxes(-1, -2) if upper else a)
    return lower.swapaxes(-1, -2) if upper else lower


def _inverse_or_nan(xp: Any, a: Any) -> Any:
    """The inverses; NaN of singular matrices."""
    try:
        return xp.linalg.inv(a)
    except np.linalg.LinAlgError:
        if a.ndim == 2:
            return xp.full(a.shape, xp.nan, a.dtype)
    flat = a.reshape(-1, *a.shape[-2:])
    return xp.stack([_inverse_or_nan(xp, one) for one in flat]).reshape(a.shape)


def _eigh(xp: Any, a: Any, triangle: str) -> Any:
    return tuple(xp.linalg.eigh(a, triangle))


def _eig(xp: Any, a: Any) -> Any:
    values, vectors = xp.linalg.eig(a)
    return _as_complex(values), _as_complex(vectors)


def _as_complex(values: Any) -> Any:
    """Complex numbers, also where all are real."""
    if values.dtype.kind == "c":
        return values
    return values.astype("complex64" if values.dtype == "float32" else "complex128")


def _eigvals(xp: Any, a: Any) -> Any:
    return _as_complex(xp.linalg.eigvals(a))


def _lstsq(xp: Any, a: Any, b: Any, rcond: float | None) -> Any:
    """The solution, residuals as many as there may be, the rank, and the singular values."""
    x, residuals, rank, values = xp.linalg.lstsq(a, b, rcond)
    room = xp.zeros(math.prod(b.shape[1:]), values.dtype)
    room[: residuals.size] = residuals.reshape(-1)
    return x, room, xp.asarray(rank, values.dtype).reshape(()), values


_INTEGERS: Final = "integers modulo 2**n: in doubles whose partial sums stay below 2**53"

ROWS: Final = (
    Routine("matmul", "BLAS", _matmul, flops=_product_flops),
    Routine("contract", "BLAS", _contract, 2.0, flops=_contract_flops),
    Routine("matmul_integers", "", integers.matmul, 9.0, 32, _INTEGERS, flops=_product_flops),
    Routine(
        "contract_integers", "", _contract_integers, 10.0, 32, _INTEGERS, flops=_contract_flops
    ),
    Routine("solve", "LAPACK", lambda xp, a, b: xp.linalg.solve(a, b), 2.0),
    Routine("inv", "LAPACK", lambda xp, a: xp.linalg.inv(a), 2.0),
    Routine("inv_or_nan", "LAPACK", _inverse_or_nan, 2.0),
    Routine("det", "LAPACK", lambda xp, a: xp.linalg.det(a), 1.0),
    Routine("slogdet", "LAPACK", lambda xp, a: tuple(xp.linalg.slogdet(a)), 1.0),
    Routine("cholesky", "LAPACK", _cholesky, 2.0),
    Routine("qr", "LAPACK", tall.factors, 4.0, fewer=Fewer(1, "qr_r")),
    Routine("qr_r", "LAPACK", tall.triangle, 2.0),
    Routine("svd", "LAPACK", tall.svd, 8.0, fewer=Fewer(1, "svdvals")),
    Routine("svdvals", "LAPACK", tall.svdvals, 4.0),
    Routine("eigh", "LAPACK", _eigh, 5.0, fewer=Fewer(0, "eigvalsh", given=True)),
    Routine("eigvalsh", "LAPACK", lambda xp, a, lower: xp.linalg.eigvalsh(a, lower), 3.0),
    Routine("eig", "LAPACK", _eig, 8.0, on_gpu=False),
    Routine("eigvals", "LAPACK", _eigvals, 4.0, on_gpu=False),
    Routine("lstsq", "LAPACK", _lstsq, 6.0),
)
