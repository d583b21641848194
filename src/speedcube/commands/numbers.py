"""Numbers as a reader wants them: three digits and a unit."""

from __future__ import annotations

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
_COUNTS: Final = ((1e3, "", 1.0), (1e6, " k", 1e-3), (1e9, " M", 1e-6), (1e12, " G", 1e-9))


def short(value: float, digits: int = 3) -> str:
    """``value`` with three digits, without an exponent from 0.0001 up."""
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def seconds_text(seconds: float | None, digits: int = 3) -> str:
    """Seconds in the unit that suits them; ``-`` for None."""
    if seconds is None:
        return "-"
    shown = float(f"{seconds:.{digits}g}")  # rounded first: 0.9999 s is 1 s, not 1000 ms
    unit, factor = next((unit, factor) for limit, unit, factor in _TIMES if shown < limit)
    return f"{short(seconds * factor, digits)} {unit}"


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
