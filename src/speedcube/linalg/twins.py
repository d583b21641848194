"""NumPy's functions of matrices that find their twins here: ``np.linalg.inv(x)``."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..api import dot as vectors
from ..api.array import Array
from ..api.methods.numpy_protocol import register
from . import (
    chains,
    contraction,
    decompositions,
    eigen,
    norms,
    numbers,
    products,
    solving,
    standard,
)
from .einsum import einsum, einsum_path

# Those that take the same arguments, by module.
_SAME: Final[dict[Any, str]] = {
    chains: "matrix_power multi_dot",
    contraction: "tensordot",
    decompositions: "cholesky qr svd svdvals",
    eigen: "eig eigh eigvals eigvalsh",
    norms: "matrix_norm norm vector_norm",
    numbers: "cond det matrix_rank slogdet",
    products: "matmul",
    solving: "inv lstsq pinv solve tensorinv tensorsolve",
    standard: "diagonal trace",
}


def _einsum(operands: Any, **kwargs: Any) -> Array:
    return einsum(*operands, **kwargs)


def _einsum_path(operands: Any, **kwargs: Any) -> Any:
    return einsum_path(*operands, **kwargs)


def _vecdot(x1: Any, x2: Any, axis: int = -1) -> Array:
    return vectors.vecdot(x1, x2, axis=axis)


register(
    {
        "@": products.of_two,
        **{
            getattr(np.linalg, name): getattr(module, name)
            for module, names in _SAME.items()
            for name in names.split()
        },
        np.dot: products.dot,
        np.einsum: _einsum,
        np.einsum_path: _einsum_path,
        np.inner: lambda a, b: products.inner(a, b),
        np.linalg.cross: lambda x1, x2, axis=-1: standard.cross(x1, x2, axis=axis),
        np.linalg.matrix_transpose: lambda x: x.mT,
        np.linalg.outer: lambda x1, x2: standard.outer(x1, x2),
        np.linalg.vecdot: _vecdot,
        np.matmul: products.matmul,
        np.matvec: products.matvec,
        np.tensordot: contraction.tensordot,
        np.vecmat: products.vecmat,
    }
)
