"""The uniform parameters of a kernel, and the streams that read their keys from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import dataclass
from ...expr.nodes import Const, Expr, Random
from ...philox import round_keys
from ..math.streams import Stream, stream


@dataclass(slots=True)
class Uniform:
    """The parameters from ``place`` on are what ``source`` gives: a constant, or a key's rounds.

    ``seen`` is the constant or the key that they were last made of.
    """

    source: Const | Random
    place: int
    seen: Any

    def words(self) -> list[int]:
        """The parameters as of now."""
        if isinstance(self.source, Random):
            return [int(key) for key in round_keys(self.source.key)]
        return [word_of(constant_of(self.source))]


@dataclass
class Parameters:
    """The uniform parameters: 8 bytes each, filled in the order they are asked for.

    ``uniforms`` are those that a source gives and nothing else goes into; ``fixed`` says which ones
    are the value of an expression of constants, or a constant.
    """

    words: list[int] = field(default_factory=list)
    uniforms: list[Uniform] = field(default_factory=list)
    fixed: list[tuple[int, Expr]] = field(default_factory=list)

    def add(self, value: Any, dtype: str) -> int:
        self.words.append(word_of(np.array(value, dtype)))
        return len(self.words) - 1

    def given(self, source: Const | Random) -> int:
        """The first of the parameters that ``source`` gives."""
        uniform = Uniform(source, len(self.words), now(source))
        self.uniforms.append(uniform)
        self.words += uniform.words()
        return uniform.place

    def array(self) -> NDArray[np.uint64]:
        return np.array(self.words, np.uint64)


def now(source: Const | Random) -> Any:
    """The constant or the key that ``source`` has."""
    return source.key if isinstance(source, Random) else source.value


def refresh(uniforms: Sequence[Uniform], params: NDArray[np.uint64]) -> None:
    """Bring ``params`` up to date where a source has got another constant or key."""
    for uniform in uniforms:
        seen = now(uniform.source)
        if not _is_same(seen, uniform.seen):
            words = uniform.words()
            params[uniform.place : uniform.place + len(words)] = words
            uniform.seen = seen


def _is_same(one: Any, other: Any) -> bool:
    """Whether two constants or keys have the same bits: zeros of two signs are equal."""
    if one is other:
        return True
    if type(one) is not type(other) or one != other:
        return False
    return bool(one) or math.copysign(1.0, one) == math.copysign(1.0, other)


def constant_of(source: Const) -> NDArray[Any]:
    """The value of ``source`` as a kernel has it."""
    if source.dtype == "float64" and type(source.value) is float:  # as nearly always
        return np.array(source.value)
    with np.errstate(over="ignore"):
        return np.array(source.value, source.dtype).astype(dtypes.carrier(source.dtype))


def word_of(value: NDArray[Any]) -> int:
    """A number as the parameter that holds its bits."""
    return int.from_bytes(value.tobytes().ljust(8, b"\0"), "little")


def stream_of(source: Random, parameters: Parameters) -> Stream:
    """The stream of ``source``, its round keys and parameters the next of ``parameters``."""
    first = parameters.given(source)
    a, b = source.parameters
    is_float = dtypes.is_float(source.dtype)
    plain = is_float and (a, b) == (0.0, 1.0)
    if source.distribution == "uniform":
        b = b - a
    for parameter in (a, b):
        word = source.dtype if is_float else "uint64"
        parameters.add(parameter if is_float else int(parameter) % 2**64, word)
    return stream(source.distribution, source.dtype, first, plain)
