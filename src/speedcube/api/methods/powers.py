"""Integers to negative integer powers, which NumPy refuses, as far as they are known."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from ...errors import ParameterError
from ...expr.nodes import Stored
from .dask_collection import Collection


def check_powers(base: Any, exponent: Any) -> None:
    """`ParameterError` where integers meet exponents that are in memory and below 0.

    Exponents that are still to be computed are not looked at; such a power is 0 then.
    """
    if _is_of_integers(base) and _below_zero(exponent):
        raise ParameterError(
            "integers to negative integer powers are not allowed: the results are no integers; "
            "make the base floats, .astype('float64')"
        )


def _is_of_integers(value: Any) -> bool:
    if isinstance(value, Collection):
        return np.dtype(value._expr.dtype).kind in "iu"
    with suppress(ValueError):  # a ragged list, which is refused later
        return np.asarray(value).dtype.kind in "iu"
    return False


def _below_zero(exponent: Any) -> bool:
    if isinstance(exponent, Collection):
        source = getattr(exponent._expr, "source", None)
        if exponent._expr.dtype[0] != "i" or not isinstance(source, Stored) or source.on_device:
            return False
        exponent = source.buffer
    with suppress(ValueError):
        known = np.asarray(exponent)
        return known.dtype.kind == "i" and bool((known < 0).any())
    return False
