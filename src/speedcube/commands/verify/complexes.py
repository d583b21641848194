"""Complex numbers to verify: every rule of pairs, and programs of them on all workers of a rung."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...api import elementwise, reductions
from ...api.array import Array
from ...api.dot import vdot
from ...api.functions.floats import reciprocal
from ...api.order.sorting import sort
from ...api.sources import asarray
from ...linalg.products import dot
from . import data
from .sources import Make, rng

_FUNCTIONS: Final = (
    *("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "square", "sign", "rint"),
    *("sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "absolute", "negative"),
)
_PAIRWISE: Final = (
    *("add", "subtract", "multiply", "divide", "power", "minimum", "maximum"),
    *("equal", "less", "less_equal", "logical_and"),
)
_SPECIAL: Final = ("exp", "log", "sqrt", "sinh", "tanh", "asin", "atanh", "square")
# Of complex64, which functions compute as complex128.
_SINGLE: Final = ("exp", "absolute", "multiply", "divide", "sum", "var", "cumprod")
_SUMS: Final = ("sum", "mean", "var", "std", "prod", "cumsum", "cumprod", "max", "argmin")


def stored(dtype: str, count: int, seed: int = 0) -> Array:
    """Numbers whose parts have magnitudes far apart, some zero, infinite or NaN."""
    part = dtypes.PARTS[dtype]
    both = data.wide(part, 2 * count + seed)[seed:].reshape(count, 2) * np.array(1, part)
    return asarray(np.ascontiguousarray(both).view(dtype)[:, 0])


def _drawn(dtype: str, shape: Any) -> Array:
    part = dtypes.PARTS[dtype]
    generator = rng()
    re, im = (generator.normal(size=shape, dtype=part) for _ in range(2))
    drawn: Array = re + 1j * im
    return drawn


def _function(name: str, dtype: str) -> Array:
    result: Array = getattr(elementwise, name)(_drawn(dtype, 600))
    return result


def _special(name: str) -> Array:
    parts = np.array([0.0, -0.0, 1.0, -2.5, 1e-310, 1e300, np.inf, -np.inf, np.nan])
    grid = np.array([complex(a, b) for a in parts for b in parts])
    result: Array = getattr(elementwise, name)(asarray(grid))
    return result


def _pairwise(name: str, dtype: str) -> Array:
    z = _drawn(dtype, 700)
    result: Array = getattr(elementwise, name)(z[:600], z[:-601:-1])
    return result


def _reduced(name: str, dtype: str) -> Array:
    result: Array = getattr(reductions, name)(_drawn(dtype, (30, 40)), axis=1)
    return result


def complexes() -> dict[str, Make]:
    """Every function, of drawn numbers and of special ones, and every reduction."""
    table: dict[str, Make] = {}
    for dtype in dtypes.PARTS:
        for names, make in (
            (_FUNCTIONS, _function),
            (_PAIRWISE, _pairwise),
            (_SUMS, _reduced),
        ):
            table |= {
                f"{name}-{dtype}": partial(make, name, dtype)
                for name in names
                if dtype == "complex128" or name in _SINGLE
            }
    table |= {f"{name}-complex-special": partial(_special, name) for name in _SPECIAL}
    return table | {
        "complex-wild-sum": lambda: stored("complex128", 3000).sum(),
        "complex-wild-mean": lambda: stored("complex64", 3000).mean(),
        "complex-dot": partial(_dot, "complex128"),
        "complex-vdot": partial(_vdot, "complex64"),
        "complex-sort": partial(_sorted, "complex128"),
        "complex-reciprocal": lambda: reciprocal(_drawn("complex128", 900)),
        "complex-views": lambda: (_drawn("complex128", (40, 50)).T[::-1, 1:] * 2j).conj(),
        "complex-shared": lambda: elementwise.exp(_drawn("complex128", (200, 210)) * 1j),
        "complex-shared-sum": lambda: (_drawn("complex64", (210, 200)) * (2 - 1j)).sum(axis=0),
        "complex-shared-abs": lambda: abs(_drawn("complex64", 60_000)),
    }


def _dot(dtype: str) -> Array:
    z = _drawn(dtype, 1500)
    return dot(z, z[::-1])


def _vdot(dtype: str) -> Array:
    z = _drawn(dtype, 1500)
    return vdot(z, z[::-1])


def _sorted(dtype: str) -> Array:
    return sort(elementwise.rint(_drawn(dtype, (5, 200))))
