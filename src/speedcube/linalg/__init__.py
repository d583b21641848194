"""Linear algebra with the names of ``numpy.linalg`` and of the Array API: lazy.

Products and decompositions of floats are those of BLAS and LAPACK, or of cuBLAS and cuSOLVER on a
GPU: about n eps, and no law covers their bits (`Array.explain` says where). What surrounds them is
fused, and has its laws.
"""

from numpy.linalg import LinAlgError

from ..api.dot import vecdot
from ..api.namespace.axes import matrix_transpose
from ..interop.words import with_dasks_names as _with_dasks_names
from .chains import matrix_power, multi_dot
from .compressed import svd_compressed
from .contraction import tensordot
from .decompositions import cholesky, qr, svd, svdvals
from .eigen import eig, eigh, eigvals, eigvalsh
from .norms import matrix_norm, norm, vector_norm
from .numbers import cond, det, matrix_rank, slogdet
from .of_dask import lu, sfqr, solve_triangular, tsqr
from .products import matmul
from .solving import inv, lstsq, pinv, solve, tensorinv, tensorsolve
from .standard import cross, diagonal, outer, trace

globals().update(_with_dasks_names(globals()))

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "lu",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "sfqr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svd_compressed",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "tsqr",
    "vecdot",
    "vector_norm",
]
