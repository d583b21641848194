"""Which text computes which part of a scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .columns import running_columns
from .layout import DeviceScan
from .lines import running_lines
from .range import element_range

_TEXTS: Final[dict[str, Callable[[DeviceScan], str]]] = {
    "range": element_range,
    "lines": running_lines,
    "columns": running_columns,
}


def emit_scan(program: DeviceScan) -> str:
    """The CUDA C text of ``program``."""
    return _TEXTS[program.kind](program)
