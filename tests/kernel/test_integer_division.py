"""Quotients of integers, which a CPU makes by floats, beside NumPy's where roundings may show."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc
from speedcube.kernel.builder import Builder
from speedcube.kernel.math.division import floor_divide


def _numbers(dtype: str) -> np.ndarray:
    """Ends of the range, small ones, neighbours of powers of two and of what floats hold."""
    info, rng = np.iinfo(dtype), np.random.default_rng(4)
    powers = [1 << k for k in range(info.bits) if 1 << k <= info.max]
    near = [p + d for p in powers for d in (-1, 0, 1) if p + d <= info.max]
    drawn = rng.integers(info.min, info.max, 40, dtype=dtype, endpoint=True)
    shifted = [drawn >> k for k in range(0, info.bits, 9)]
    least = [-one for one in near] + [info.min, info.min + 1] if info.min else []
    return np.concatenate([np.array([*near, *least, info.max - 1], dtype), *shifted])


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_every_quotient_and_rest_is_numpys(dtype: str) -> None:
    one = _numbers(dtype)
    x, y = (a.ravel() for a in np.meshgrid(one, one))
    for name in ("floor_divide", "remainder", "fmod", "gcd"):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(x, y)
        np.testing.assert_array_equal(getattr(sc, name)(x, y).compute(on="core"), wanted, name)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_one_divisor_of_all_by_its_reciprocal(dtype: str) -> None:
    info, x = np.iinfo(dtype), _numbers(dtype)
    if info.bits == 8:
        x = np.arange(info.min, info.max + 1).astype(dtype)
    divisors = x if info.bits == 8 else x[:: max(len(x) // 100, 1)]
    for y in divisors:
        # Beside multiples of the divisor roundings could show.
        size = abs(int(y)) or 1
        near = [size * k + d for k in (1, 3, info.max // size) for d in (-1, 0)]
        here = np.concatenate([x, np.array([n for n in near if n <= info.max], dtype)])
        with np.errstate(all="ignore"):
            wanted = here // y, here % y
        array = sc.asarray(here)
        found = sc.compute(array // y, array % y, on="core")
        np.testing.assert_array_equal(found, wanted, f"by {y}")


def test_one_divisor_takes_no_division_an_element() -> None:
    for divisor, wanted in (("param", False), ("const", False), ("input", True)):
        b = Builder()
        y = getattr(b, divisor)(*{"param": (0,), "const": (7,), "input": ("y",)}[divisor], "int32")
        floor_divide(b, b.input("x", "int32"), y)
        assert ("idiv" in {i.op for i in b.instrs}) == wanted, divisor
