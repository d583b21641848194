"""Views to verify: slices, turns, broadcasts and pieces of generated and of stored elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ...api.array import Array
from ...api.elementwise import exp
from ...api.joining import concatenate
from ...api.namespace.padding import pad
from ...api.namespace.repeats import roll
from ...api.shapes import broadcast_to
from .sources import Make, rng, stored

_SLICES: Final[dict[str, Any]] = {
    "step-2": np.s_[:, ::2],
    "step-3": np.s_[::2, ::3],
    "step-1024": np.s_[::256, :],
    "flipped": np.s_[::-1, ::-1],
    "flipped-step-5": np.s_[3:, ::-5],
    "row": np.s_[7],
    "column": np.s_[:, 200],
    "new-axis": np.s_[None, 3:9, None, ::4],
    "nothing": np.s_[5:5],
}

_JOINED: Final[dict[str, Callable[[Array], Array]]] = {
    "padded": lambda x: pad(x, 1, "reflect")[2:, 1:-1] - pad(x, 1)[:-2, 1:-1] * x,
    "rolled": lambda x: roll(x, (3, -7), (0, 1)) - roll(x, 1, 0) * x,
    "joined": lambda x: concatenate([x, exp(x[::-1] / 9)]),
    "joined-sum": lambda x: concatenate([x, x[:9] * 2, x[::-1] / 3]).sum(),
    "joined-means": lambda x: concatenate([x, x * x]).mean(axis=1),
    "joined-std": lambda x: concatenate([x, pad(x, 2)[:, 2:-2]]).std(axis=0),
}


def views() -> dict[str, Make]:
    """Every view of each kind of source."""
    arrays: dict[str, Make] = {
        "generated": lambda: rng().normal(size=(300, 260)),
        "stored": lambda: stored("float64", (300, 260)),
    }
    sliced: dict[str, Make] = {
        f"{name}-{view}": partial(_viewed, make, item)
        for name, make in arrays.items()
        for view, item in _SLICES.items()
    }
    return sliced | {
        f"{name}-{way}": partial(_turned, make, way)
        for name, make in arrays.items()
        for way in ("transposed", "reshaped", "broadcast", *_JOINED)
    }


def _viewed(make: Make, item: Any) -> Array:
    return make()[item]


def _turned(make: Make, way: str) -> Any:
    x = make()
    if way in _JOINED:
        return _JOINED[way](x)
    if way == "transposed":
        return x.T[2:]
    if way == "reshaped":
        return x.reshape(52, 5, 300).swapaxes(0, 2)
    return broadcast_to(x[:4, None, :90], (4, 7, 90)) + 0
