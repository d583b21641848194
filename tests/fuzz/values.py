"""What NumPy's values of a program may differ from ours by.

Most operations have one result and are compared bit for bit. Sums of floats and elementary
functions are rounded otherwise here: what is made of them carries a bound of its error, and meets
no operation that jumps (a comparison, a rounding, an index).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

ULPS = 8  # NumPy's elementary functions are off by 4 at most, ours by 1


@dataclass(frozen=True)
class Value:
    """A value of NumPy's, the bound of its error, and whether its zeros may have another sign."""

    array: Any
    error: float = 0.0
    loose: bool = False  # the least of -0 and +0 is either

    @property
    def exact(self) -> bool:
        return self.error == 0.0

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.asarray(self.array).dtype

    @property
    def floats(self) -> bool:
        return self.dtype.kind == "f"

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self.array)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.size(self.array))

    @property
    def own(self) -> bool:
        """Whether it is an array; results of no axes are NumPy's scalars."""
        return isinstance(self.array, np.ndarray)


def largest(array: Any) -> float:
    """The size of its largest finite number."""
    values = np.asarray(array).astype(np.float64)
    values = np.abs(values[np.isfinite(values)])
    return float(values.max()) if values.size else 0.0


def last_place(array: Any) -> float:
    """The last place of its largest number."""
    dtype = np.asarray(array).dtype
    if dtype.kind != "f":
        return 0.0
    info = np.finfo(dtype)
    return max(float(info.eps) * largest(array), float(info.smallest_subnormal))


def sum_error(value: Value, made: Any) -> float:
    """NumPy's bound of a sum in any order: of all elements, whatever the axes were."""
    if np.asarray(made).dtype.kind != "f":
        return 0.0
    narrow = float(np.finfo(np.asarray(made).dtype).eps)
    whole = largest(value.array) * max(value.size, 1)
    bound = value.size * value.error + narrow * whole * max(value.size, 1)
    return (
        bound + last_place(made) if whole < float(np.finfo(np.asarray(made).dtype).max) else np.inf
    )


def differs(wanted: Value, got: Any) -> str | None:
    """What differs between NumPy's value and ours; None where nothing does."""
    numpys = np.asarray(wanted.array)
    if (numpys.shape, numpys.dtype) != (got.shape, got.dtype):
        return f"{got.dtype}{got.shape} for {numpys.dtype}{numpys.shape}"
    if not wanted.exact:
        if not np.isfinite(wanted.error):
            return None
        with np.errstate(all="ignore"):
            near = np.isclose(got, numpys, rtol=0, atol=2 * wanted.error, equal_nan=True)
        return None if near.all() else f"{got!r} for {numpys!r}, which is off by {wanted.error}"
    if not np.array_equal(got, numpys, equal_nan=numpys.dtype.kind == "f"):
        return f"{got!r} for {numpys!r}"
    if wanted.floats and not wanted.loose:
        numbers = ~np.isnan(numpys)
        if (np.signbit(got) != np.signbit(numpys))[numbers].any():
            return f"another sign of zero: {got!r} for {numpys!r}"
    return None
