"""The uniform parameters of a kernel, and the streams that read their keys from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...expr.nodes import Random
from ...philox import round_keys
from ..math.streams import Stream, stream


@dataclass
class Parameters:
    """The uniform parameters: 8 bytes each, filled in the order they are asked for."""

    words: list[int] = field(default_factory=list)

    def add(self, value: Any, dtype: str) -> int:
        raw = np.array(value, dtype).tobytes().ljust(8, b"\0")
        self.words.append(int.from_bytes(raw, "little"))
        return len(self.words) - 1

    def array(self) -> NDArray[np.uint64]:
        return np.array(self.words, np.uint64)


def stream_of(source: Random, parameters: Parameters) -> Stream:
    """The stream of ``source``, its round keys and parameters the next of ``parameters``."""
    first = len(parameters.words)
    for round_key in round_keys(source.key):
        parameters.add(round_key, "uint64")
    a, b = source.parameters
    is_float = dtypes.is_float(source.dtype)
    plain = is_float and (a, b) == (0.0, 1.0)
    if source.distribution == "uniform":
        b = b - a
    for parameter in (a, b):
        word = source.dtype if is_float else "uint64"
        parameters.add(parameter if is_float else int(parameter) % 2**64, word)
    return stream(source.distribution, source.dtype, first, plain)
