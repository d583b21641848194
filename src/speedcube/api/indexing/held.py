"""What an array of some dtype can hold of Python's numbers, alone or in lists."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...errors import DTypeError, ParameterError, RangeError
from ..array import Array, array_of

_PYTHONS: Final = (bool, int, float, complex, list, tuple)


def elements_of(values: Any, dtype: Any, what: str) -> Array:
    """``values``; an error of NumPy's kind where they are Python's and ``dtype`` cannot hold them.

    Arrays, of whatever library, are cast as NumPy casts them.
    """
    items = values if isinstance(values, (list, tuple)) else (values,)
    if all(isinstance(one, _PYTHONS) for one in items):
        _check(values, np.dtype(dtype), what)
    return array_of(values)


def _check(values: Any, dtype: np.dtype[Any], what: str) -> None:
    try:
        np.asarray(values, dtype)
    except OverflowError as err:
        raise RangeError(f"{what}: {err}") from err
    except (TypeError, ValueError) as err:
        try:
            kind = np.asarray(values).dtype.kind
        except (TypeError, ValueError):  # which `array_of` says in our words
            return
        if kind == "c":
            raise DTypeError(
                f"{what}: {values!r} is complex, and the array has dtype {dtype}: give its .real"
            ) from err
        if kind == "f":
            raise ParameterError(f"{what}: {err}, the array has dtype {dtype}") from err
