"""CUDA C to a loaded kernel: NVRTC through CuPy, binaries in the kernel cache.

CuPy's own compile path adds ``-ftz=true``, which turns float32 subnormals to zero; NVRTC is called
directly so that the options are ours.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Final

from ..errors import KernelError
from .cache import KernelCache, content_key

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

    source: str
    function: Any
    module: Any
    blocks_per_multiprocessor: int


_lock = threading.Lock()


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


def build(source: str, device: int, threads: int, store: KernelCache) -> DeviceKernel:
    """The kernel of ``source`` on ``device``: from the cache, or compiled and put there."""
    import cupy
    from cupy_backends.cuda.libs import nvrtc

    with _lock, cupy.cuda.Device(device) as current:
        architecture = f"sm_{current.compute_capability}"
        key = content_key("nvrtc", nvrtc.getVersion(), architecture, OPTIONS, source)
        cubin = store.get(key)
        if cubin is None:
            cubin = compile_cubin(source, architecture)
            store.put(key, cubin)
        module = cupy.cuda.function.Module()
        module.load(cubin)
        function = module.get_function("kernel")
        fit = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(function.ptr, threads, 0)
        return DeviceKernel(source, function, module, max(1, fit))
