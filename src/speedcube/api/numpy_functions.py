"""The twins of NumPy's functions: what ``np.flip(x)`` calls where x is ours.

Each takes the first argument by position and the others by NumPy's names; a keyword that is not
here is refused with its name (`methods.numpy_protocol`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dot, elementwise, joining, reductions, shapes, take
from .array import Array
from .indexing import choosing, putting, searching
from .methods.numpy_protocol import register


def _clip(a: Any, a_min: Any = None, a_max: Any = None, min: Any = None, max: Any = None) -> Array:
    return elementwise.clip(a, min if a_min is None else a_min, max if a_max is None else a_max)


def _vecdot(x1: Any, x2: Any, axis: int = -1) -> Array:
    return dot.vecdot(x1, x2, axis=axis)


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
            for name in ("broadcast_to", "expand_dims", "flip", "ravel", "reshape")
        },
        **{
            getattr(np, name): getattr(reductions, name)
            for name in ("count_nonzero", "cumulative_prod", "cumulative_sum")
        },
        **{
            getattr(np, name): getattr(joining, name)
            for name in ("concatenate", "stack", "hstack", "vstack", "dstack", "column_stack")
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
        np.dot: dot.dot,
        np.linalg.vecdot: _vecdot,
        np.matmul: dot.matmul,
        np.take: take.take,
        np.take_along_axis: take.take_along_axis,
        np.vdot: lambda a, b: dot.vdot(a, b),
        np.vecdot: dot.vecdot,
        np.where: lambda condition, x=None, y=None: choosing.where(condition, x, y),
    }
)
