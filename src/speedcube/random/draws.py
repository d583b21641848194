"""What every distribution draws from: the sources of stream v1 and samplers with keys of calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Protocol, TypeAlias

from ..api.array import Array
from ..expr import gather
from ..expr.nodes import Expr, Position, Random, Shape, const, whole
from ..expr.views import broadcast_shapes
from .seeds import StreamV1

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


class Draws(Protocol):
    """What a draw needs: a place in the stream, and whether its arrays prefer a GPU.

    A `Generator` is one. The functions that are its methods name it ``self``.
    """

    bit_generator: StreamV1
    _gpu: bool


def source(draws: Draws, name: str, key: int, shape: Shape, dtype: str = "float64") -> Array:
    """One of the sources of stream v1, without parameters."""
    return Array(whole(Random(name, key, _PLAIN[name], dtype), shape), gpu=draws._gpu)


def sources(
    draws: Draws, names: Sequence[str], shape: Shape, dtype: str = "float64"
) -> list[Array]:
    """One source for each name, each with a call's key."""
    keys = draws.bit_generator.keys(len(names))
    return [source(draws, name, key, shape, dtype) for name, key in zip(names, keys, strict=True)]


def tried(draws: Draws, op: str, key: int, shape: Shape, *parameters: Number) -> Array:
    """The sampler ``op`` at every position of ``shape``."""
    position = whole(Position(), shape)
    args = [position, const(key, "uint64"), *map(_expression, parameters)]
    return Array(gather.sampled(op, args, shape), gpu=draws._gpu)


def counted(op: str, u: Array, *parameters: Number) -> Array:
    """The sampler ``op`` of the uniforms ``u``."""
    args = [u._expr, *map(_expression, parameters)]
    return Array(gather.sampled(op, args, u.shape), gpu=u._gpu)


def sampled(op: str, *parameters: Number) -> Array:
    """The sampler ``op`` of numbers and arrays alone: a function with the same bits everywhere."""
    args = [_expression(value) for value in parameters]
    shape = broadcast_shapes(*(arg.shape for arg in args))
    return Array(gather.sampled(op, args, shape))


def shown(values: Array, chunks: Any) -> Array:
    """``values`` as they are handed out, with the grid ``chunks``."""
    return Array(values._expr, gpu=values._gpu, hint=chunks)


def _expression(value: Number) -> Expr:
    return value._expr if isinstance(value, Array) else const(value, "float64")
