"""Powers: to one exponent by multiplication; integers to negative ones, which are refused."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np

from ... import dtypes
from ...errors import ParameterError, RangeError
from ...expr import build
from ...expr.nodes import Expr, Stored, const
from .dask_collection import Collection

Number: TypeAlias = bool | int | float


def check_powers(base: Any, exponent: Any) -> None:
    """Refuse integers with exponents that are in memory and below 0.

    Exponents that are still to be computed are not looked at; such a power is 0 then.
    """
    if _is_of_integers(base) and _below_zero(exponent) and not _give_floats(base, exponent):
        raise _refusal(base._expr.dtype if isinstance(base, Collection) else "int64", exponent)


def _give_floats(*operands: Any) -> bool:
    """Whether these integers are floats together, as uint64 and int8 are."""
    if any(type(one) is int for one in operands):  # Python's numbers take the array's dtype
        return False
    kinds = [one.dtype if hasattr(one, "dtype") else np.asarray(one).dtype for one in operands]
    return bool(np.result_type(*kinds).kind == "f")


def _refusal(dtype: str, exponent: Any) -> ParameterError | RangeError:
    if type(exponent) is int and dtype[0] == "u":  # Python's numbers take the array's dtype
        return RangeError(
            f"the exponent {exponent} does not fit {dtype}; make the base floats, "
            ".astype('float64')"
        )
    return ParameterError(
        "integers to negative integer powers are not allowed: the results are "
        "fractions; make the base floats, .astype('float64')"
    )


def _is_of_integers(value: Any) -> bool:
    if isinstance(value, Collection):
        # An expression would be asked of what a mask selects: that counts.
        return value.dtype.kind in "iub"  # type: ignore[attr-defined]
    with suppress(ValueError):  # a ragged list, which is refused later
        return np.asarray(value).dtype.kind in "iub"
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


def is_square(base: Any, exponent: Any) -> bool:
    """Whether it is one of floats, which `square` rounds once."""
    known = type(exponent) in (int, float) and exponent == 2 and isinstance(base, Collection)
    return known and dtypes.is_float(base._expr.dtype)


def power(base: Expr, scalar: Number | np.generic) -> Expr:
    """``base`` to one exponent: 0.5 by square root, whole ones up to 64 by multiplication.

    A NumPy scalar has a dtype that counts; Python's numbers take that of ``base``.
    """
    if isinstance(scalar, np.generic):
        base = build.cast(base, dtypes.promote(base.dtype, str(scalar.dtype)))
    exponent: Number = scalar.item() if isinstance(scalar, np.generic) else scalar
    if isinstance(exponent, float) and not dtypes.is_float(base.dtype):
        base = build.cast(base, "float64")
    if isinstance(exponent, float) and exponent == 0.5:
        return build.elementwise("sqrt", [base])
    if exponent < 0 and not dtypes.is_float(base.dtype):
        raise _refusal(base.dtype, scalar)
    if not abs(exponent) <= 64 or exponent != int(exponent):
        return build.elementwise("power", [base, exponent])
    if base.dtype == "bool":  # NumPy's square of bool is int8
        base = build.cast(base, "int8" if exponent == 2 or isinstance(exponent, bool) else "int64")
    # float16 is carried through all multiplications in float32, and rounded once.
    return build.cast(
        _multiplied(build.cast(base, dtypes.carrier(base.dtype)), int(exponent)), base.dtype
    )


def _multiplied(base: Expr, whole: int) -> Expr:
    """``base ** whole`` by repeated squaring."""
    result: Expr | None = None
    square, bits = base, abs(whole)
    while bits:
        if bits & 1:
            result = square if result is None else build.elementwise("multiply", [result, square])
        bits >>= 1
        if bits:
            square = build.elementwise("square", [square])
    if result is None:
        return const(1, base.dtype, base.shape)
    return result if whole > 0 else build.elementwise("divide", [1.0, result])
