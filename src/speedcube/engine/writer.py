"""An expression stored again and again, with other inputs, into memory that the caller owns."""

from __future__ import annotations

import sys
import threading
from typing import Any

from ..errors import UnsupportedError
from ..expr.nodes import STAGED, Deferred, Expr, Leaf, Map, Piecewise, StageResult, Tiled, whole
from ..expr.push import in_place
from ..expr.views import rebuild
from ..plan.stages import make_stage
from . import cpu
from .boxes import Stop
from .compute import compute
from .prepare import prepare
from .results import inputs_of
from .staging.late import gpu
from .tasks import Inputs


class Writer:
    """Stores ``root`` whenever it is called: lowered and compiled once, on the thread that calls.

    ``device`` is a GPU's number, or None for the CPU. Reductions and Dask arrays that ``root``
    reads are computed when the writer is made; `UnsupportedError` where it needs a copy. On a GPU a
    call returns at once: its kernel waits its turn on CuPy's current stream. Threads may share a
    writer.
    """

    def __init__(self, root: Expr, device: int | None = None) -> None:
        on = "cores" if device is None else f"gpu:{device}"
        results: dict[int, tuple[StageResult, Any]] = {}

        def leaf(node: Leaf) -> Leaf:
            source = node.source
            if isinstance(source, (Leaf, Map, Piecewise)):
                raise UnsupportedError(
                    "a batch is made by one kernel, and this needs a copy in memory first (a "
                    "reshape across strides, a concatenation, or take() of what was "
                    "computed): call .persist() on that array"
                )
            if not isinstance(source, (*STAGED, Deferred, Tiled)):
                return node
            if id(source) not in results:
                result = StageResult(source.shape, source.dtype)
                results[id(source)] = result, compute(whole(source, source.shape), on)
            return Leaf(results[id(source)][0], node.shape, node.offset, node.strides)

        stage = make_stage(rebuild(in_place(root, sys.maxsize), root.shape, leaf), None, 1)
        self.prepared = prepare(stage, stage.parts[0], None)
        self.device = device
        values = {id(result): value for result, value in results.values()}
        self.ready = inputs_of(stage.needs, [values[id(need)] for need in stage.needs])
        self.launcher: gpu.Launcher | None = None
        self.lock = threading.Lock()

    def __call__(self, out: Any, inputs: Inputs) -> None:
        """Store every element in ``out``, a C-ordered array of ``root``'s shape: not an empty one.

        ``inputs`` are arrays of the layout of the sources they stand for, by the sources' ids.
        """
        if self.device is None:
            cpu.run_store(self.prepared, {**self.ready, **inputs}, out, Stop())
            return
        with self.lock:
            self._launch(out, inputs)

    def _launch(self, out: Any, inputs: Inputs) -> None:
        import cupy

        assert self.device is not None
        if self.launcher is None:
            self.launcher = gpu.Launcher(self.prepared, {**self.ready, **inputs}, self.device)
            # What it has copied to the device is there whichever stream comes next.
            cupy.cuda.get_current_stream().synchronize()
        else:
            self.launcher.read(inputs)
        for piece in self.launcher.pieces():
            self.launcher.store(piece, out)
