"""CUDA C to a loaded kernel: NVRTC through CuPy, binaries in the kernel cache.

CuPy's own compile path adds ``-ftz=true``, which turns float32 subnormals to zero; NVRTC is called
directly so that the options are ours.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from ...errors import KernelError
from ..cache import KernelCache, content_key, generator
from ..program import Program
from .loops import CudaLoops
from .prelude import THREADS

OPTIONS: Final = (
    "--std=c++17",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
)


@dataclass(frozen=True)
class DeviceKernel:
    """A kernel loaded on one device, and how many of its blocks each multiprocessor holds."""

    function: Any
    module: Any
    blocks_per_multiprocessor: int


_lock = threading.Lock()
# Kernels are compiled side by side, each by one thread while others wait for it.
_compiling: Final[dict[bytes, threading.Lock]] = defaultdict(threading.Lock)


def compile_cubin(source: str, architecture: str) -> bytes:
    """The machine code of ``source`` for ``architecture`` (``sm_90``)."""
    from cupy_backends.cuda.libs import nvrtc

    program = nvrtc.createProgram(source, "speedcube.cu", [], [])
    try:
        nvrtc.compileProgram(program, (*OPTIONS, f"--gpu-architecture={architecture}"))
        return bytes(nvrtc.getCUBIN(program))
    except nvrtc.NVRTCError as err:
        log = nvrtc.getProgramLog(program)
        raise KernelError(f"NVRTC refused a kernel ({err}): {str(log)[:2000]}") from err
    finally:
        nvrtc.destroyProgram(program)


@lru_cache(maxsize=64)
def source(program: Program) -> str:
    """The CUDA C text of ``program``."""
    return CudaLoops(program).emit()


def build(program: Program, device: int, store: KernelCache) -> DeviceKernel:
    """The kernel of ``program`` on ``device``: from the cache, or compiled and put there."""
    import cupy

    with cupy.cuda.Device(device) as current:
        architecture = f"sm_{current.compute_capability}"
        # The runtime's version, not NVRTC's: asking that one loads it, for nothing where the
        # kernel is in the cache.
        version = cupy.cuda.runtime.runtimeGetVersion()
        key = content_key("nvrtc", version, generator(), architecture, OPTIONS, program)
        with _lock:
            mine = _compiling[key]
        with mine:
            cubin = store.get(key)
            if cubin is None:
                cubin = compile_cubin(source(program), architecture)
                store.put(key, cubin)
        with _lock:
            module = cupy.cuda.function.Module()
            module.load(cubin)
            function = module.get_function("kernel")
            fit = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
                function.ptr, THREADS, 0
            )
        return DeviceKernel(function, module, max(1, fit))
