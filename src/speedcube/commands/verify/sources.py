"""Arrays to verify with: random ones of one seed, and stored ones of `data`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ...api.array import Array
from ...api.sources import asarray
from ...random import Generator, default_rng
from . import data

Make: TypeAlias = Callable[[], Array]


def rng() -> Generator:
    """The generator of every draw, at its start."""
    return default_rng(2026)


def steps(dtype: str, shape: tuple[int, ...]) -> Array:
    """Multiples of 2**-12 below 2**12, in memory."""
    words = np.arange(np.prod(shape), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    whole = (words >> np.uint64(40)).astype(dtype).reshape(shape)
    return asarray(whole / np.dtype(dtype).type(1 << 12))


def stored(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    """Moderate elements, in memory."""
    return asarray(data.moderate(dtype, int(np.prod(shape)), seed).reshape(shape))


def cancelling(dtype: str, count: int) -> Array:
    """Numbers of every size and their negatives, in another order, and one that is left."""
    half = data.wide(dtype, count, 9)
    return asarray(np.concatenate([half, np.array([2.0**-140], dtype), -half[::-1]]))


def wild_dot(dtype: str, count: int) -> Array:
    """A dot whose products overflow and vanish: every exponent times every exponent."""
    product: Array = asarray(data.wide(dtype, count)) @ asarray(data.wide(dtype, count, 5))
    return product
