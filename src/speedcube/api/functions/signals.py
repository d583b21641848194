"""Functions of lines of samples: angles without jumps."""

from __future__ import annotations

import math
from typing import Any

from ...expr import build
from ..array import Array, array_of, elementwise
from ..joining import concatenate
from .differences import along, diff
from .floats import either, is_of_floats


def unwrap(
    p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * math.pi
) -> Array:
    """Angles without jumps: whole periods are added so that no step is above half of one.

    Parameters
    ----------
    p : array_like
        One axis or more.
    discont : float, optional
        The least jump that is taken out; half a period at least.
    axis : int
        Along which.
    period : float
        The size of the range that wraps.

    Returns
    -------
    Array
        Of the shape of `p`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.unwrap([0, 3, 5, 1, 3], period=6).compute()
    array([0, 3, 5, 7, 9])
    """
    array = array_of(p)
    k = build.check_axis(axis, array.ndim)
    steps = diff(array, axis=k)
    whole = not is_of_floats(steps) and isinstance(period, int)
    high: Any = period // 2 if whole else period / 2
    ambiguous = period % 2 == 0 if whole else True
    least = period / 2 if discont is None else discont
    held = elementwise("remainder", steps + high, period) - high
    if ambiguous:
        held = either((held == -high) & (steps > 0), high, held)
    added = either(elementwise("less", elementwise("absolute", steps), least), 0, held - steps)
    rest = along(array, k, slice(1, None)) + added.cumsum(k)
    whole_line = concatenate([along(array, k, slice(0, 1)), rest], k)
    return whole_line.astype(held.dtype)
