"""What is distinct in a sorted line on a GPU, in order: counted, then kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....kernel.cuda.ordering.distinct import CHUNK, DeviceDistinct
from ....kernel.cuda.prelude import THREADS
from ... import gpu


def first_of_each(values: Any, equal_nan: bool) -> Any:
    """The elements of sorted ``values``, on a GPU, that differ from the one before, there."""
    import cupy

    device = values.device.id
    with cupy.cuda.Device(device):
        blocks = -(-values.size // CHUNK)
        starts = cupy.empty(blocks, np.uint64)

        def launch(keeps: bool, out: int) -> None:
            program = DeviceDistinct(values.dtype.name, keeps, equal_nan)
            kernel, _ = gpu.gpu_kernel(program, device)
            places = values.size, int(values.data.ptr), out, int(starts.data.ptr)
            kernel.function((blocks,), (THREADS,), (*np.array(places, np.uint64),))

        launch(False, 0)
        ends = starts.cumsum()
        found = cupy.empty(int(ends[-1]), values.dtype)
        starts[...] = ends - starts
        launch(True, int(found.data.ptr))
        return found
