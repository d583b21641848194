"""`Array`'s methods that are NumPy's functions of places: ``x.take(i)`` is ``np.take(x, i)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

# The functions by name: `indexed` puts them in, which knows `Array`.
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {}


class Places:
    """Methods that read or assign at indices and where something is true."""

    __slots__ = ()

    def take(
        self, indices: Any, axis: int | None = None, out: None = None, mode: str = "raise"
    ) -> Any:
        """`speedcube.take` of this array."""
        return FUNCTIONS["take"](self, indices, axis, out, mode)

    def nonzero(self) -> Any:
        """`speedcube.nonzero` of this array."""
        return FUNCTIONS["nonzero"](self)

    def compress(self, condition: Any, axis: int | None = None) -> Any:
        """`speedcube.compress` of this array."""
        return FUNCTIONS["compress"](condition, self, axis)

    def choose(self, choices: Any, out: None = None, mode: str = "raise") -> Any:
        """`speedcube.choose` by this array."""
        return FUNCTIONS["choose"](self, choices, out, mode)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """`speedcube.put` into this array."""
        FUNCTIONS["put"](self, indices, values, mode)

    def sort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> None:
        """Be sorted from now on: `speedcube.sort` of this array."""
        self[...] = FUNCTIONS["sort"](self, axis, kind, order, stable=stable)

    def argsort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Any:
        """`speedcube.argsort` of this array."""
        return FUNCTIONS["argsort"](self, axis, kind, order, stable=stable)

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
    ) -> None:
        """Be partitioned from now on: `speedcube.partition` of this array."""
        self[...] = FUNCTIONS["partition"](self, kth, axis, kind, order)

    def argpartition(
        self, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
    ) -> Any:
        """`speedcube.argpartition` of this array."""
        return FUNCTIONS["argpartition"](self, kth, axis, kind, order)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """`speedcube.searchsorted` in this array."""
        return FUNCTIONS["searchsorted"](self, v, side, sorter)

    def fill(self, value: Any) -> None:
        """``value`` for every element from now on."""
        self[...] = value

    def __setitem__(self, item: Any, value: Any) -> None:
        raise NotImplementedError
