"""CUDA C to a loaded kernel: NVRTC through CuPy, binaries in the kernel cache.

CuPy's own compile path adds ``-ftz=true``, which turns float32 subnormals to zero; NVRTC is called
directly so that the options are ours.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ...errors import KernelError
from .. import elf
from ..cache import KernelCache, content_key, generator
from ..program import Program
from .loops import CudaLoops
from .many.nest import ManyLoops
from .ordering.distinct import DeviceDistinct, emit_distinct
from .ordering.foremost import DeviceValues, emit_values
from .ordering.keys import DeviceKeys, emit_keys
from .ordering.lines import DeviceLines, emit_lines
from .ordering.rounding import DeviceRounding, emit_rounding
from .prelude import THREADS
from .scans.emit import emit_scan
from .scans.layout import DeviceScan

OPTIONS: Final = (
    "--std=c++17",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
)


# Whose elements lie in memory.
Fixed: TypeAlias = (
    DeviceScan | DeviceKeys | DeviceDistinct | DeviceRounding | DeviceValues | DeviceLines
)
_EMIT: Final[dict[type, Callable[[Any], str]]] = {
    DeviceScan: emit_scan,
    DeviceKeys: emit_keys,
    DeviceDistinct: emit_distinct,
    DeviceLines: emit_lines,
    DeviceRounding: emit_rounding,
    DeviceValues: emit_values,
}


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
def source(program: Program | Fixed) -> str:
    """The CUDA C text of ``program``."""
    if not isinstance(program, Program):
        return _EMIT[type(program)](program)
    return (CudaLoops if program.sink.many is None else ManyLoops)(program).emit()


def _loaded(cubin: bytes) -> Any:
    """A cubin as a module on the current device."""
    import cupy

    with _lock:
        module = cupy.cuda.function.Module()
        module.load(cubin)
    return module


def _stored(key: bytes, store: KernelCache) -> Any:
    """The module from the cache, or None; an entry that cannot be loaded is removed."""
    from cupy_backends.cuda.api.driver import CUDADriverError

    cubin = store.get(key)
    if cubin is None:
        return None
    if elf.fault(cubin, elf.CUBIN) is None:
        with suppress(CUDADriverError):
            return _loaded(cubin)
    store.discard(key)
    return None


def build(program: Program | Fixed, device: int, store: KernelCache) -> DeviceKernel:
    """The kernel of ``program`` on ``device``: from the cache, or compiled and put there."""
    import cupy

    with cupy.cuda.Device(device) as current:
        architecture = f"sm_{current.compute_capability}"
        # The runtime's version, not NVRTC's: asking that one loads it, for nothing where the
        # kernel is in the cache.
        version = cupy.cuda.runtime.runtimeGetVersion()
        key = content_key("nvrtc", version, generator("cuda"), architecture, OPTIONS, program)
        with _lock:
            mine = _compiling[key]
        with mine:
            module = _stored(key, store)
            if module is None:
                cubin = compile_cubin(source(program), architecture)
                store.put(key, cubin)
                module = _loaded(cubin)
        with _lock:
            function = module.get_function("kernel")
            fit = cupy.cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(
                function.ptr, THREADS, 0
            )
        return DeviceKernel(function, module, max(1, fit))
