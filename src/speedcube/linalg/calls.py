"""What functions of matrices have in common: operands checked, routines called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .. import dtypes
from ..api.array import Array, array_of
from ..errors import DTypeError, MatrixError, ShapeError
from ..expr.nodes import Shape
from ..expr.pairs.node import of_pairs_in, parts
from ..expr.routines.row import called
from ..expr.routines.table import ROUTINES

# Of complex matrices, too, these results are real numbers.
_REAL: Final[dict[str, tuple[int, ...]]] = {
    **{"svd": (1,), "svdvals": (0,), "eigh": (0,), "eigvalsh": (0,), "slogdet": (1,)},
    **{"lstsq": (1, 2, 3), "lu_factors": (1,)},
}


def routine(
    name: str, arrays: Sequence[Array], results: Sequence[Shape], dtype: str, *given: Any
) -> list[Array]:
    """What routine ``name`` makes of ``arrays``; its results have these shapes and one dtype.

    Of complex arrays some results are real.
    """
    gpu = True in [array._gpu for array in arrays]
    if dtype in dtypes.COMPLEX:
        return _of_complex(name, arrays, results, dtype, gpu, *given)
    exprs = [array._expr for array in arrays]
    leaves = called(ROUTINES[name], exprs, results, dtype, given)
    return [Array(leaf, gpu=gpu) for leaf in leaves]


def _of_complex(
    name: str, arrays: Sequence[Array], results: Sequence[Shape], dtype: str, gpu: bool, *given: Any
) -> list[Array]:
    """The same of complex arrays: pairs of reals go in, and come out."""
    real = _REAL.get(name, ())
    exprs = [part for array in arrays for part in parts(array._expr)]
    shapes = [shape if k in real else (*shape, 2) for k, shape in enumerate(results)]
    pairs = (True,) * len(arrays)
    leaves = called(ROUTINES[name], exprs, shapes, dtypes.PARTS[dtype], given, pairs)
    return [
        Array(leaf if k in real else of_pairs_in(leaf), gpu=gpu) for k, leaf in enumerate(leaves)
    ]


def common(*arrays: Array) -> str:
    """The dtype that LAPACK computes in for ``arrays``: float32, or float64 for integers too."""
    dtype = dtypes.promote(*(array._expr.dtype for array in arrays))
    if dtype == "float16":
        raise DTypeError("LAPACK has no float16: convert it with .astype('float32') first")
    return dtype if dtypes.is_float(dtype) or dtype in dtypes.COMPLEX else "float64"


def as_dtype(array: Array, dtype: str) -> Array:
    """``array`` in ``dtype``; itself where that is its own."""
    return array if array._expr.dtype == dtype else array.astype(dtype)


def turned(array: Array, axes: Sequence[int], shape: Shape) -> Array:
    """``array`` with its axes in another order, in another shape; itself where both are its own."""
    if tuple(axes) != tuple(range(array.ndim)):
        array = array.transpose([*axes])
    return array if array.shape == shape else array.reshape(shape)


def matrices(name: str, a: Any, square: bool = False) -> Array:
    """``a`` as floats, of two axes at least, of which the last two are equal where ``square``."""
    array = of_matrices(name, a, square)
    return as_dtype(array, common(array))


def of_matrices(name: str, a: Any, square: bool = False) -> Array:
    """The same in its own dtype, which LAPACK need not have."""
    array = array_of(a)
    if array.ndim < 2:
        raise MatrixError(
            f"{name} takes matrices, arrays of two axes or more, not one of shape {array.shape}"
        )
    if square and array.shape[-1] != array.shape[-2]:
        raise MatrixError(
            f"{name} takes square matrices, not {array.shape[-2]} x {array.shape[-1]} ones "
            f"(shape {array.shape}): the last two axes must be equal"
        )
    return array


def batch_of(name: str, *shapes: Shape) -> Shape:
    """The shape of stacks that are broadcast together."""
    from_axes: list[int] = []
    longest = max(map(len, shapes), default=0)
    for k in range(-longest, 0):
        sizes = {shape[k] for shape in shapes if len(shape) >= -k} - {1}
        if len(sizes) > 1:
            listed = " and ".join(map(str, shapes))
            raise ShapeError(f"{name}: stacks of shapes {listed} do not broadcast together")
        from_axes.append(sizes.pop() if sizes else 1)
    return tuple(from_axes)
