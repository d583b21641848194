"""What a worker is asked about itself: two functions that travel by value.

A worker may lack the package or have another version of it, so both import what they need where
they run, and answer in types that every version knows.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Final

# Whose versions are compared. The first four have to be the same on both ends of a connection.
SPOKEN: Final = ("dask", "distributed", "cloudpickle", "msgpack")
COMPARED: Final = (*SPOKEN, "numpy", "llvmlite", "torch", "safetensors", "cupy", "zarr")


def about(names: tuple[str, ...] = COMPARED) -> Callable[..., Coroutine[Any, Any, dict[str, Any]]]:
    """The question to a worker; ``names`` are the packages whose versions it tells."""

    async def facts(dask_worker: Any = None) -> dict[str, Any]:
        import asyncio

        def version(name: str) -> str:
            from importlib import metadata

            for found in (name, f"{name}-cuda12x", f"{name}-cuda13x"):
                try:
                    return metadata.version(found)
                except metadata.PackageNotFoundError:
                    continue
            return ""

        def said() -> list[str]:
            from importlib import import_module

            try:
                module = import_module("speedcube.engine.clusters.fingerprint")
            except ModuleNotFoundError:
                return [version("speedcube")]
            return list(module.said(True))

        def simd() -> str:
            from importlib import import_module

            try:
                return str(import_module("speedcube.kernel.llvm.simd").targets()[0])
            except Exception:
                return "unknown"

        def gpus() -> list[str]:
            import ctypes

            count, name = ctypes.c_int(0), ctypes.create_string_buffer(100)
            try:
                driver = ctypes.CDLL("libcuda.so.1")
            except OSError:
                return []
            if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
                return []
            names = []
            for number in range(count.value):
                driver.cuDeviceGetName(name, 100, number)
                names.append(name.value.decode("utf-8", "replace"))
            return names

        def look() -> dict[str, Any]:
            import os
            import platform
            import socket

            affinity = getattr(os, "sched_getaffinity", None)
            memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
            manager = getattr(dask_worker, "memory_manager", None)
            return {
                "host": socket.gethostname(),
                "pid": os.getpid(),
                "user": os.getuid() if hasattr(os, "getuid") else -1,
                "python": platform.python_version(),
                "platform": f"{platform.system()} {platform.machine()}",
                "packages": {name: version(name) for name in names},
                "said": said(),
                "simd": simd(),
                "cores": len(affinity(0)) if affinity else os.cpu_count() or 1,
                "threads": int(getattr(getattr(dask_worker, "state", None), "nthreads", 1)),
                "memory": memory,
                "memory_limit": getattr(manager, "memory_limit", None),
                "gpus": gpus(),
            }

        return await asyncio.to_thread(look)  # a worker goes on while it looks

    return facts


def clock() -> Callable[[], float]:
    """The question what time it is there."""

    def now() -> float:
        import time

        return time.time()

    return now


def file_digests() -> Callable[[], dict[str, str]]:
    """The question for the hashes of the package's files."""

    def digests() -> dict[str, str]:
        from importlib import import_module

        return dict(import_module("speedcube.engine.clusters.fingerprint").source_digests())

    return digests
