"""The twins of NumPy's functions: what ``np.flip(x)`` calls where x is ours.

Each takes the first argument by position and the others by NumPy's names; a keyword that is not
here is refused with its name (`methods.numpy_protocol`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import creation, dot, elementwise, joining, padding, reductions, shapes, take
from .array import Array
from .indexing import choosing, putting, searching
from .methods.numpy_protocol import register


def _size(a: Array, axis: Any = None) -> int:
    return a.size if axis is None else a.shape[axis]


def _clip(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Array:
    return elementwise.clip(a, min if a_min is None else a_min, max if a_max is None else a_max)


def _transpose(a: Array, axes: Any = None) -> Array:
    return a.transpose(axes)


def _swapaxes(a: Array, axis1: int, axis2: int) -> Array:
    return a.swapaxes(axis1, axis2)


def _ravel(a: Array) -> Array:
    return a.ravel()


register(
    {
        **{
            getattr(np, name): getattr(Array, name)
            for name in (
                *(
                    "sum",
                    "prod",
                    "cumsum",
                    "cumprod",
                    "mean",
                    "var",
                    "std",
                    "min",
                    "max",
                    "any",
                    "all",
                    "argmin",
                    "argmax",
                ),
                *("squeeze", "astype"),
            )
        },
        **{
            getattr(np, name): getattr(shapes, name)
            for name in ("broadcast_to", "expand_dims", "flip", "moveaxis", "reshape")
        },
        **{
            getattr(np, name): getattr(reductions, name)
            for name in ("count_nonzero", "cumulative_prod", "cumulative_sum")
        },
        **{
            getattr(np, name): getattr(creation, name)
            for name in ("zeros_like", "ones_like", "full_like")
        },
        **{
            getattr(np, name): getattr(joining, name)
            for name in ("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack")
        },
        **{
            getattr(np, name): getattr(padding, name)
            for name in ("pad", "roll", "repeat", "tile", "rot90")
        },
        **{
            getattr(np, name): getattr(searching, name)
            for name in ("argwhere", "compress", "extract", "flatnonzero", "nonzero")
        },
        **{getattr(np, name): getattr(choosing, name) for name in ("choose", "select")},
        **{
            getattr(np, name): getattr(putting, name)
            for name in ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")
        },
        np.append: joining.append,
        np.round: elementwise.round,
        np.amin: Array.min,
        np.amax: Array.max,
        np.around: elementwise.round,
        np.clip: _clip,
        np.copy: lambda a: a,
        np.dot: dot.dot,
        np.empty_like: creation.zeros_like,
        np.fliplr: lambda m: shapes.flip(m, 1),
        np.flipud: lambda m: shapes.flip(m, 0),
        np.linalg.vecdot: dot.vecdot,
        np.matmul: dot.matmul,
        np.matrix_transpose: lambda x: x.swapaxes(-1, -2),
        np.ndim: lambda a: a.ndim,
        np.ravel: _ravel,
        np.shape: lambda a: a.shape,
        np.size: _size,
        np.swapaxes: _swapaxes,
        np.take: take.take,
        np.take_along_axis: take.take_along_axis,
        np.transpose: _transpose,
        np.vdot: dot.vdot,
        np.vecdot: dot.vecdot,
        np.where: lambda condition, x=None, y=None: choosing.where(condition, x, y),
    }
)
