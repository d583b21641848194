"""Everything doctor knows of this machine, gathered so that no failure to look can end it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from shutil import which
from typing import Final, TypeVar

from ...__about__ import __version__
from ...dataclass import dataclass
from ...engine import machine, rungs
from ...kernel.cache import default_directory
from .gpus import Gpus, gpus
from .host import Cache, Cpu, Memory, cpu, kernel_cache, memory
from .imports import NOT_TRIED, Imports, imports
from .packages import Package, get, installed_cupy, packages

T = TypeVar("T")


@dataclass(frozen=True)
class System:
    """The programs around speedcube; ``installer`` and ``driver_installer`` are what is there."""

    speedcube: str
    python: str
    platform: str  # "Linux x86_64"
    kernel: str  # the operating system's release
    installer: str  # "pip" or "uv"
    driver_installer: str  # a command that installs the NVIDIA driver, or ""


@dataclass(frozen=True)
class Unknown:
    """Something that could not be found out, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Facts:
    """What was gathered; a part that could not be is empty and named in ``unknown``."""

    system: System
    cpu: Cpu
    memory: Memory
    gpus: Gpus
    packages: tuple[Package, ...]
    imports: Imports
    cache: Cache
    rungs: tuple[str, ...]  # those the engine says are here
    unknown: tuple[Unknown, ...] = ()


NO_CPU: Final = Cpu("unknown", 1, 1, None, None, "plain", ("plain",), True)
NO_PACKAGES: Final[tuple[Package, ...]] = ()
NO_GPUS: Final = Gpus(None, None, None, (), None, None, "the GPUs could not be looked at")


def gather() -> Facts:
    """Look at this machine. Creates no CUDA context and changes nothing."""
    unknown: list[Unknown] = []

    def part(what: str, look: Callable[[], T], otherwise: T) -> T:
        try:
            return look()
        except Exception as err:  # doctor reports what it cannot see; it never fails
            unknown.append(Unknown(what, f"{type(err).__name__}: {err}"))
            return otherwise

    directory = default_directory()
    installed = part("packages", lambda: packages(metadata.distributions()), NO_PACKAGES)
    devices = part("GPUs", lambda: gpus(machine.gpu_probe(), os.environ), NO_GPUS)
    no_cache = Cache(str(directory), False, False, False, 0, 0, "its state could not be read")
    return Facts(
        system=system(),
        cpu=part("processor", cpu, NO_CPU),
        memory=part("memory", memory, Memory(0, 0, None)),
        gpus=devices,
        packages=installed,
        imports=part("CuPy", lambda: _imports(devices, installed), NOT_TRIED),
        cache=part("kernel cache", lambda: kernel_cache(directory, os.environ), no_cache),
        rungs=part("rungs", rungs.available, ("core",)),
        unknown=tuple(unknown),
    )


def system() -> System:
    """Versions, and the tools that remedies are written for."""
    ubuntu = which("ubuntu-drivers")
    return System(
        speedcube=__version__,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        kernel=platform.release(),
        installer="pip" if find_spec("pip") or not which("uv") else "uv",
        driver_installer="sudo ubuntu-drivers install" if ubuntu else "",
    )


def _imports(devices: Gpus, installed: tuple[Package, ...]) -> Imports:
    """CuPy tried for the GPUs here; without a GPU, or without CuPy, there is nothing to try."""
    if not devices.visible or not (installed_cupy(installed) or find_spec("cupy")):
        return NOT_TRIED
    kinds = {f"sm_{gpu.compute_capability.replace('.', '')}" for gpu in devices.visible}
    on_linux = sys.platform == "linux"
    return imports(sorted(kinds), on_linux and get(installed, "dask-cuda") is not None)
