"""The twins of NumPy's functions: what ``np.flip(x)`` calls where x is ours.

Each takes the first argument by position and the others by NumPy's names; a keyword that is not
here is refused with its name (`methods.numpy_protocol`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..errors import UnsupportedError
from . import creation, dot, elementwise, functions, joining, padding, reductions, shapes, take
from .array import Array
from .functions import (
    bits,
    comparing,
    differences,
    extremes,
    floats,
    nans,
    polynomials,
    signals,
    statistics,
    windows,
    words,
)
from .methods.numpy_protocol import register

# Modules whose functions have NumPy's names and arguments.
_TOPICS: Final = (
    *(bits, comparing, differences, extremes, floats, nans),
    *(polynomials, signals, statistics, windows, words),
)


def _size(a: Array, axis: Any = None) -> int:
    return a.size if axis is None else a.shape[axis]


def _where(condition: Any, x: Any = None, y: Any = None) -> Array:
    if x is None or y is None:
        raise UnsupportedError(
            "numpy.where of a speedcube condition takes x and y; for the places where it holds "
            "compute it first: np.nonzero(condition.compute())"
        )
    return elementwise.where(condition, x, y)


def _transpose(a: Array, axes: Any = None) -> Array:
    return a.transpose(axes)


def _swapaxes(a: Array, axis1: int, axis2: int) -> Array:
    return a.swapaxes(axis1, axis2)


def _ravel(a: Array) -> Array:
    return a.ravel()


register(
    {
        **{getattr(np, name): getattr(Array, name) for name in ("squeeze", "astype")},
        **{
            getattr(np, name): getattr(shapes, name)
            for name in ("broadcast_to", "expand_dims", "flip", "moveaxis", "reshape")
        },
        **{
            getattr(np, name): getattr(reductions, name)
            for name in (
                *("sum", "prod", "cumsum", "cumprod", "mean", "var", "std", "min", "max", "any"),
                *("all", "argmin", "argmax", "amin", "amax"),
                *("count_nonzero", "cumulative_prod", "cumulative_sum"),
            )
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
            getattr(np, name): function
            for name, function in vars(elementwise).items()
            if isinstance(getattr(np, name, None), np.ufunc)
        },
        **{
            getattr(np, name): function
            for topic in _TOPICS
            for name, function in vars(topic).items()
            if getattr(function, "__module__", "").startswith(functions.__name__)
            and callable(getattr(np, name, None))
        },
        np.append: joining.append,
        np.round: elementwise.round,
        np.around: elementwise.round,
        np.clip: elementwise.clip,
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
        np.where: _where,
    }
)
