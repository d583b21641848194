"""The sources of stream v1 themselves: normals, uniforms, exponentials and bytes.

Numbers as parameters are part of the source, with one rounding less than a formula over it, which
is what arrays of parameters get.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from ..api.array import Array
from ..errors import ParameterError
from ..expr.nodes import Random, Shape, whole
from .draws import Draws, shown, sources
from .parameters import (
    NOT_NEGATIVE,
    Parameter,
    drawn_shape,
    float_dtype,
    parameter,
    refuse_pair,
    whole_number,
)


def normal(
    self: Draws,
    loc: Any = 0.0,
    scale: Any = 1.0,
    size: Any = None,
    dtype: Any = "float64",
    chunks: Any = None,
) -> Array:
    """Normals of mean ``loc`` and standard deviation `scale >= 0` (Box & Muller 1958).

    The largest magnitude is 8.58 standard deviations in float64, 6.66 in float32.
    """
    name = float_dtype("normal", dtype)
    a, b = parameter("loc", loc, dtype=name), parameter("scale", scale, NOT_NEGATIVE, name)
    return _linear(self, "normal", a, b, size, name, chunks)


def standard_normal(
    self: Draws, size: Any = None, dtype: Any = "float64", chunks: Any = None
) -> Array:
    """Normals of mean 0 and standard deviation 1."""
    return normal(self, 0.0, 1.0, size, dtype, chunks)


def uniform(
    self: Draws,
    low: Any = 0.0,
    high: Any = 1.0,
    size: Any = None,
    dtype: Any = "float64",
    chunks: Any = None,
) -> Array:
    """Uniform in `[low, high)`: multiples of `(high - low) 2**-52` (`2**-24` in float32)."""
    name = float_dtype("uniform", dtype)
    a, b = parameter("low", low, dtype=name), parameter("high", high, dtype=name)
    refuse_pair("high - low must be finite", lambda x, y: ~np.isfinite(y - x), a, b)
    refuse_pair("low > high", lambda x, y: x > y, a, b)
    return _linear(self, "uniform", a, b, size, name, chunks)


def random(self: Draws, size: Any = None, dtype: Any = "float64", chunks: Any = None) -> Array:
    """Uniform in [0, 1)."""
    return uniform(self, 0.0, 1.0, size, dtype, chunks)


def exponential(
    self: Draws, scale: Any = 1.0, size: Any = None, dtype: Any = "float64", chunks: Any = None
) -> Array:
    """Exponential with mean `scale >= 0`, by inversion."""
    name = float_dtype("exponential", dtype)
    a, b = parameter("loc", 0.0, dtype=name), parameter("scale", scale, NOT_NEGATIVE, name)
    return _linear(self, "exponential", a, b, size, name, chunks)


def standard_exponential(
    self: Draws,
    size: Any = None,
    dtype: Any = "float64",
    method: str = "zig",
    chunks: Any = None,
) -> Array:
    """Exponential with mean 1; NumPy's methods ``"zig"`` and ``"inv"`` are both inversion."""
    if method not in ("zig", "inv"):
        raise ParameterError(f"method must be 'zig' or 'inv', not {method!r}")
    return exponential(self, 1.0, size, dtype, chunks)


def bytes(self: Draws, length: int) -> builtins.bytes:
    """``length`` random bytes, computed at once as NumPy's are."""
    count = whole_number("length", length)
    if count < 0:
        raise ParameterError(f"length must be 0 or more, not {count}")
    (words,) = sources(self, ["bits64"], (-(-count // 8),), "uint64")
    drawn: builtins.bytes = words.compute().astype("<u8").tobytes()
    return drawn[:count]


def with_parameters(
    draws: Draws,
    name: str,
    parameters: tuple[int | float, ...],
    shape: Shape,
    dtype: str,
    chunks: Any,
) -> Array:
    """The source ``name`` with its own parameters."""
    (key,) = draws.bit_generator.keys(1)
    expr = whole(Random(name, key, parameters, dtype), shape)
    return Array(expr, gpu=draws._gpu, hint=chunks)


def _linear(
    draws: Draws, name: str, a: Parameter, b: Parameter, size: Any, dtype: str, chunks: Any
) -> Array:
    """The source with parameters ``a``, ``b``; of arrays a formula over the plain source."""
    shape = drawn_shape(size, a, b)
    if a.is_number and b.is_number:
        return with_parameters(draws, name, (a.value, b.value), shape, dtype, chunks)
    (variates,) = sources(draws, [name], shape, dtype)
    span = b.value - a.value if name == "uniform" else b.value
    return shown(a.value + span * variates, chunks)
