"""The twins of NumPy's functions: what ``np.flip(x)`` calls where x is ours.

Each takes the first argument by position and the others by NumPy's names; a keyword that is not
here is refused with its name (`methods.numpy_protocol`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from . import complexes, dot, elementwise, functions, joining, reductions, shapes, take
from .array import Array
from .complexes import of_parts
from .functions import (
    bits,
    comparing,
    covariances,
    differences,
    extremes,
    fitting,
    floats,
    nans,
    polynomials,
    statistics,
    walks,
    windows,
    words,
)
from .functions.signals import convolving, lines
from .indexing import choosing, flat, putting, searching
from .indexing.assigning import own_memory
from .methods.numpy_protocol import register

_FOLDERS: Final = functions.__name__, complexes.__name__

# Modules whose functions have NumPy's names and arguments.
_TOPICS: Final = (
    *(bits, comparing, of_parts, covariances, differences, extremes, fitting, floats, nans),
    *(polynomials, convolving, lines, statistics, windows, words),
)


def _shares(a: Any, b: Any, max_work: int = 0) -> bool:
    return own_memory.may_share_memory(a, b)


register(
    {
        **{getattr(np, name): getattr(Array, name) for name in ("squeeze", "astype")},
        **{
            getattr(np, name): getattr(shapes, name)
            for name in ("broadcast_to", "expand_dims", "flip", "ravel", "reshape")
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
        **{
            getattr(np, name): function
            for name, function in vars(elementwise).items()
            if isinstance(getattr(np, name, None), np.ufunc)
        },
        **{
            getattr(np, name): function
            for topic in _TOPICS
            for name, function in vars(topic).items()
            if getattr(function, "__module__", "").startswith(_FOLDERS)
            and callable(getattr(np, name, None))
        },
        np.may_share_memory: _shares,
        np.ravel_multi_index: flat.ravel_multi_index,
        np.shares_memory: _shares,
        np.unravel_index: flat.unravel_index,
        **{getattr(np, name): getattr(walks, name) for name in ("apply_over_axes", "piecewise")},
        np.append: joining.append,
        np.round: elementwise.round,
        np.around: elementwise.round,
        np.clip: elementwise.clip,
        np.take: take.take,
        np.take_along_axis: take.take_along_axis,
        np.vdot: lambda a, b: dot.vdot(a, b),
        np.vecdot: dot.vecdot,
        np.where: lambda condition, x=None, y=None: choosing.where(condition, x, y),
    }
)
