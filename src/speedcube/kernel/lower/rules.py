"""What each element-wise operation is in IR: one rule for each row of `ops.OPS`.

A rule gets the builder, the arguments (already promoted to the operation's compute dtype) and the
result dtype. Integer division by zero gives 0 and a float out of an integer's range gives its
least value, as NumPy does on x86; both are guarded here because IR leaves them undefined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ..builder import Builder, Value
from ..math.bits import magnitude
from ..math.division import floor_divide, gcd, remainder
from ..math.elementary import ELEMENTARY
from ..math.float16 import rounded

Rule = Callable[..., Value]


def _simple(op: str) -> Rule:
    return lambda b, *args: b.emit(op, args[0].type, *args)


_MIRRORED: Final = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


def _compare(op: str) -> Rule:
    """In the common dtype; uint64 and signed integers, which have none that holds both, exactly."""

    def rule(b: Builder, x: Value, y: Value) -> Value:
        if x.type == "uint64" and y.type in dtypes.SIGNED:
            return _below(b, _MIRRORED[op], y, x)
        if y.type == "uint64" and x.type in dtypes.SIGNED:
            return _below(b, op, x, y)
        common = dtypes.promote(x.type, y.type)
        return cast(b, x, common).compare(op, cast(b, y, common))

    return rule


def _below(b: Builder, op: str, x: Value, y: Value) -> Value:
    """A signed integer against a uint64: below it where negative."""
    wide = cast(b, x, "int64")
    negative = wide.compare("lt", b.const(0, "int64"))
    relation = wide.bitcast("uint64").compare(op, y)
    return b.select(negative, b.const(op in ("ne", "lt", "le"), "bool"), relation)


def _add(b: Builder, x: Value, y: Value) -> Value:
    return x | y if x.type == "bool" else x + y


def _multiply(b: Builder, x: Value, y: Value) -> Value:
    return x & y if x.type == "bool" else x * y


def _zero(b: Builder, x: Value) -> Value:
    return b.const(0, x.type)


def _absolute(b: Builder, x: Value) -> Value:
    if x.type == "bool" or x.type in dtypes.UNSIGNED:
        return x
    if dtypes.is_float(x.type):
        return magnitude(b, x)
    return b.select(x.compare("lt", _zero(b, x)), -x, x)


def _sign(b: Builder, x: Value) -> Value:
    zero, one = _zero(b, x), b.const(1, x.type)
    if x.type in dtypes.UNSIGNED:
        return b.select(x.compare("gt", zero), one, zero)
    sign = b.select(x.compare("lt", zero), b.const(-1, x.type), zero)
    sign = b.select(x.compare("gt", zero), one, sign)
    return b.select(x.compare("ne", x), x, sign) if dtypes.is_float(x.type) else sign


def _extremum(op: str) -> Rule:
    def rule(b: Builder, x: Value, y: Value) -> Value:
        if x.type == "bool":
            return x & y if op == "lt" else x | y
        chosen = b.select(x.compare(op, y), x, y)
        if not dtypes.is_float(x.type):
            return chosen
        return b.select(x.compare("ne", x), x, chosen)  # a NaN on the right is chosen already

    return rule


def _integral(op: str) -> Rule:
    return lambda b, x: b.unary(op, x) if dtypes.is_float(x.type) else x


def _shift(op: str) -> Rule:
    """Shifts by the width or more give 0 (or the sign), as NumPy does."""

    def rule(b: Builder, x: Value, y: Value) -> Value:
        width = 8 * dtypes.itemsize(x.type)
        last, zero = b.const(width - 1, x.type), _zero(b, x)
        inside = y.compare("lt", b.const(width, x.type))
        if x.type in dtypes.SIGNED:
            inside = inside & y.compare("ge", zero)
        amount = b.select(inside, y, last)
        shifted = b.emit(op, x.type, x, amount)
        if op == "shrv" and x.type in dtypes.SIGNED:
            return shifted
        return b.select(inside, shifted, zero)

    return rule


def _isnan(b: Builder, x: Value) -> Value:
    return x.compare("ne", x) if dtypes.is_float(x.type) else b.const(False, "bool")


def _isfinite(b: Builder, x: Value) -> Value:
    if not dtypes.is_float(x.type):
        return b.const(True, "bool")
    return _absolute(b, x).compare("lt", b.const(float("inf"), x.type))


def _isinf(b: Builder, x: Value) -> Value:
    if not dtypes.is_float(x.type):
        return b.const(False, "bool")
    return _absolute(b, x).compare("eq", b.const(float("inf"), x.type))


def _signbit(b: Builder, x: Value) -> Value:
    if x.type in dtypes.UNSIGNED or x.type == "bool":
        return b.const(False, "bool")
    word = {"float64": "int64", "float32": "int32"}.get(x.type, x.type)
    x = x if word == x.type else x.bitcast(word)
    return x.compare("lt", _zero(b, x))


def cast(b: Builder, x: Value, dtype: str) -> Value:
    """``x`` as ``dtype``: NumPy's astype, with out-of-range floats pinned to the least integer.

    An integer that float32 must round is too large for float16 in any case.
    """
    if dtype == "bool":
        return x if x.type == "bool" else x.compare("ne", _zero(b, x))
    if x.type == "bool":
        held = dtypes.carrier(dtype)
        return b.select(x, b.const(1, held), b.const(0, held))
    if dtype == "float16":
        return rounded(b, x if dtypes.is_float(x.type) else x.cast("float32"))
    if not (dtypes.is_float(x.type) and dtypes.is_integer(dtype)):
        return x.cast(dtype)
    narrow = dtypes.itemsize(dtype) < 8
    inside = magnitude(b, x).compare("lt", b.const(2.0**31 if narrow else 2.0**51, x.type))
    if dtype == "uint64":
        inside = inside & x.compare("gt", b.const(-1.0, x.type))
    near = b.select(inside, x, b.const(0.0, x.type))
    usual = near.cast("int32").cast(dtype) if narrow else _near(b, near).cast(dtype)
    return b.rare(b.unary("not", inside), usual, lambda b, x: _truncated(b, x, dtype), x)


_HALF: Final = float(1 << 32)
_UNITS: Final = 1.5 * 2.0**52  # doubles beside it lie 1 apart


def _near(b: Builder, x: Value) -> Value:
    """The float ``x`` within 2**51 as an int64, for which AVX2 has no instruction."""
    placed = b.unary("trunc", x.cast("float64")) + b.const(_UNITS, "float64")
    return placed.bitcast("int64") - b.const(_UNITS, "float64").bitcast("int64")


def _truncated(b: Builder, x: Value, dtype: str) -> Value:
    """The float ``x`` through an integer of 64 bits, then wrapped, as NumPy does for narrow types.

    In two halves that doubles hold.
    """
    wide = "uint64" if dtype == "uint64" else "int64"
    x = x.cast("float64")
    least, most = (-1.0, 2.0**64) if wide == "uint64" else (-(2.0**63), 2.0**63)
    above = x.compare("gt" if wide == "uint64" else "ge", b.const(least, "float64"))
    inside = x.compare("lt", b.const(most, "float64")) & above
    whole = b.unary("trunc", b.select(inside, x, b.const(0.0, "float64")))
    upper = b.unary("floor", whole * b.const(1.0 / _HALF, "float64"))
    low = _low_bits(b, whole - upper * b.const(_HALF, "float64"), wide)
    if dtypes.itemsize(dtype) < 8:
        return low.cast(dtype)
    high = _low_bits(b, upper, wide) << 32
    outside = b.const(np.iinfo("int64").min if wide == "int64" else 2**63, wide)
    return b.select(inside, high | low, outside)


def _low_bits(b: Builder, x: Value, wide: str) -> Value:
    """The lowest 32 bits of ``x``, an integer within 2**32: a double's where its unit is 1."""
    placed = x + b.const(_UNITS, "float64")
    return placed.bitcast(wide) & b.const((1 << 32) - 1, wide)


