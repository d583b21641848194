"""The dtypes speedcube computes with, and how they combine.

Promotion is NumPy's (NEP 50), which agrees with the Array API wherever the latter says anything:
Python scalars are weak and take the array's dtype.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from .errors import DTypeError

FLOATS: Final = ("float32", "float64")
SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
INTEGERS: Final = SIGNED + UNSIGNED
ALL: Final = ("bool", *INTEGERS, *FLOATS)
MANTISSA: Final = {"float32": 24, "float64": 53}


def check(dtype: Any) -> str:
    """The canonical name of ``dtype``; `DTypeError` where speedcube has no such dtype."""
    try:
        resolved = np.dtype(dtype)
    except TypeError as err:
        raise DTypeError(f"unknown dtype {dtype!r}; supported: {', '.join(ALL)}") from err
    if resolved.name not in ALL:
        raise DTypeError(
            f"dtype {resolved.name!r} is not supported; supported: {', '.join(ALL)}. "
            "Convert with .astype() before handing the array over."
        )
    return str(resolved.name)


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def is_integer(dtype: str) -> bool:
    return dtype in INTEGERS


def promote(*operands: Any) -> str:
    """The dtype of an operation on ``operands``: dtype names, or Python scalars, which are weak."""
    concrete = [np.dtype(o) if isinstance(o, str) else o for o in operands]
    try:
        return check(np.result_type(*concrete))
    except (TypeError, OverflowError) as err:
        raise DTypeError(f"no common dtype for {operands}: {err}") from err


def itemsize(dtype: str) -> int:
    """Bytes per element."""
    return np.dtype(dtype).itemsize
