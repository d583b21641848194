"""`Generator`: what NumPy's draws, lazily; `default_rng` makes one from a seed."""

from __future__ import annotations

import copy
from typing import Any, overload

import numpy as np

from .. import dtypes
from ..api.array import Array
from ..errors import DTypeError, ParameterError, ParameterTypeError
from ..expr.nodes import Random, Shape, whole
from ..interop.cupy_backend import BitGenerator, CupyGenerator
from .parameters import (
    NOT_NEGATIVE,
    Parameter,
    drawn_shape,
    float_dtype,
    parameter,
    refuse_pair,
    whole_number,
)
from .ranges import Ranges, given_by_arrays, integer_limits
from .seeds import StreamV1, seed_sequence
from .vectors import Vectors


class Generator(Vectors, Ranges):
    """Draws arrays. ``repr`` shows the seed, so that a run can be repeated.

    Parameters are numbers, or arrays that broadcast with each other to ``size``, which is then
    their shape where it is not given. `ParameterError` where one lies outside its domain.
    """

    def __init__(self, bit_generator: StreamV1, gpu: bool = False) -> None:
        if not isinstance(bit_generator, StreamV1):
            seed_sequence(bit_generator)  # says what is wrong with one of NumPy's
            raise ParameterTypeError(
                f"Generator takes a bit generator of its own; call default_rng({bit_generator!r})"
            )
        self.bit_generator = bit_generator
        self._gpu = gpu

    @property
    def entropy(self) -> tuple[int, ...]:
        """The integers of the seed."""
        return self.bit_generator.entropy

    @property
    def spawn_key(self) -> tuple[int, ...]:
        """Which child this is of whose child: () of a seed itself."""
        return self.bit_generator.spawn_key

    def __repr__(self) -> str:
        return f"default_rng({self.bit_generator.seed_text()})"

    def __copy__(self) -> Generator:
        return copy.deepcopy(self)  # a copy goes on by itself

    def spawn(self, n_children: int) -> list[Generator]:
        """``n_children`` independent generators; different ones at each call."""
        return [type(self)(child, self._gpu) for child in self.bit_generator.spawn(n_children)]

    def _keys(self, count: int) -> list[int]:
        """The keys of the next ``count`` calls."""
        return self.bit_generator.keys(count)

    def _draw(
        self,
        distribution: str,
        parameters: tuple[int | float, ...],
        shape: Shape,
        dtype: str,
        chunks: Any,
    ) -> Array:
        """One source of the stream, with its own parameters."""
        source = Random(distribution, self._keys(1)[0], parameters, dtype)
        return Array(whole(source, shape), gpu=self._gpu, hint=chunks)

    def _linear(
        self, distribution: str, a: Parameter, b: Parameter, size: Any, dtype: str, chunks: Any
    ) -> Array:
        """The source with parameters ``a``, ``b``; of arrays a formula over the plain source."""
        shape = drawn_shape(size, a, b)
        if a.is_number and b.is_number:
            return self._draw(distribution, (a.value, b.value), shape, dtype, chunks)
        (variates,) = self._sources([distribution], shape, dtype)
        span = b.value - a.value if distribution == "uniform" else b.value
        return self._shown(a.value + span * variates, chunks)

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        dtype: Any = "float64",
        chunks: Any = None,
    ) -> Array:
        """Normals of mean ``loc`` and standard deviation ``scale`` >= 0 (Box & Muller 1958).

        The largest magnitude is 8.58 standard deviations in float64, 6.66 in float32.
        """
        name = float_dtype("normal", dtype)
        a, b = parameter("loc", loc, dtype=name), parameter("scale", scale, NOT_NEGATIVE, name)
        return self._linear("normal", a, b, size, name, chunks)

    def standard_normal(
        self, size: Any = None, dtype: Any = "float64", chunks: Any = None
    ) -> Array:
        """Normals of mean 0 and standard deviation 1."""
        return self.normal(0.0, 1.0, size, dtype, chunks)

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        size: Any = None,
        dtype: Any = "float64",
        chunks: Any = None,
    ) -> Array:
        """Uniform in [low, high): multiples of (high - low) 2**-52 (2**-24 in float32)."""
        name = float_dtype("uniform", dtype)
        a, b = parameter("low", low, dtype=name), parameter("high", high, dtype=name)
        refuse_pair("high - low must be finite", lambda x, y: ~np.isfinite(y - x), a, b)
        refuse_pair("low > high", lambda x, y: x > y, a, b)
        return self._linear("uniform", a, b, size, name, chunks)

    def random(self, size: Any = None, dtype: Any = "float64", chunks: Any = None) -> Array:
        """Uniform in [0, 1)."""
        return self.uniform(0.0, 1.0, size, dtype, chunks)

    def exponential(
        self, scale: Any = 1.0, size: Any = None, dtype: Any = "float64", chunks: Any = None
    ) -> Array:
        """Exponential with mean ``scale`` >= 0, by inversion."""
        name = float_dtype("exponential", dtype)
        a, b = parameter("loc", 0.0, dtype=name), parameter("scale", scale, NOT_NEGATIVE, name)
        return self._linear("exponential", a, b, size, name, chunks)

    def standard_exponential(
        self,
        size: Any = None,
        dtype: Any = "float64",
        method: str = "zig",
        chunks: Any = None,
    ) -> Array:
        """Exponential with mean 1; NumPy's methods ``"zig"`` and ``"inv"`` are both inversion."""
        if method not in ("zig", "inv"):
            raise ParameterError(f"method must be 'zig' or 'inv', not {method!r}")
        return self.exponential(1.0, size, dtype, chunks)

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = "int64",
        endpoint: bool = False,
        chunks: Any = None,
    ) -> Array:
        """Integers in [low, high) ([0, low) without ``high``), or up to ``high`` with ``endpoint``.

        A range below 2**32 has a bias below 2**-32, a wider one below 2**-64 (stream v1). Arrays
        of bounds that are lazy, or where a range is wider, take a second call number.
        """
        start, end = (0, low) if high is None else (low, high)
        name = dtypes.check(dtype)
        if not dtypes.is_integer(name) and name != "bool":
            raise DTypeError(f"integers gives integer dtypes, not {name}")
        if given_by_arrays(start, end):
            return self._shown(self._between(start, end, size, name, endpoint), chunks)
        first, last = whole_number("low", start), whole_number("high", end) - (not endpoint)
        least, most = integer_limits(name)
        if first < least or last > most:
            raise ParameterError(f"[{first}, {last}] is out of bounds for {name}")
        count = last - first + 1
        if count <= 0:
            raise ParameterError(f"low >= high: low is {first}, high is {last + 1}")
        kind = "integers" if count < 2**32 else "integers_wide" if count < 2**64 else "bits64"
        if name == "bool":
            bits = self._draw(kind, (first, count), drawn_shape(size), "uint8", None)
            return self._shown(bits.astype("bool"), chunks)
        return self._draw(kind, (first, count % 2**64), drawn_shape(size), name, chunks)

    def _below(self, count: int, shape: Shape) -> Array:
        return self.integers(count, size=shape)


@overload
def default_rng(seed: BitGenerator) -> CupyGenerator: ...
@overload
def default_rng(seed: Any = None) -> Generator: ...
def default_rng(seed: Any = None) -> Any:
    """A `Generator`; without a seed one is drawn from the system and shown by ``repr``.

    (Plain Dask code on a GPU comes here too, with its bit generator: see interop/cupy_backend.py.)
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, BitGenerator):
        return seed.generator()
    stream = getattr(seed, "bit_generator", seed)  # of a RandomState: both go on together
    return Generator(stream if isinstance(stream, StreamV1) else StreamV1(seed))
