"""The host: processor, memory, and the kernel cache's directory. Nothing is created or changed."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import psutil

from ...dataclass import dataclass
from ...engine import machine
from ...kernel.cache import KernelCache
from ...kernel.llvm import simd
from ..this_machine import processor

CGROUP: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Cpu:
    """The processor; ``cores`` is what this process may use, threads of a core counted."""

    name: str
    cores: int
    logical: int
    physical: int | None
    affinity: int | None  # CPUs this process is bound to; None where the system has no such thing
    simd: str  # the best kernel target
    targets: tuple[str, ...]
    fma: bool
    limited: bool = False  # to fewer targets than it can run, by SPEEDCUBE_SIMD


@dataclass(frozen=True)
class Memory:
    """Host memory in bytes; ``limit`` is the container's, None without one."""

    total: int
    free: int
    limit: int | None


@dataclass(frozen=True)
class Cache:
    """The kernel cache: ``named`` by SPEEDCUBE_CACHE_DIR or not, and why it is not used, if so."""

    directory: str
    named: bool
    exists: bool
    writable: bool
    entries: int
    bytes: int
    problem: str


def cpu() -> Cpu:
    """The processor of this machine."""
    bound = getattr(os, "sched_getaffinity", None)
    return Cpu(
        name=processor(),
        cores=machine.cores(),
        logical=os.cpu_count() or 1,
        physical=psutil.cpu_count(logical=False),
        affinity=len(bound(0)) if bound else None,
        simd=simd.targets()[0],
        targets=simd.targets(),
        fma=simd.has_fma(),
        limited=simd.targets() != simd.runnable(),
    )


def memory(cgroup: Path = CGROUP) -> Memory:
    """The memory of this machine, and of the container (cgroup 2 or 1) this process is in."""
    limits = []
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        try:
            limits.append(int((cgroup / name).read_text()))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    total = int(psutil.virtual_memory().total)
    # Without a limit cgroup 1 says a number near 2**63: only less than the machine has counts.
    limit = min((size for size in limits if size < total), default=None)
    return Memory(total, machine.free_memory(), limit)


def kernel_cache(directory: Path, environ: Mapping[str, str]) -> Cache:
    """The state of the kernel cache in ``directory``, which need not exist yet."""
    named = bool(environ.get("SPEEDCUBE_CACHE_DIR"))
    if not os.path.lexists(directory):
        problem = _cannot_create(directory)
        return Cache(str(directory), named, False, not problem, 0, 0, problem)
    problem = _cannot_use(directory)
    sizes = []
    try:
        sizes = [entry.stat().st_size for entry in directory.glob("*.kernel")]
    except OSError as err:
        problem = problem or err.strerror or str(err)
    return Cache(str(directory), named, True, not problem, len(sizes), sum(sizes), problem)


def _cannot_create(directory: Path) -> str:
    """Why ``directory`` could not be made, or nothing."""
    parent = next(p for p in directory.absolute().parents if os.path.lexists(p))
    if not parent.is_dir():
        return f"{parent} is not a directory"
    return "" if os.access(parent, os.W_OK | os.X_OK) else f"{parent} cannot be written"


def _cannot_use(directory: Path) -> str:
    """Why the cache's own checks, or a write, refuse an existing ``directory``, or nothing."""
    if not directory.is_dir():
        return "it is not a directory"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = KernelCache(directory).problem
    if problem:
        return problem
    try:
        # Permissions alone miss a full or read-only disk.
        with tempfile.TemporaryFile(dir=directory) as file:
            file.write(b"speedcube")
    except OSError as err:
        return err.strerror or str(err)
    return ""
