"""Which class emits which scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, Protocol

from .... import dtypes
from ...program import Scan
from .columns.frame import ColumnFrame
from .columns.products import ColumnProducts, RunningColumnProducts
from .columns.sums import ExactColumnSums, WrappingColumnSums
from .frame import LineFrame, ScanFrame
from .products import ProductScan, RunningProductScan
from .several import several
from .sums import ExactSumScan, WrappingSumScan


class ScanText(Protocol):
    """What stands inside a frame: the loops of one scan."""

    SUPPORT: ClassVar[tuple[str, ...]]  # functions that the kernel calls

    def emit(self) -> None: ...


# By the operation, and whether its elements are floats.
SCANS: Final[dict[tuple[str, bool], Callable[[LineFrame], ScanText]]] = {
    ("prod", True): ProductScan,
    ("prod", False): ProductScan,
    ("cumprod", True): RunningProductScan,
    ("cumprod", False): RunningProductScan,
    ("cumsum", True): ExactSumScan,
    ("cumsum", False): WrappingSumScan,
}
# And where a lane is a column.
COLUMN_SCANS: Final[dict[tuple[str, bool], Callable[[ColumnFrame], ScanText]]] = {
    ("prod", True): ColumnProducts,
    ("prod", False): ColumnProducts,
    ("cumprod", True): RunningColumnProducts,
    ("cumprod", False): RunningColumnProducts,
    ("cumsum", True): ExactColumnSums,
    ("cumsum", False): WrappingColumnSums,
}


def emit_scan(program: Scan, lanes: int) -> str:
    """The LLVM text of ``program``, with vectors of ``lanes`` elements."""
    which = program.op, dtypes.is_float(program.dtype)
    if program.columns:
        columns = ColumnFrame(program, lanes)
        return _text(columns, COLUMN_SCANS[which](columns))
    lines = LineFrame(program, lanes)
    text = _text(lines, SCANS[which](lines))
    return several(program, text) if program.several else text


def _text(frame: ScanFrame, scan: ScanText) -> str:
    scan.emit()
    return frame.function(scan.SUPPORT)
