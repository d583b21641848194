"""The arrays that rows read, made on the host or on the GPU with the same words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .rows import SHAPES, Row, Shape

SEEDS: Final = {"x": 1, "y": 2, "j": 3, "i": 4}
# Where uniform numbers lie, by the name of the values; others are made by MAKERS.
RANGES: Final = {
    "small": (-5.0, 5.0),
    "positive": (0.5, 10.0),
    "unit": (-0.99, 0.99),
    "above one": (1.0, 10.0),
    "near one": (1 - 1e-6, 1 + 1e-6),
}
MAKERS: Final[dict[str, Callable[[Any, int], Any]]] = {
    "normal": lambda rng, count: rng.standard_normal(count) * 8 + 15,
    "wide": lambda rng, count: rng.standard_normal(count) * 10 ** (rng.random(count) * 40 - 20),
    "half": lambda rng, count: rng.random(count) < 0.5,
    "true": lambda rng, count: rng.random(count) >= 0,
    "false": lambda rng, count: rng.random(count) < 0,
}


def numbers(xp: Any, values: str, dtype: str, count: int, seed: int) -> Any:
    """``count`` numbers of NumPy's or CuPy's, the same at every call."""
    rng = xp.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(1, 101, count, dtype="int64").astype(dtype)
    if values in RANGES:
        low, high = RANGES[values]
        return (rng.random(count) * (high - low) + low).astype(dtype)
    return MAKERS[values](rng, count).astype(dtype)


def laid_out(xp: Any, layout: str, shape: Shape, make: Callable[[int], Any]) -> Any:
    """An array of ``shape`` that lies in memory as ``layout`` says."""
    if layout == "transposed":
        return make(math.prod(shape)).reshape(shape[::-1]).T
    if layout == "strided":
        double = tuple(2 * length for length in shape)
        return make(math.prod(double)).reshape(double)[(slice(None, None, 2),) * len(shape)]
    array = make(math.prod(shape)).reshape(shape)
    return array[(slice(None, None, -1),) * len(shape)] if layout == "reversed" else array


def array(xp: Any, name: str, row: Row, shape: Shape) -> Any:
    """What ``name`` is in the row's text: x and y are data, i and j places in them."""
    seed = SEEDS[name]
    if name == "i":
        return xp.random.default_rng(seed).integers(0, shape[0], shape[0], dtype="int64")
    if name == "j":
        count = math.prod(shape)
        places = xp.random.default_rng(seed).integers(0, shape[-1], count, dtype="int64")
        return places.reshape(shape)

    def make(count: int) -> Any:
        return numbers(xp, row.values, row.dtype, count, seed)

    return laid_out(xp, row.layout, shape, make)


def shape_of(row: Row, column: str) -> Shape:
    return SHAPES[row.shape][column == "gpu"]


class Arrays:
    """The arrays of one kind of data at a time: rows of the same kind stand together."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.kind: Any = None
        self.held: dict[str, Any] = {}

    def of(self, row: Row, names: set[str], shape: Shape) -> dict[str, Any]:
        kind = (shape, row.dtype, row.layout, row.values)
        if kind != self.kind:
            self.kind, self.held = kind, {}
            if hasattr(self.xp, "get_default_memory_pool"):  # CuPy keeps what was freed
                self.xp.get_default_memory_pool().free_all_blocks()
        for name in names - self.held.keys():
            self.held[name] = array(self.xp, name, row, shape)
        return {name: self.held[name] for name in sorted(names)}
