"""Random arrays whose every element depends on (seed, call, position) alone: stream v1.

`default_rng` gives a `Generator`, `RandomState` the legacy interface. Chunks, devices and thread
counts never change a number. See docs/stream-v1.md for what is promised.
"""

from __future__ import annotations

import math
import os
import secrets
import threading
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from . import dtypes
from .array import Array
from .errors import DTypeError, ParameterError
from .expr.build import check_shape
from .expr.nodes import Random, whole
from .interop.cupy_backend import BitGenerator, CupyGenerator
from .philox import derive_key

_TURN = threading.Lock()  # one for all, so that generators can be copied and pickled
if hasattr(os, "register_at_fork"):  # a child never gets it locked by a thread it has not
    os.register_at_fork(
        before=_TURN.acquire, after_in_parent=_TURN.release, after_in_child=_TURN.release
    )

Seed = int | Sequence[int] | np.random.SeedSequence | None


class Generator:
    """Draws arrays. ``entropy`` shows the seed, so that a run can be repeated."""

    def __init__(
        self, entropy: tuple[int, ...], spawn_key: tuple[int, ...] = (), gpu: bool = False
    ) -> None:
        self.entropy = entropy
        self.spawn_key = spawn_key
        self._calls = 0
        self._children = 0
        self._gpu = gpu

    def __repr__(self) -> str:
        return f"Generator(seed={list(self.entropy)}, spawn_key={self.spawn_key}, stream v1)"

    def spawn(self, count: int) -> list[Generator]:
        """``count`` independent generators; different ones at each call."""
        count = _whole("count", count)
        if count < 0:
            raise ParameterError(f"count must be 0 or more, not {count}")
        with _TURN:
            first = self._children
            self._children += count
        return [
            Generator(self.entropy, (*self.spawn_key, first + k), self._gpu) for k in range(count)
        ]

    def _draw(
        self,
        distribution: str,
        parameters: tuple[int | float, ...],
        size: Any,
        dtype: str,
        chunks: Any,
    ) -> Array:
        shape = () if size is None else check_shape(size)
        with _TURN:  # threads that share a generator get a stream each
            call = self._calls
            self._calls += 1
        key = derive_key(self.entropy, self.spawn_key, call)
        source = Random(distribution, key, parameters, dtype)
        return Array(whole(source, shape), gpu=self._gpu, hint=chunks)

    def normal(
        self,
        loc: float = 0.0,
        scale: float = 1.0,
        size: Any = None,
        dtype: Any = "float64",
        chunks: Any = None,
    ) -> Array:
        """Normals of mean ``loc`` and standard deviation ``scale`` >= 0 (Box & Muller 1958).

        The largest magnitude is 8.58 standard deviations in float64, 6.66 in float32.
        """
        loc, scale = _number("loc", loc), _not_negative("scale", scale)
        return self._draw("normal", (loc, scale), size, _float("normal", dtype), chunks)

    def standard_normal(
        self, size: Any = None, dtype: Any = "float64", chunks: Any = None
    ) -> Array:
        """Normals of mean 0 and standard deviation 1."""
        return self.normal(0.0, 1.0, size, dtype, chunks)

    def uniform(
        self,
        low: float = 0.0,
        high: float = 1.0,
        size: Any = None,
        dtype: Any = "float64",
        chunks: Any = None,
    ) -> Array:
        """Uniform in [low, high): multiples of (high - low) 2**-52 (2**-24 in float32)."""
        low, high = _number("low", low), _number("high", high)
        if not math.isfinite(high - low):
            raise ParameterError(f"high - low must be finite, not {high} - {low}")
        if low > high:
            raise ParameterError(f"low > high: low is {low}, high is {high}")
        return self._draw("uniform", (low, high), size, _float("uniform", dtype), chunks)

    def random(self, size: Any = None, dtype: Any = "float64", chunks: Any = None) -> Array:
        """Uniform in [0, 1)."""
        return self.uniform(0.0, 1.0, size, dtype, chunks)

    def exponential(
        self, scale: float = 1.0, size: Any = None, dtype: Any = "float64", chunks: Any = None
    ) -> Array:
        """Exponential with mean ``scale`` >= 0, by inversion."""
        scale = _not_negative("scale", scale)
        return self._draw("exponential", (0.0, scale), size, _float("exponential", dtype), chunks)

    def standard_exponential(
        self, size: Any = None, dtype: Any = "float64", chunks: Any = None
    ) -> Array:
        """Exponential with mean 1."""
        return self.exponential(1.0, size, dtype, chunks)

    def integers(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        dtype: Any = "int64",
        endpoint: bool = False,
        chunks: Any = None,
    ) -> Array:
        """Integers in [low, high) ([0, low) without ``high``), or up to ``high`` with ``endpoint``.

        A range below 2**32 has a bias below 2**-32, a wider one below 2**-64 (stream v1).
        """
        first, last = (0, low) if high is None else (low, high)
        first, last = _whole("low", first), _whole("high", last) - (not endpoint)
        name = dtypes.check(dtype)
        if not dtypes.is_integer(name):
            raise DTypeError(f"integers gives integer dtypes, not {name}")
        limits = np.iinfo(name)
        if first < limits.min or last > limits.max:
            raise ParameterError(f"[{first}, {last}] is out of bounds for {name}")
        count = last - first + 1
        if count <= 0:
            raise ParameterError(f"low >= high: low is {first}, high is {last + 1}")
        kind = "integers" if count < 2**32 else "integers_wide" if count < 2**64 else "bits64"
        return self._draw(kind, (first, count % 2**64), size, name, chunks)

    def choice(
        self,
        a: int,
        size: Any = None,
        replace: bool = True,
        p: None = None,
        chunks: Any = None,
    ) -> Array:
        """Integers in [0, a), each drawn anew: `integers` under NumPy's other name."""
        if np.ndim(a) or p is not None or not replace:
            raise ParameterError(
                "choice draws from range(a) with replacement and equal probability; index a NumPy "
                "array with the result's values, or use numpy.random for the others"
            )
        return self.integers(a, size=size, chunks=chunks)


