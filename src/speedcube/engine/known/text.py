"""The text of the kernel that would run."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import ParameterError
from ...expr.nodes import Expr
from ...expr.space import TILE
from ...kernel.llvm.compile import source as llvm_source
from ...kernel.llvm.compile import styles
from ...kernel.llvm.simd import targets
from ...kernel.program import Program
from ...plan.plan import Resources, make_plan
from ...plan.regions import kernels_of
from ..prepare import prepare
from ..staging.late import compiling


def source_of(root: Expr, target: str) -> str:
    """The generated kernel of the last stage of ``root``: ``cpu``, ``cuda`` or ``ir``."""
    stage = make_plan(root, Resources("core", 1), "", TILE).stages[-1]
    program = prepare(*kernels_of(stage)[0], None, gpu=target == "cuda").program
    best = targets()[0]
    printers: dict[str, Callable[[Program], str]] = {
        "cpu": lambda p: llvm_source(p, best, styles(p, best)[1]),
        "cuda": compiling.source,
        "ir": str,
    }
    if target not in printers:
        raise ParameterError(f"unknown target {target!r}; targets: {', '.join(printers)}")
    return printers[target](program)
