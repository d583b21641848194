"""Whether an array in memory is what it was: nobody else can write to it, or a copy tells.

`asarray` reads a NumPy array when it is computed, so what was made of it counts for as long as its
elements are the same.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...dataclass import dataclass
from ...expr.nodes import Stored


def _references(stored: Stored) -> tuple[int, ...]:
    """References to its memory: to an array, or to an array and the one of which it is a view."""
    buffer = stored.buffer
    base = buffer.base
    if base is None:
        return (sys.getrefcount(buffer),)
    return sys.getrefcount(buffer), sys.getrefcount(base)


# What they are where nobody else has one: it differs between Pythons.
_ALONE = frozenset(
    (
        _references(Stored(np.empty(1), "float64")),
        _references(Stored(np.empty((1, 1)).reshape(1), "float64")),
    )
)


def is_ours_alone(stored: Stored) -> bool:
    """Whether no user has the memory of ``stored``."""
    return _is_known(stored) and _references(stored) in _ALONE


def _is_known(stored: Stored) -> bool:
    """Whether the memory is an array, or such a one's of which it is a view."""
    buffer = stored.buffer
    base = getattr(buffer, "base", buffer)
    return base is None or (type(base) is type(buffer) and base.base is None)


@dataclass(eq=False)
class Witness:
    """``stored`` as it was: a ``copy`` of its elements, or None where nobody could write."""

    stored: Stored
    copy: Any

    @property
    def nbytes(self) -> int:
        return 0 if self.copy is None else int(self.copy.nbytes)

    def holds(self) -> bool:
        """Whether the elements are the same, by their bits."""
        if self.copy is None:
            return is_ours_alone(self.stored)
        return np.array_equal(_bits(self.stored.buffer), _bits(self.copy))


def witness_of(stored: Stored, most: int) -> Witness | None:
    """A witness of ``stored``, of at most ``most`` bytes; None where there can be none."""
    if is_ours_alone(stored):
        return Witness(stored, None)
    buffer = stored.buffer
    if type(buffer) is not np.ndarray or buffer.nbytes > most:
        return None
    return Witness(stored, np.array(buffer, order="C"))


def _bits(array: Any) -> Any:
    """``array`` as integers as wide as may be: NaN is what it is."""
    straight = np.ascontiguousarray(array).reshape(-1)
    wide = straight.dtype.itemsize
    return straight.view(f"u{wide}") if wide in (1, 2, 4, 8) else straight.view("u1")
