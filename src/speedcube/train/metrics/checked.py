"""Whether a line of a run's files is what a job writes: its fields, their types, their bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from ...shown import line as shown
from .rows import Row

MOST_COUNT: Final = 2**63 - 1
_INTEGERS: Final = range(-(2**63), 2**64)
_COUNTS: Final = ("step", "rank", "attempt")
_TIMES: Final = ("time", "seconds")
_SCALARS: Final = (bool, int, float, str, type(None))


def check_row(row: Row) -> None:
    """`ValueError`, with the reason, unless ``row`` is a row or an event of a run."""
    if "event" in row:
        text(row, "event")
        number(row, "time")
        return
    for name in _COUNTS:
        count(row, name)
    for name in _TIMES:
        number(row, name)
    scalars(row, "metrics")


def count(row: Row, name: str, least: int = 0) -> int:
    """The integer ``name`` of a line: at least ``least``, and of 64 bits."""
    value = row.get(name)
    if type(value) is not int or not least <= value <= MOST_COUNT:
        raise ValueError(f"its {name} is {_brief(row, name)}, not an integer from {least} up")
    return value


def number(row: Row, name: str) -> float:
    """The finite number ``name`` of a line."""
    value: Any = row.get(name)
    fits = value in _INTEGERS if type(value) is int else type(value) is float
    if not fits or not math.isfinite(value):
        raise ValueError(f"its {name} is {_brief(row, name)}, not a number")
    return float(value)


def text(row: Row, name: str, known: tuple[str, ...] = ()) -> str:
    """The text ``name`` of a line, one of ``known`` where there are any."""
    value = row.get(name)
    if type(value) is not str or (known and value not in known):
        wanted = " or ".join(known) or "text"
        raise ValueError(f"its {name} is {_brief(row, name)}, not {wanted}")
    return value


def scalars(row: Row, name: str) -> Mapping[str, Any]:
    """The object ``name`` of a line, which holds scalars."""
    values = row.get(name)
    if type(values) is not dict:
        raise ValueError(f"its {name} is {_brief(row, name)}, not an object")
    for key, value in values.items():
        kind = type(value)
        if kind not in _SCALARS or (kind is int and value not in _INTEGERS):
            raise ValueError(
                f"{shown(key, 40)} of its {name} is {_brief(values, key)}, which is not a scalar"
            )
    return values


def _brief(row: Mapping[str, Any], name: str) -> str:
    return shown(repr(row[name]), 40) if name in row else "missing"
