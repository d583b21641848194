"""Products of matrices of integers, exact modulo 2**n, by the library's products of doubles.

A double holds integers up to 2**53. So a product of floats is exact, in whatever order it is added
up, while no sum of absolute products is larger: then bounds of the elements show which dtype is
wide enough. Others are cut into digits that are small enough, whose products are added up modulo
2**64. What is small is left to the library's own loop over integers, which wraps, too.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

_SMALL: Final = 1 << 16  # multiplications below which the plain loop is as quick
_REUSED: Final = 5  # and so many for each element: what converts it takes time, too
_REUSED_BOOL: Final = 1.2  # whose loop is slower
_DIGIT: Final = 12  # for each element and digit
# Multiplications below which CuPy's own kernel is quicker than the launches of products of doubles,
# on an H100; twice as many where a product takes several.
_SMALL_ON_GPU: Final = 1 << 28
_EXACT: Final = {"float32": 1 << 24, "float64": 1 << 53}


def matmul(xp: Any, a: Any, b: Any) -> Any:
    """``a @ b`` modulo 2**n; of bool whether any pair is true."""
    work = math.prod(a.shape) * (b.shape[-1] if b.ndim > 1 else 1)
    length = a.shape[-1]
    size = a.size + b.size + work // max(1, length)
    is_bool = a.dtype.kind == "b"
    if xp is not np and not is_bool and work < _SMALL_ON_GPU:
        return xp.matmul(a, b)
    if work < max(_SMALL, (_REUSED_BOOL if is_bool else _REUSED) * size):
        return xp.matmul(a, b)
    if is_bool:
        return _float_product(xp, a, b, length) > 0
    bound = _greatest(a) * _greatest(b) * length
    if bound <= _EXACT["float64"]:
        return _wrapped(xp, _float_product(xp, a, b, bound), a.dtype)
    bits = (53 - max(1, length - 1).bit_length()) // 2  # |digit| < 2**bits: length of them fit
    count = -(-8 * a.dtype.itemsize // max(1, bits))
    is_less = work < 2 * _SMALL_ON_GPU if xp is not np else work < _DIGIT * count * size
    if bits < 8 or is_less:
        return xp.matmul(a, b)
    return _by_digits(xp, a, b, bits, count)


def _greatest(x: Any) -> int:
    return max(abs(int(x.min())), abs(int(x.max())))


def _float_product(xp: Any, a: Any, b: Any, bound: int) -> Any:
    dtype = "float32" if bound <= _EXACT["float32"] else "float64"
    return xp.matmul(a.astype(dtype), b.astype(dtype))


def _wrapped(xp: Any, product: Any, dtype: Any) -> Any:
    return product.astype("int64").astype(dtype, copy=False)


def _by_digits(xp: Any, a: Any, b: Any, bits: int, count: int) -> Any:
    """The sum of the products of digits, each of which a double holds."""
    left, right = (_digits(x, bits, count) for x in (a, b))
    total = None
    for level in range(count):  # what is of higher levels wraps to nothing
        for k in range(level + 1):
            part = xp.matmul(left[k], right[level - k]).astype("int64").view("uint64")
            part = part << xp.uint64(bits * level)
            total = part if total is None else xp.add(total, part, out=total)
    assert total is not None
    return total.astype(a.dtype)


def _digits(x: Any, bits: int, count: int) -> list[Any]:
    """Digits to the base 2**bits, the lowest first: all but the highest are not negative."""
    mask, rest, found = x.dtype.type((1 << min(bits, 8 * x.dtype.itemsize - 1)) - 1), x, []
    for k in range(count):
        last = k == count - 1
        found.append((rest if last else rest & mask).astype("float64"))
        if not last:
            rest = rest >> x.dtype.type(bits)
    return found
