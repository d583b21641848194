"""What this machine has: cores, memory, GPUs. Asking loads neither CuPy nor a CUDA context."""

from __future__ import annotations

import ctypes
import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from ..dataclass import dataclass
from ..late import psutil

CPU_LIMIT: Final = Path("/sys/fs/cgroup/cpu.max")  # microseconds of CPU time, and of how many


@cache
def cores() -> int:
    """CPU cores this process may use (affinity and container quota respected)."""
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:
        count = os.cpu_count() or 1
    with suppress(OSError, ValueError):
        quota, period = CPU_LIMIT.read_text().split()
        if quota != "max":
            count = min(count, max(1, int(quota) // int(period)))
    return count


_free: list[float] = [0.0, 0.0]  # bytes, and when they were read


def free_memory() -> int:
    """Bytes of host memory that can be had without swapping, as of the last tenth of a second."""
    now = time.monotonic()
    if now - _free[1] > 0.1 or not _free[0]:
        _free[:] = [_available() or psutil.virtual_memory().available, now]
    return int(_free[0])


_MEMORY: Final = Path("/proc/meminfo")


def _available() -> int:
    """What Linux says, as psutil reads it, which takes a while to load; 0 of another system."""
    with suppress(OSError, ValueError, IndexError):
        for line in _MEMORY.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 0


@cache
def gpu_count() -> int:
    """GPUs visible through the driver, CUDA_VISIBLE_DEVICES respected."""
    return gpu_probe()[0]


@dataclass(frozen=True)
class GpuRate:
    """What decides how fast a GPU computes: multiprocessors, Hz, float32 over float64 rate."""

    multiprocessors: int
    clock: float
    float64_ratio: int


_MULTIPROCESSORS, _CLOCK_KHZ, _FLOAT64_RATIO = 16, 13, 87  # of CUdevice_attribute in cuda.h


@cache
def gpu_rate() -> GpuRate:
    """The rate of GPU 0, asked of the driver without a context; a usual one without a driver."""
    device = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return GpuRate(132, 1.5e9, 2)
    driver.cuInit(0)
    driver.cuDeviceGet(ctypes.byref(device), 0)

    def attribute(number: int) -> int:
        value = ctypes.c_int(0)
        driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
        return value.value

    count, khz, ratio = map(attribute, (_MULTIPROCESSORS, _CLOCK_KHZ, _FLOAT64_RATIO))
    return GpuRate(max(1, count), 1e3 * khz or 1.5e9, max(1, ratio))


_NO_DEVICE: Final = 100  # CUDA_ERROR_NO_DEVICE


@cache
def gpu_probe() -> tuple[int, str]:
    """How many GPUs the driver reports, and why there is none."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", None) in ("", "-1"):
        return 0, "CUDA_VISIBLE_DEVICES hides every GPU"
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0, "no NVIDIA driver (libcuda.so.1) is installed"
    status = driver.cuInit(0)
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if status == _NO_DEVICE and visible:
        return (
            0,
            f"CUDA_VISIBLE_DEVICES={visible!r} names no GPU and no MIG instance of this machine",
        )
    if status:
        return 0, f"the NVIDIA driver does not start (cuInit gives error {status})"
    count = ctypes.c_int(0)
    driver.cuDeviceGetCount(ctypes.byref(count))
    return count.value, "" if count.value else "the driver reports no GPU"
