"""Values that need not be computed: they lie in memory, or are one number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..nodes import Const, Leaf, Stored


def seen(expr: Any) -> NDArray[Any] | None:
    """The values of ``expr``, of real numbers, to be read only; None where they are not at hand."""
    if type(expr) is not Leaf:
        return None
    source, shape = expr.source, expr.shape
    if type(source) is Const:
        return np.broadcast_to(np.array(source.value, source.dtype), shape)
    if type(source) is not Stored or type(source.buffer) is not np.ndarray:
        return None
    buffer: NDArray[Any] = source.buffer
    size = buffer.itemsize
    steps = tuple([step * size for step in expr.strides])
    if not expr.offset and buffer.shape == shape and buffer.strides == steps:
        return buffer
    if not buffer.flags.c_contiguous or 0 in shape:
        return None
    return np.ndarray(shape, buffer.dtype, buffer, expr.offset * size, steps)


def element(leaf: Any) -> Any:
    """The number that a ``leaf`` without axes reads in the host's memory, of NumPy's; else None."""
    if type(leaf) is not Leaf or type(leaf.source) is not Stored:
        return None
    buffer = leaf.source.buffer
    if type(buffer) is not np.ndarray or not buffer.flags.c_contiguous:
        return None
    return buffer.reshape(-1)[leaf.offset]


def at_number(leaf: Leaf, number: int) -> Leaf | None:
    """``leaf[number]``; None where that is out of bounds."""
    count = leaf.shape[0]
    if not -count <= number < count:
        return None
    step = leaf.strides[0]
    offset = leaf.offset + (number + count if number < 0 else number) * step
    return Leaf(leaf.source, leaf.shape[1:], offset, leaf.strides[1:])
