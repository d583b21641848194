"""How fast this machine's cores and GPUs are expected to be, before anything was measured."""

from __future__ import annotations

from typing import Final

from ... import dtypes
from ...kernel.llvm.simd import targets
from .. import machine

# Seconds for a float64 normal in an exact sum on one core, by SIMD level; a float32 one takes half.
_CORE_SECONDS: Final = {"avx512": 2.5e-9, "avx2": 4.5e-9, "plain": 5e-8}
_THREADS_START: Final = 3e-4
_GPU_START: Final = 2e-3
# Clocks of a GPU's multiprocessor for one element: whatever the float64 rate, and at a rate of half
# the float32 one (an H200 makes 250 G float64 and 544 G float32 normals a second). Float32 elements
# are summed in doubles.
_GPU_CLOCKS: Final = {"float64": (0.35, 0.70), "float32": (0.40, 0.08)}


def predicted_seconds(elements: int, kind: str, dtype: str = "float64") -> float:
    """Seconds ``elements`` elements of ``dtype`` are expected to take on a rung of this machine."""
    kind = kind.split(":")[0]
    on_gpu = kind.startswith(("gpu", "cuda"))
    each = seconds_each("gpu" if on_gpu else "core", dtype)
    workers = {"cores": machine.cores(), "gpus": max(1, machine.gpu_count())}.get(kind, 1)
    start = (_GPU_START if on_gpu else 0.0) + (workers > 1) * _THREADS_START
    return elements * each / workers + start


def seconds_each(kind: str, dtype: str) -> float:
    """Seconds of one element on a core, or (``kind`` gpu) on a GPU."""
    wide = dtypes.itemsize(dtype) == 8
    if kind != "gpu":
        return _CORE_SECONDS[targets()[0]] / (1 if wide else 2)
    rate = machine.gpu_rate()
    any_rate, half_rate = _GPU_CLOCKS["float64" if wide else "float32"]
    clocks = any_rate + half_rate * rate.float64_ratio / 2
    return clocks / (rate.multiprocessors * rate.clock)
