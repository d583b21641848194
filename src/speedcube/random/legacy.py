"""The legacy interface, with NumPy's and Dask's old names."""

from __future__ import annotations

from typing import Any

from ..array import Array
from .generator import Generator
from .seeds import Seed, entropy_of


class RandomState(Generator):
    """The legacy interface, with NumPy's and Dask's old names.

    ``RandomState=cupy.random.RandomState`` means: on the GPU.
    """

    def __init__(self, seed: Seed = None, RandomState: Any = None) -> None:
        gpu = "cupy" in getattr(RandomState, "__module__", "")
        super().__init__(entropy_of(seed), (), gpu)

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
