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

    def fill(self, value: Any) -> None:
        """``value`` for every element from now on."""
        self[...] = value

    def __setitem__(self, item: Any, value: Any) -> None:
        raise NotImplementedError