def _logical(op: str) -> Rule:
    return lambda b, *args: b.emit(op, "bool", *args)


RULES: Final[dict[str, Rule]] = {
    "add": _add,
    "subtract": _simple("sub"),
    "multiply": _multiply,
    "divide": _simple("div"),
    "floor_divide": floor_divide,
    "remainder": remainder,
    "gcd": gcd,
    "minimum": _extremum("lt"),
    "maximum": _extremum("gt"),
    "sqrt": _simple("sqrt"),
    **ELEMENTARY,
    "negative": lambda b, x: -x,
    "positive": lambda b, x: x,
    "square": lambda b, x: x * x,
    "sign": _sign,
    "absolute": _absolute,
    "floor": _integral("floor"),
    "ceil": _integral("ceil"),
    "trunc": _integral("trunc"),
    "rint": _integral("rint"),
    "bitwise_and": _simple("and"),
    "bitwise_or": _simple("or"),
    "bitwise_xor": _simple("xor"),
    "invert": _simple("not"),
    "left_shift": _shift("shlv"),
    "right_shift": _shift("shrv"),
    "equal": _compare("eq"),
    "not_equal": _compare("ne"),
    "less": _compare("lt"),
    "less_equal": _compare("le"),
    "greater": _compare("gt"),
    "greater_equal": _compare("ge"),
    "logical_and": _logical("and"),
    "logical_or": _logical("or"),
    "logical_xor": _logical("xor"),
    "logical_not": _logical("not"),
    "isnan": _isnan,
    "isfinite": _isfinite,
    "isinf": _isinf,
    "signbit": _signbit,
    "where": lambda b, condition, x, y: b.select(condition, x, y),
}


