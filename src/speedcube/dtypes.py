"""The dtypes speedcube computes with, and how they combine.

Promotion is NumPy's (NEP 50), which agrees with the Array API wherever the latter says anything:
Python scalars are weak and take the array's dtype.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from .errors import DTypeError, ParameterError, RangeError

FLOATS: Final = ("float16", "float32", "float64")
SIGNED: Final = ("int8", "int16", "int32", "int64")
UNSIGNED: Final = ("uint8", "uint16", "uint32", "uint64")
INTEGERS: Final = SIGNED + UNSIGNED
ALL: Final = ("bool", *INTEGERS, *FLOATS)
# No kernel computes with these: an array of them is a pair of expressions (`expr/pairs`), each of
# the dtype that its parts have.
PARTS: Final = {"complex64": "float32", "complex128": "float64"}
COMPLEX: Final = frozenset(PARTS)
OF_PARTS: Final = {"float16": "complex64", **{part: name for name, part in PARTS.items()}}
MANTISSA: Final = {"float16": 11, "float32": 24, "float64": 53}
# What kernels compute in, where it is not the dtype itself: as in NumPy, each operation is done in
# float32 and its result rounded.
_CARRIED: Final = {"float16": "float32"}
# What lies in memory, where kernels do not know the dtype: its bits.
_STORED: Final = {"float16": "uint16"}
COMPUTED: Final = tuple(name for name in ALL if name not in _CARRIED)
# NumPy makes a dtype's name anew each time it is asked, which takes 3 us.
_SUPPORTED: Final = (*ALL, *PARTS)
_NAMES: Final[dict[Any, str]] = {key: name for name in _SUPPORTED for key in (name, np.dtype(name))}


def check(dtype: Any) -> str:
    """The canonical name of ``dtype``; `DTypeError` where speedcube has no such dtype."""
    if isinstance(dtype, (str, np.dtype)) and dtype in _NAMES:
        return _NAMES[dtype]
    try:
        resolved = np.dtype(dtype)
    except TypeError as err:
        raise DTypeError(f"unknown dtype {dtype!r}; supported: {', '.join(_SUPPORTED)}") from err
    if resolved.name not in _SUPPORTED:
        raise DTypeError(
            f"dtype {resolved.name!r} is not supported; supported: {', '.join(_SUPPORTED)}. "
            "Convert with .astype() before handing the array over."
        )
    return str(resolved.name)


_HOLDING: Final = {
    **dict.fromkeys(("bool", "int8", "uint8"), "float16"),
    **dict.fromkeys(("int16", "uint16"), "float32"),
}


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def is_integer(dtype: str) -> bool:
    return dtype in INTEGERS


def is_complex(dtype: str) -> bool:
    return dtype in COMPLEX


def is_inexact(dtype: str) -> bool:
    """Whether ``dtype`` is one of floats, or of complex numbers."""
    return dtype in FLOATS or dtype in COMPLEX


def carrier(dtype: str) -> str:
    """The dtype that holds values of ``dtype`` while a kernel computes."""
    return _CARRIED.get(dtype, dtype)


def stored(dtype: str) -> str:
    """The dtype by which kernels load and store elements of ``dtype``."""
    return _STORED.get(dtype, dtype)


def promote(*operands: Any) -> str:
    """The dtype of an operation on ``operands``: dtype names, or Python scalars, which are weak."""
    return _promoted(*map(_without_value, operands))


def _without_value(operand: Any) -> Any:
    """What counts of an operand: of a float and of a NumPy scalar the type alone."""
    if isinstance(operand, str):
        return operand
    if isinstance(operand, np.generic):
        return operand.dtype
    if isinstance(operand, complex):
        return 1j
    return 1.0 if isinstance(operand, float) else operand


@lru_cache(maxsize=1024, typed=True)
def _promoted(*operands: Any) -> str:
    concrete = [np.dtype(o) if isinstance(o, str) else o for o in operands]
    try:
        return check(np.result_type(*concrete))
    except (TypeError, OverflowError) as err:
        raise DTypeError(f"no common dtype for {operands}: {err}") from err


def holding(*kinds: Any) -> str:
    """The float that NumPy computes functions of integers in: the least that holds them all.

    Of dtypes and the types of Python scalars; an int is as wide as the integers beside it.
    """
    beside = any(kind in INTEGERS for kind in kinds if isinstance(kind, str))
    known = ["bool" if kind is bool else kind for kind in kinds if not (kind is int and beside)]
    return promote(*(_HOLDING.get(kind, "float64") for kind in known))


def castable(source: Any, target: Any, casting: Any) -> bool:
    """Whether ``casting``, a word of NumPy's, allows it."""
    try:
        return np.can_cast(source, target, casting)
    except ValueError as err:
        raise ParameterError(str(err)) from err


def itemsize(dtype: str) -> int:
    """Bytes per element."""
    return np.dtype(dtype).itemsize


def check_holds(dtype: str, value: object) -> None:
    """Refuse a Python integer that ``dtype`` does not hold."""
    if type(value) is int and is_integer(dtype):
        limits = np.iinfo(dtype)
        if not limits.min <= value <= limits.max:
            raise RangeError(f"the integer {value} is out of bounds for {dtype}")
