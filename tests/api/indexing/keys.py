"""Keys of every kind for arrays of every shape, as hypothesis draws them."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st


@st.composite
def keys(draw: Any, shape: tuple[int, ...]) -> Any:
    """A key that NumPy takes for an array of ``shape``."""
    if draw(st.integers(0, 5)) == 0 and shape:
        axes = draw(st.integers(1, len(shape)))
        return _mask(draw, shape[:axes])
    common = draw(st.sampled_from([(), (1,), (3,), (2, 3)]))  # of the index arrays
    entries: list[Any] = []
    axis, masked = 0, False
    while axis < len(shape) and draw(st.integers(0, 9)):
        n = shape[axis]
        kind = draw(st.sampled_from(["slice", "slice", "int", "array", "none", "mask"]))
        if kind == "none":
            entries.append(None)
            continue
        if kind == "int" and n:
            entries.append(draw(st.integers(-n, n - 1)))
        elif kind == "array" and n and not masked:
            values = draw(st.lists(st.integers(-n, n - 1), min_size=6, max_size=6))
            index = np.resize(np.array(values), common)
            entries.append(draw(st.sampled_from([index, index.tolist()])) if common else index)
        elif kind == "mask" and common == () and not masked:
            entries.append(_mask(draw, (n,)))
            masked = True
        else:
            entries.append(_slice(draw, n))
        axis += 1
    if draw(st.booleans()):  # in front of others only where there is nothing left for it
        first = 0 if axis == len(shape) else len(entries)
        entries.insert(draw(st.integers(first, len(entries))), Ellipsis)
    return tuple(entries)


def _slice(draw: Any, n: int) -> slice:
    end = st.none() | st.integers(-n - 1, n + 1)
    return slice(draw(end), draw(end), draw(st.sampled_from([None, 1, 2, 3, -1, -2])))


def _mask(draw: Any, shape: tuple[int, ...]) -> Any:
    bits = draw(st.integers(0, 2**30 - 1))
    size = int(np.prod(shape))
    return np.array([bits >> (k % 30) & 1 for k in range(size)], bool).reshape(shape)


SHAPES = st.sampled_from([(), (1,), (5,), (0,), (4, 3), (3, 0), (2, 3, 4), (1, 4, 1, 2)])
DTYPES = st.sampled_from(["float64", "float32", "int64", "uint8", "bool"])
