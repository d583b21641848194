"""What an array of some dtype can hold of Python's numbers, alone or in lists."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...errors import DTypeError, ParameterError, RangeError
from ..array import Array, array_of

_PYTHONS: Final = frozenset((bool, int, float, complex, list, tuple))


def elements_of(values: Any, dtype: Any, what: str) -> Array:
    """``values``; an error of NumPy's kind where they are Python's and ``dtype`` cannot hold them.

    Arrays, of whatever library, are cast as NumPy casts them.
    """
    items = values if isinstance(values, (list, tuple)) else (values,)
    if _PYTHONS.issuperset(map(type, items)):
        values = _held(values, np.dtype(dtype), what)
    return array_of(values)


def _held(values: Any, dtype: np.dtype[Any], what: str) -> Any:
    """``values`` in ``dtype``; as they are where `array_of` says what is wrong with them."""
    try:
        return np.asarray(values, dtype)
    except OverflowError as err:
        raise RangeError(f"{what}: {err}") from err
    except (TypeError, ValueError) as err:
        try:
            kind = np.asarray(values).dtype.kind
        except (TypeError, ValueError):  # which `array_of` says in our words
            return values
        if kind == "c":
            raise DTypeError(
                f"{what}: {values!r} is complex, and the array has dtype {dtype}: give its .real"
            ) from err
        if kind == "f":
            raise ParameterError(f"{what}: {err}, the array has dtype {dtype}") from err
        return values
