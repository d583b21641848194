"""The machine that figures were taken on, as they name it."""

from __future__ import annotations

import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..__about__ import __version__
from ..engine import machine
from ..kernel.llvm.simd import targets

CPUINFO: Final = Path("/proc/cpuinfo")


def this_machine() -> dict[str, Any]:
    """What a reader needs to know to place the numbers."""
    return {
        "processor": processor(),
        "cores": machine.cores(),
        "simd": targets()[0],
        "gpus": machine.gpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "dask": version("dask"),
        "speedcube": __version__,
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def processor(cpuinfo: Path = CPUINFO) -> str:
    """The processor's name, from ``cpuinfo`` where there is such a file.

    With its family and model: cloud machines of several generations give one name.
    """
    try:
        lines = cpuinfo.read_text().splitlines()
    except OSError:
        lines = []
    pairs = [line.partition(":") for line in lines if ":" in line]
    first = {name.strip(): value.strip() for name, _, value in reversed(pairs)}
    name = first.get("model name") or platform.processor() or platform.machine()
    if "cpu family" not in first or "model" not in first:
        return name
    return f"{name} (family {first['cpu family']}, model {first['model']})"
