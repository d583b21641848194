"""Which class emits which scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final, Protocol

from .... import dtypes
from ...program import Scan
from .frame import ScanFrame
from .products import ProductScan, RunningProductScan
from .sums import ExactSumScan, WrappingSumScan


class ScanText(Protocol):
    """What stands inside a frame: the loops of one scan."""

    SUPPORT: ClassVar[tuple[str, ...]]  # functions that the kernel calls

    def emit(self) -> None: ...


# By the operation, and whether its elements are floats.
SCANS: Final[dict[tuple[str, bool], Callable[[ScanFrame], ScanText]]] = {
    ("prod", True): ProductScan,
    ("prod", False): ProductScan,
    ("cumprod", True): RunningProductScan,
    ("cumprod", False): RunningProductScan,
    ("cumsum", True): ExactSumScan,
    ("cumsum", False): WrappingSumScan,
}


def emit_scan(program: Scan, lanes: int) -> str:
    """The LLVM text of ``program``, with vectors of ``lanes`` elements."""
    frame = ScanFrame(program, lanes)
    scan = SCANS[program.op, dtypes.is_float(program.dtype)](frame)
    scan.emit()
    return frame.function(scan.SUPPORT)
