"""How the values of an array will lie in memory, in NumPy's words: for libraries that ask first."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ..errors import ParameterError


class MemoryFlags:
    """The flags of NumPy's array of the values, which lie in C order; they are not set."""

    __slots__ = ("_shape",)
    _shape: tuple[int, ...]

    def __init__(self, shape: tuple[int, ...]) -> None:
        object.__setattr__(self, "_shape", shape)

    @property
    def _of(self) -> Any:
        """NumPy's own, of an array like it that takes no memory."""
        return np.empty(self._shape, "V0").flags

    def __getattr__(self, name: str) -> Any:
        return getattr(self._of, name)

    def __getitem__(self, name: str) -> bool:
        return bool(self._of[name])

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise ParameterError(
            f"{name} is set of values in memory, and these are not computed yet: "
            f"values = x.compute(); values.flags.{name.lower()} = {value!r}"
        )

    def __setitem__(self, name: str, value: Any) -> NoReturn:
        self.__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return bool(self._of == (other._of if isinstance(other, MemoryFlags) else other))

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return MemoryFlags, (self._shape,)

    def __repr__(self) -> str:
        return repr(self._of)
