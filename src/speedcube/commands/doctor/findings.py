"""What is wrong, slow or worth knowing, judged from the facts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from shlex import quote
from typing import Final

from ...dataclass import dataclass
from ...kernel.llvm.simd import SIMD
from .facts import Facts
from .gpus import DRIVERS_PAGE, INIT_ERRORS, NO_DEVICE, Gpus
from .packages import get, installed_cupy
from .remedies import (
    OLDEST_FOR_13,
    add_cuda,
    capability,
    losers,
    majors,
    newest_major,
    reinstall,
    remake,
    suited_major,
)

BROKEN, WARNING, NOTE = "broken", "warning", "note"


@dataclass(frozen=True)
class Finding:
    """``code`` is for programs and stays; ``command`` is "" where no single command helps."""

    level: str
    code: str
    text: str
    command: str = ""


def findings(facts: Facts) -> tuple[Finding, ...]:
    """All findings, the broken first."""
    unsorted = [finding for check in _CHECKS for finding in check(facts)]
    return tuple(sorted(unsorted, key=lambda f: (BROKEN, WARNING, NOTE).index(f.level)))


def _cpu(facts: Facts) -> Iterator[Finding]:
    if facts.cpu.limited:
        yield Finding(
            NOTE,
            "simd-limited",
            f"{SIMD}={facts.cpu.simd} keeps kernels from better instructions that this CPU has: "
            "the same bits, but slowly",
            f"unset {SIMD}",
        )
    elif not facts.cpu.fma:
        yield Finding(
            WARNING,
            "no-fma",
            "this CPU has no fused multiply-add: it is computed in software. "
            "Everything works, with the same bits, but slowly",
        )
    elif facts.cpu.simd == "plain":
        yield Finding(
            WARNING,
            "no-avx2",
            "this CPU has neither AVX2 nor AVX-512: kernels use the baseline's narrow vectors. "
            "Everything works, with the same bits, but slowly",
        )
    if facts.cpu.cores < facts.cpu.logical:
        yield Finding(
            NOTE,
            "fewer-cores",
            f"{facts.cpu.cores} of {facts.cpu.logical} cores may be used by this process "
            "(affinity or container quota)",
        )


def _memory(facts: Facts) -> Iterator[Finding]:
    limit = facts.memory.limit
    if limit is not None and limit < facts.memory.free:
        yield Finding(
            WARNING,
            "memory-limit",
            f"the container allows {limit / 1e9:.1f} GB, less than the machine's free "
            f"{facts.memory.free / 1e9:.1f} GB that plans go by: large results may end the process",
        )


def _driver(facts: Facts) -> Iterator[Finding]:
    gpus, status = facts.gpus, facts.gpus.init_status
    hidden = gpus.setting is not None and status == NO_DEVICE  # asked for, or a wrong name
    if status is None and gpus.in_machine:
        text = f"this machine has NVIDIA GPUs ({gpus.in_machine}) and no driver ({DRIVERS_PAGE})"
        yield Finding(WARNING, "no-driver", text, facts.system.driver_installer)
    elif status and not hidden and _should_start(gpus):
        why, command = INIT_ERRORS.get(status, ("", ""))
        text = f"the NVIDIA driver does not start (cuInit gives error {status})"
        yield Finding(BROKEN, "driver", text + (why and f": {why}"), command)
    named = [name for name in (gpus.setting or "").split(",") if name.strip() not in ("", "-1")]
    if gpus.in_machine and status in (0, NO_DEVICE) and len(named) > len(gpus.visible):
        yield Finding(
            WARNING,
            "visible-devices",
            f"CUDA_VISIBLE_DEVICES={gpus.setting} names {len(named)} GPUs and "
            f"{_gpus(gpus.visible)} visible: CUDA stops at the first name it does not know",
            "nvidia-smi --list-gpus",
        )


def _should_start(gpus: Gpus) -> bool:
    """Whether a driver that does not start is a fault: containers may hold one without a GPU."""
    if gpus.in_machine is None:
        return gpus.init_status in INIT_ERRORS
    return gpus.in_machine > 0


def _gpus(visible: Sized) -> str:
    return "1 GPU is" if len(visible) == 1 else f"{len(visible)} GPUs are"


def devices(facts: Facts) -> Iterator[Finding]:
    """GPUs that forbid programs, or have little float64."""
    for gpu in facts.gpus.visible:
        if gpu.prohibited:
            yield Finding(
                BROKEN,
                "compute-mode",
                f"gpu:{gpu.number} ({gpu.name}) is visible, but its compute mode forbids programs",
                f"sudo nvidia-smi -i {gpu.number} -c DEFAULT",
            )
        if gpu.float64_ratio >= 16:
            yield Finding(
                NOTE,
                "slow-float64",
                f"gpu:{gpu.number} ({gpu.name}) computes float64 at 1/{gpu.float64_ratio} of its "
                "float32 speed: use dtype='float32' where its precision is enough",
            )


def _mixed(facts: Facts) -> Iterator[Finding]:
    """Two CuPy wheels, or packages of two CUDA majors: one command for both."""
    wheels, by_major = installed_cupy(facts.packages), majors(facts.packages)
    after = losers(facts)
    also = f". Afterwards install again for CUDA {suited_major(facts)}: {', '.join(after)}"
    if len(wheels) > 1:
        names = " and ".join(f"{p.name} {p.version}" for p in wheels)
        text = f"{names} are both installed and have overwritten each other's files"
        yield Finding(BROKEN, "two-cupy", text + (also if after else ""), remake(facts))
    if len(by_major) > 1:
        listed = "; ".join(f"CUDA {m}: {', '.join(names)}" for m, names in by_major.items())
        text = f"wheels of {len(by_major)} CUDA majors are mixed, and may crash when loaded in one"
        yield Finding(
            BROKEN,
            "mixed-cuda",
            f"{text} process. {listed}{also if after else ''}",
            remake(facts),
        )


def cupy(facts: Facts) -> Iterator[Finding]:
    """Why the visible GPUs cannot be used through CuPy: one finding, the most particular."""
    gpus, wheels = facts.gpus.visible, installed_cupy(facts.packages)
    if not gpus:
        return
    if not wheels and "gpu" not in facts.rungs:
        text = f"{_gpus(gpus)} visible, but CuPy is not installed: only the CPU is used"
        yield Finding(WARNING, "no-cupy", text, add_cuda(facts))
        return
    newest, major = newest_major(facts), wheels[0].major if len(wheels) == 1 else None
    old = [gpu for gpu in gpus if capability(gpu.compute_capability) < OLDEST_FOR_13]
    if major and newest and major > newest:
        if old and int((facts.gpus.cuda or "0").split(".")[0]) >= major:
            why = f"gpu:{old[0].number} ({old[0].name}) is too old for CUDA {major}"
        else:
            why = f"the driver runs CUDA {facts.gpus.cuda} at most"
        text = f"{wheels[0].name} needs CUDA {major}, but {why}"
        yield Finding(BROKEN, "cupy-too-new", text, remake(facts))
    elif facts.imports.cupy_problem:
        text = f"CuPy is installed and does not work: {facts.imports.cupy_problem}"
        names = [wheel.name for wheel in wheels] or ["cupy"]
        yield Finding(BROKEN, "cupy-fails", text, reinstall(facts, *names))


def dask_cuda(facts: Facts) -> Iterator[Finding]:
    """Why the installed dask-cuda cannot be used."""
    if facts.imports.dask_cuda_problem:
        text = f"dask-cuda is installed and does not work: {facts.imports.dask_cuda_problem}"
        command = reinstall(facts, "dask-cuda", "rapids-dask-dependency")
        yield Finding(BROKEN, "dask-cuda-fails", text, command)


def _torch(facts: Facts) -> Iterator[Finding]:
    torch = get(facts.packages, "torch")
    if torch is not None and torch.cuda is None and facts.gpus.visible:
        yield Finding(NOTE, "torch-cpu", f"torch {torch.version} is a build without CUDA")


def _cache(facts: Facts) -> Iterator[Finding]:
    cache = facts.cache
    if cache.problem:
        text = (
            f"the kernel cache {cache.directory} is not used ({cache.problem}): "
            "each process compiles its kernels anew"
        )
        command = 'export SPEEDCUBE_CACHE_DIR="$(mktemp -d)"'
        if "(delete it)" in cache.problem:
            command = f"rm -r {quote(cache.directory)}"
        elif cache.named:
            command = "unset SPEEDCUBE_CACHE_DIR"
        yield Finding(BROKEN if cache.named else WARNING, "cache", text, command)


def _unknown(facts: Facts) -> Iterator[Finding]:
    for item in facts.unknown:
        yield Finding(WARNING, "unknown", f"{item.what}: could not be found out ({item.why})")


_CHECKS: Final[tuple[Callable[[Facts], Iterator[Finding]], ...]] = (
    _cpu, _memory, _driver, devices, _mixed, cupy, dask_cuda, _torch, _cache, _unknown,
)  # fmt: skip
