"""GPUs, asked of the driver's library without a CUDA context.

``cuInit`` and the ``cuDevice`` calls load the driver but make no context, so nothing is allocated
on a GPU that others use, and they number the devices as the rung ``gpu:N`` does, within
CUDA_VISIBLE_DEVICES. NVML (``libnvidia-ml.so.1``, also without a context) adds what they lack: the
driver's version, free memory, and the GPUs that CUDA does not show. CuPy is not needed for either,
and ``nvidia-smi``, a program over NVML, would only add a process and text to parse.
"""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ...dataclass import dataclass

Load = Callable[[str], Any]

PCI: Final = Path("/sys/bus/pci/devices")
NVIDIA_VENDOR, DISPLAY_CLASS = "0x10de", "0x03"
DRIVERS_PAGE: Final = "https://www.nvidia.com/drivers"

NO_DEVICE: Final = 100  # of cuInit, as are these

# Error numbers with a usual cause and cure.
INIT_ERRORS: Final = {
    802: (
        "the GPUs' fabric manager is not running",
        "sudo systemctl start nvidia-fabricmanager",
    ),
    803: ("the driver was updated and its old part is still loaded", "sudo reboot"),
    999: ("its nvidia-uvm module is often not loaded", "sudo nvidia-modprobe -u -c=0"),
}

# Numbers of CUdevice_attribute in cuda.h.
_MULTIPROCESSORS, _COMPUTE_MODE, _MAJOR, _MINOR, _FLOAT64_RATIO = 16, 20, 75, 76, 87
_PROHIBITED: Final = 2


@dataclass(frozen=True)
class Gpu:
    """One GPU as rung ``gpu:<number>`` finds it; memory in bytes, free None where unknown."""

    number: int
    name: str
    compute_capability: str
    memory: int
    free: int | None
    multiprocessors: int
    float64_ratio: int  # float32 throughput over float64 throughput
    prohibited: bool  # its compute mode forbids CUDA programs


@dataclass(frozen=True)
class Gpus:
    """All GPUs: those CUDA shows, and how many the machine has (None where it does not say)."""

    driver: str | None  # the driver's version
    cuda: str | None  # the newest CUDA that the driver runs
    in_machine: int | None
    visible: tuple[Gpu, ...]
    setting: str | None  # CUDA_VISIBLE_DEVICES
    init_status: int | None  # what cuInit gave, 0 if fine; None without libcuda
    problem: str  # why none is visible


class Nvml:
    """The few questions asked of NVML; None or {} where it has no answer."""

    def __init__(self, load: Load) -> None:
        self.library: Any = None
        with suppress(OSError):
            library = load("libnvidia-ml.so.1")
            self.library = None if library.nvmlInit_v2() else library

    def driver(self) -> str | None:
        text = ctypes.create_string_buffer(96)
        if self.library is None or self.library.nvmlSystemGetDriverVersion(text, 96):
            return None
        return text.value.decode(errors="replace")

    def count(self) -> int | None:
        count = ctypes.c_uint(0)
        if self.library is None or self.library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
            return None
        return count.value

    def free(self, name: bytes) -> int | None:
        """Free bytes of the GPU whose UUID is ``name``."""
        handle, sizes = ctypes.c_void_p(), (ctypes.c_ulonglong * 3)()  # total, free, used
        if self.library is None:
            return None
        if self.library.nvmlDeviceGetHandleByUUID(name, ctypes.byref(handle)):
            return None
        return None if self.library.nvmlDeviceGetMemoryInfo(handle, sizes) else int(sizes[1])


def gpus(
    probe: tuple[int, str],
    environ: Mapping[str, str],
    load: Load = ctypes.CDLL,
    pci: Path = PCI,
) -> Gpus:
    """The GPUs, given what `machine.gpu_probe` says of them."""
    count, problem = probe
    nvml = Nvml(load)
    status, cuda = None, None
    visible: tuple[Gpu, ...] = ()
    with suppress(OSError):
        driver = load("libcuda.so.1")
        status = int(driver.cuInit(0))
        number = ctypes.c_int(0)
        if not driver.cuDriverGetVersion(ctypes.byref(number)):
            cuda = f"{number.value // 1000}.{number.value % 1000 // 10}"
        visible = tuple(_gpu(driver, n, nvml) for n in range(count)) if not status else ()
    in_machine = nvml.count()
    return Gpus(
        driver=nvml.driver(),
        cuda=cuda,
        in_machine=pci_gpus(pci) if in_machine is None else in_machine,
        visible=visible,
        setting=environ.get("CUDA_VISIBLE_DEVICES"),
        init_status=status,
        problem=problem,
    )


def _gpu(driver: Any, number: int, nvml: Nvml) -> Gpu:
    device, size, name = ctypes.c_int(0), ctypes.c_size_t(0), ctypes.create_string_buffer(128)
    driver.cuDeviceGet(ctypes.byref(device), number)
    driver.cuDeviceGetName(name, 128, device)
    driver.cuDeviceTotalMem_v2(ctypes.byref(size), device)

    def attribute(which: int) -> int:
        value = ctypes.c_int(0)
        driver.cuDeviceGetAttribute(ctypes.byref(value), which, device)
        return value.value

    return Gpu(
        number=number,
        name=name.value.decode(errors="replace"),
        compute_capability=f"{attribute(_MAJOR)}.{attribute(_MINOR)}",
        memory=size.value,
        free=_free(driver, device, nvml),
        multiprocessors=attribute(_MULTIPROCESSORS),
        float64_ratio=attribute(_FLOAT64_RATIO),
        prohibited=attribute(_COMPUTE_MODE) == _PROHIBITED,
    )


def _free(driver: Any, device: ctypes.c_int, nvml: Nvml) -> int | None:
    """Free bytes: NVML numbers GPUs differently from CUDA, so it is asked by UUID."""
    raw = (ctypes.c_ubyte * 16)()
    if driver.cuDeviceGetUuid(raw, device):
        return None
    name = str(uuid.UUID(bytes=bytes(raw)))
    whole = nvml.free(f"GPU-{name}".encode())
    return nvml.free(f"MIG-{name}".encode()) if whole is None else whole


def pci_gpus(devices: Path) -> int | None:
    """NVIDIA display devices on the PCI bus, driver or not; None where the bus cannot be read."""
    try:
        entries = sorted(devices.iterdir())
    except OSError:
        return None
    return sum(
        _read(device / "vendor") == NVIDIA_VENDOR
        and _read(device / "class").startswith(DISPLAY_CLASS)
        for device in entries
    )


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
