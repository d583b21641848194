"""What every distribution draws from: the sources of stream v1 and samplers with keys of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from ..api.array import Array
from ..expr import gather
from ..expr.nodes import Position, Random, Shape, const, whole
from ..expr.views import broadcast_shapes

# The keys of calls, 64 bits each.
Keys: TypeAlias = Sequence[int]
# A parameter's value, as formulas take it: a number, or an array.
Number: TypeAlias = float | Array

# What leaves a source of the stream as it is.
_PLAIN: Final[dict[str, tuple[int | float, ...]]] = {
    "normal": (0.0, 1.0),
    "uniform": (0.0, 1.0),
    "exponential": (0.0, 1.0),
    "bits64": (0, 0),
}


class Draws:
    """Sources and samplers, each with the key of a call; `Generator` has the keys."""

    _gpu: bool

    def _keys(self, count: int) -> list[int]:
        """The keys of the next ``count`` calls."""
        raise NotImplementedError

    def _sources(
        self, distributions: Sequence[str], shape: Shape, dtype: str = "float64"
    ) -> list[Array]:
        """One array for each name: of stream v1 without parameters, each with a call's key."""
        keys = self._keys(len(distributions))
        named = zip(distributions, keys, strict=True)
        return [self._source(name, key, shape, dtype) for name, key in named]

    def _source(self, name: str, key: int, shape: Shape, dtype: str = "float64") -> Array:
        return Array(whole(Random(name, key, _PLAIN[name], dtype), shape), gpu=self._gpu)

    def _tried(self, op: str, key: int, shape: Shape, *given: Number) -> Array:
        """The sampler ``op`` at every position of ``shape``."""
        position = whole(Position(), shape)
        args = [position, const(key, "uint64"), *map(_expression, given)]
        return Array(gather.sampled(op, args, shape), gpu=self._gpu)

    def _counted(self, op: str, u: Array, *given: Number) -> Array:
        """The sampler ``op`` of the uniforms ``u``."""
        args = [u._expr, *map(_expression, given)]
        return Array(gather.sampled(op, args, u.shape), gpu=self._gpu)

    def _shown(self, values: Array, chunks: Any) -> Array:
        """``values`` as they are handed out, with the grid ``chunks``."""
        return Array(values._expr, gpu=values._gpu, hint=chunks)


def _expression(value: Number) -> Any:
    return value._expr if isinstance(value, Array) else const(value, "float64")


def sampled(op: str, *given: Number) -> Array:
    """The sampler ``op`` of numbers and arrays alone: a function with the same bits everywhere."""
    args = [_expression(value) for value in given]
    shape = broadcast_shapes(*(arg.shape for arg in args))
    return Array(gather.sampled(op, args, shape))
