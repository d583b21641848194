"""Which text computes which part of a scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .columns import running_columns
from .layout import DeviceScan
from .lines import running_lines
from .products import piece_groups, running_column_products, running_line_products
from .range import element_range
from .trees import column_products, line_products, span_products

KINDS: Final[dict[str, Callable[[DeviceScan], str]]] = {
    "range": element_range,
    "lines": running_lines,
    "columns": running_columns,
    "line products": line_products,
    "column products": column_products,
    "span products": span_products,
    "groups": piece_groups,
    "running line products": running_line_products,
    "running column products": running_column_products,
}


def emit_scan(program: DeviceScan) -> str:
    """The CUDA C text of ``program``."""
    return KINDS[program.kind](program)
