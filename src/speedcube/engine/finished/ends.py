"""Sums that lie between two integers, in units of `2**-1074`: what is known of them, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from numpy.typing import NDArray

from ...kernel.exact.integers import LEAST

Array: TypeAlias = NDArray[Any]
End: TypeAlias = tuple[int, int]  # the least and the most that a sum may be
PIECE: Final = 1 << 22  # elements: Ctrl-C takes effect behind them, and units are for so many


def all_of(pieces: Sequence[Sequence[End]]) -> tuple[End, ...]:
    """The sums of what several give, each between its ends."""
    return tuple(
        (sum(low for low, _ in each), sum(high for _, high in each))
        for each in zip(*pieces, strict=True)
    )


def ends_of(value: Array, tail: Array, bound: Array) -> End:
    """Of a sum that is `value + tail`, `bound` away at most."""
    middle, off = _units(value) + _units(tail), _units(bound)
    return middle - off, middle + off


def _units(x: Array) -> int:
    """A double in units of `2**-1074`."""
    numerator, denominator = float(x[0]).as_integer_ratio()
    return (numerator << -LEAST) // denominator
