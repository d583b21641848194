"""Numbers as people read them: a few digits and a unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

# (below this many, unit, how much of it one second is)
_TIMES: Final = (
    (1e-3, "us", 1e6),
    (1.0, "ms", 1e3),
    (120.0, "s", 1.0),
    (7200.0, "min", 1 / 60),
    (172_800.0, "h", 1 / 3600),
    (float("inf"), "d", 1 / 86_400),
)
BYTES: Final = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_COUNTS: Final = ((1e3, "", 1.0), (1e6, " k", 1e-3), (1e9, " M", 1e-6), (1e12, " G", 1e-9))


def short(value: float, digits: int = 3) -> str:
    """``value`` with three digits, without an exponent from 0.0001 up."""
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def so_many(number: int, noun: str) -> str:
    """So many of what ``noun`` names."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def seconds_text(seconds: float | None, digits: int = 3) -> str:
    """Seconds in the unit that suits them; ``-`` for None."""
    if seconds is None:
        return "-"
    shown = float(f"{seconds:.{digits}g}")  # rounded first: 0.9999 s is 1 s, not 1000 ms
    unit, factor = next((unit, factor) for limit, unit, factor in _TIMES if shown < limit)
    return f"{short(seconds * factor, digits)} {unit}"


def duration_text(seconds: float) -> str:
    """Seconds as people say them: "9.8 s", "3 min 20 s", "2 h 05 min"."""
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def bytes_text(count: float, units: Sequence[str] = BYTES) -> str:
    """``count`` bytes with four digits, in decimal units; the last of ``units`` has no limit."""
    unit = 0
    while count >= 1000 and unit < len(units) - 1:
        count, unit = count / 1000, unit + 1
    return f"{count:.4g} {units[unit]}"


def count_text(count: float | None) -> str:
    """A count like 275 M or 1.1 G; ``-`` for None."""
    if count is None:
        return "-"
    shown = float(f"{count:.3g}")
    suffix, factor = next(
        ((suffix, factor) for limit, suffix, factor in _COUNTS if shown < limit), (" T", 1e-12)
    )
    return short(count * factor) + suffix


def times_text(ratio: float | None, marked: bool = False) -> str:
    """A ratio like 61.2x, ``~`` before one that is ``marked``; ``-`` for None."""
    return "-" if ratio is None else f"{'~' if marked else ''}{short(ratio)}x"


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape like 20,000 x 10,000."""
    return " x ".join(f"{n:,}" for n in shape)


def value_text(value: float | str | None) -> str:
    """A value of any kind on one line: five digits of a float."""
    if not isinstance(value, float):
        return " ".join(str(value).split())
    return "NaN" if math.isnan(value) else f"{value:.5g}"
