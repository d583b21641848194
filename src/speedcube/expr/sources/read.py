"""Sources that are read as they are: none has an expression below it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ...dataclass import cached_property
from .span import laid_out, spanned

Shape: TypeAlias = tuple[int, ...]


@dataclass(unsafe_hash=True)
class Const:
    """One value at every position. Never changed; frozen it would take thrice as long to make."""

    value: bool | int | float
    dtype: str


@dataclass(frozen=True)
class Position:
    """The position itself: what aranges, coordinates and identities are made of."""

    dtype: str = "int64"


@dataclass(frozen=True)
class Random:
    """Stream v1: ``distribution`` at a position, a pure function of (key, parameters, position)."""

    distribution: str
    key: int  # 64 bits
    parameters: tuple[bool | int | float, ...]
    dtype: str


@dataclass(frozen=True, eq=False)
class Stored:
    """A flat array in memory: anything whose elements are ``buffer.flat[position]``.

    ``buffer`` is one-dimensional; it is read when computed, so later writes are seen. ``ours``:
    made here, so that nobody else writes who holds no reference to it.
    """

    buffer: Any
    dtype: str
    ours: bool = False

    def __reduce__(self) -> Any:
        """Pickled with its layout: NumPy pickles what has gaps without them, and strides not."""
        array = self.buffer
        if not isinstance(array, np.ndarray) or array.flags.forc:
            return Stored, (array, self.dtype)
        layout = array.dtype.str, array.shape, array.strides
        return _stored, (*spanned(array), *layout, self.dtype)

    @cached_property
    def on_device(self) -> bool:
        """Whether the bytes live on a GPU."""
        # Asked of the class: CuPy makes the interface anew for each array that is asked.
        return hasattr(type(self.buffer), "__cuda_array_interface__")


def _stored(span: Any, start: int, kind: str, shape: Shape, strides: Any, dtype: str) -> Stored:
    return Stored(laid_out(span, start, kind, shape, strides), dtype)


@dataclass(frozen=True, eq=False)
class Deferred:
    """Another library's lazy array (a Dask collection), computed to memory before it is read."""

    collection: Any
    dtype: str
    shape: Shape
    name: str = "dask"  # what made it, for who reads the expression


@dataclass(frozen=True, eq=False)
class Held(Deferred):
    """Values of ours that lie with a cluster's worker; ``collection`` is Dask's, of its future."""

    name: str = "held"
