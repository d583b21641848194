"""Quotients of integers, which a CPU makes by floats, beside NumPy's where roundings may show."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc


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