class RandomState(Generator):
    """The legacy interface, with NumPy's and Dask's old names.

    ``RandomState=cupy.random.RandomState`` means: on the GPU.
    """

    def __init__(self, seed: Seed = None, RandomState: Any = None) -> None:
        gpu = "cupy" in getattr(RandomState, "__module__", "")
        super().__init__(_entropy(seed), (), gpu)

    def rand(self, *size: int, chunks: Any = None) -> Array:
        """Uniform in [0, 1)."""
        return self.random(size or None, chunks=chunks)

    def randn(self, *size: int, chunks: Any = None) -> Array:
        """Standard normals."""
        return self.standard_normal(size or None, chunks=chunks)

    def random_sample(self, size: Any = None, chunks: Any = None) -> Array:
        """Uniform in [0, 1)."""
        return self.random(size, chunks=chunks)

    def randint(
        self,
        low: int,
        high: int | None = None,
        size: Any = None,
        dtype: Any = "int64",
        chunks: Any = None,
    ) -> Array:
        """Integers in [low, high)."""
        return self.integers(low, high, size, dtype, chunks=chunks)


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
    if isinstance(seed, (np.random.Generator, np.random.BitGenerator)):
        raise ParameterError(
            "a NumPy generator's stream is sequential and cannot be continued position by "
            "position; pass the seed it was made from"
        )
    if isinstance(seed, np.random.SeedSequence):
        return Generator(_entropy(seed), tuple(seed.spawn_key))
    return Generator(_entropy(seed))


def _entropy(seed: Any) -> tuple[int, ...]:
    if seed is None:
        return (secrets.randbits(128),)
    if isinstance(seed, np.random.SeedSequence):
        return _entropy(seed.entropy)
    given = tuple(seed) if isinstance(seed, (tuple, list, np.ndarray)) else (seed,)
    for part in given:
        if isinstance(part, bool) or not hasattr(part, "__index__") or int(part) < 0:
            raise ParameterError(f"a seed is an integer >= 0 or a sequence of them, not {seed!r}")
    return tuple(int(part) for part in given)


def _number(name: str, value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError) as err:
        raise ParameterError(f"{name} must be a number, not {value!r}") from err
    if math.isnan(found):
        raise ParameterError(f"{name} must not be NaN")
    return found


def _not_negative(name: str, value: Any) -> float:
    found = _number(name, value)
    if found < 0:
        raise ParameterError(f"{name} < 0: {found}")
    return found


def _whole(name: str, value: Any) -> int:
    fraction = isinstance(value, float) and not value.is_integer()
    if isinstance(value, (bool, str, bytes)) or fraction:
        raise ParameterError(f"{name} must be an integer, not {value!r}")
    try:
        return int(value)
    except (TypeError, ValueError) as err:
        raise ParameterError(f"{name} must be an integer, not {value!r}") from err


def _float(what: str, dtype: Any) -> str:
    name = dtypes.check(dtype)
    if name == "float16":
        raise DTypeError(f"{what} gives float32 or float64; for float16 call .astype('float16')")
    if not dtypes.is_float(name):
        raise DTypeError(f"{what} gives float32 or float64, not {name}")
    return name
