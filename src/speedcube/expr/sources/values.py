"""What a leaf reads, as NumPy arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ..nodes import Leaf
    from .read import Stored

Array: TypeAlias = NDArray[Any]


def positions(leaf: Leaf) -> NDArray[np.int64]:
    """The position each element of ``leaf`` reads."""
    total = np.full(leaf.shape, leaf.offset, np.int64)
    for axis, (n, stride) in enumerate(zip(leaf.shape, leaf.strides, strict=True)):
        shape = [1] * len(leaf.shape)
        shape[axis] = n
        total += (np.arange(n, dtype=np.int64) * stride).reshape(shape)
    return total


def stored(leaf: Leaf, source: Stored) -> Array:
    """What ``leaf`` reads of memory, however that lies."""
    base = np.asarray(source.buffer)
    size = base.itemsize
    interface = {
        "version": 3,
        "typestr": base.dtype.str,
        "shape": leaf.shape,
        "strides": tuple(s * size for s in leaf.strides),
        "data": (base.ctypes.data + leaf.offset * size, True),
    }
    holder = type("Window", (), {"__array_interface__": interface, "base": base})()
    return np.array(holder)
