"""The twins of NumPy's functions: what ``np.flip(x)`` calls where x is ours.

Each takes the first argument by position and the others by NumPy's names; a keyword that is not
here is refused with its name (`interop.numpy_calls`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import UnsupportedError
from . import dot, functions, take
from .array import Array
from .numpy_protocol import register


def _size(a: Array, axis: Any = None) -> int:
    return a.size if axis is None else a.shape[axis]


def _clip(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Array:
    return functions.clip(a, min if a_min is None else a_min, max if a_max is None else a_max)


def _where(condition: Any, x: Any = None, y: Any = None) -> Array:
    if x is None or y is None:
        raise UnsupportedError(
            "numpy.where of a speedcube condition takes x and y; for the places where it holds "
            "compute it first: np.nonzero(condition.compute())"
        )
    return functions.where(condition, x, y)


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
            getattr(np, name): getattr(functions, name)
            for name in (
                *("broadcast_to", "count_nonzero", "expand_dims", "flip", "moveaxis", "reshape"),
                *("cumulative_prod", "cumulative_sum"),
                *("round", "zeros_like", "ones_like", "full_like"),
            )
        },
        np.amin: Array.min,
        np.amax: Array.max,
        np.around: functions.round,
        np.clip: _clip,
        np.copy: lambda a: a,
        np.dot: dot.dot,
        np.empty_like: functions.zeros_like,
        np.fliplr: lambda m: functions.flip(m, 1),
        np.flipud: lambda m: functions.flip(m, 0),
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
        np.where: _where,
    }
)