def one_zero(b: Builder, x: Value) -> Value:
    """``x`` with +0 for -0: where places are asked for, both are the same."""
    return x + b.const(0.0, x.type) if dtypes.is_float(x.type) else x


def order_key(b: Builder, x: Value, highest: bool, skips: bool = False) -> Value:
    """An int64 that orders like ``x`` (reversed for ``highest``), -0 below +0.

    NaN comes first; where the fold ``skips`` it, last.
    """
    if dtypes.is_float(x.type):
        word = {"float64": "int64", "float32": "int32"}[x.type]
        bits = x.bitcast(word)
        sign = bits >> (8 * dtypes.itemsize(word) - 1)
        key = (bits ^ (sign & b.const(int(np.iinfo(word).max), word))).cast("int64")
        key = b.unary("not", key) if highest else key
        return b.select(x.compare("ne", x), b.const(_NAN[skips], "int64"), key)
    key = cast(b, x, "uint64" if x.type == "uint64" else "int64")
    if x.type == "uint64":
        key = (key ^ b.const(2**63, "uint64")).bitcast("int64")
    return b.unary("not", key) if highest else key


_NAN: Final = (-(2**63), 2**63 - 1)  # its key before all others and behind them, in either order


def key_values(
    keys: NDArray[np.int64], dtype: str, highest: bool, skips: bool = False
) -> NDArray[Any]:
    """The values whose `order_key` are ``keys``."""
    turned = ~keys if highest else keys
    if not dtypes.is_float(dtype):
        # Unsigned 64-bit values lie 2**63 higher; for the narrower types the conversion is exact.
        lifted = turned.view(np.uint64) ^ np.uint64(1 << 63)
        return (lifted if dtype == "uint64" else turned).astype(dtype)
    held = dtypes.carrier(dtype)
    word = {"float64": "int64", "float32": "int32"}[held]
    most = 2**63 - 1 if word == "int64" else 2**31 - 1
    if len(keys) == 1 and keys[0] != _NAN[skips]:  # in a tenth of the time
        one = turned.item()
        values = np.array([one ^ most if one < 0 else one], word).view(held)
    else:
        values = np.where(turned < 0, turned ^ most, turned).astype(word).view(held)
    values[keys == _NAN[skips]] = np.nan
    return values.astype(dtype, copy=False)
