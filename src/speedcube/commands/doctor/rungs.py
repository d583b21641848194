"""Which rungs exist here; for each that does not, why, and the command that would add it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from ...dataclass import dataclass
from .facts import Facts
from .findings import BROKEN, Finding, cupy, dask_cuda, devices
from .gpus import INIT_ERRORS
from .packages import get
from .remedies import add_cuda


@dataclass(frozen=True)
class RungState:
    """A rung of this machine, or one it lacks: ``command`` is "" where none would add it."""

    rung: str
    available: bool
    workers: int
    reason: str = ""
    command: str = ""


Lack = tuple[str, str] | None  # (why, the command that would add it)


def rung_states(facts: Facts) -> tuple[RungState, ...]:
    """Every named rung, slowest first."""
    states = []
    for name, lacks in _LACKS.items():
        lack = lacks(facts)
        if lack is None:
            states.append(RungState(name, True, _workers(facts, name)))
        else:
            states.append(RungState(name, False, 0, *lack))
    return tuple(states)


def _workers(facts: Facts, name: str) -> int:
    gpus = len(facts.gpus.visible)
    return {"cores": facts.cpu.cores, "gpus": gpus, "cuda-cluster": gpus}.get(name, 1)


def _no_cores(facts: Facts) -> Lack:
    cpu = facts.cpu
    if "cores" in facts.rungs:
        return None
    if cpu.logical == 1:
        return "this machine has one core", ""
    if cpu.affinity == 1:
        every = f"taskset --cpu-list 0-{cpu.logical - 1} speedcube ladder"
        return f"this process is bound to one of {cpu.logical} cores", every
    return f"the container's quota allows one of {cpu.logical} cores", ""


def _first(findings: Iterable[Finding]) -> Lack:
    return next(((finding.text, finding.command) for finding in findings), None)


def _no_gpu(facts: Facts) -> Lack:
    if not facts.gpus.visible:
        none = "; no NVIDIA GPU is in this machine" if facts.gpus.in_machine == 0 else ""
        return f"no GPU is visible: {facts.gpus.problem}{none}", _driver_command(facts)
    if all(gpu.prohibited for gpu in facts.gpus.visible):
        return _first(finding for finding in devices(facts) if finding.level == BROKEN)
    return _first(cupy(facts))


def _driver_command(facts: Facts) -> str:
    """What would make a GPU visible; "" where nothing known would."""
    gpus = facts.gpus
    if gpus.in_machine == 0:
        return ""
    if gpus.init_status in INIT_ERRORS:
        return INIT_ERRORS[gpus.init_status][1]
    if gpus.init_status is None:
        return facts.system.driver_installer if gpus.in_machine else ""
    return "" if gpus.setting is None else "unset CUDA_VISIBLE_DEVICES"


def _no_gpus(facts: Facts) -> Lack:
    lack = _no_gpu(facts)
    if lack is not None or len(facts.gpus.visible) > 1:
        return lack
    if (facts.gpus.in_machine or 1) > 1 and facts.gpus.setting is not None:
        shown = f"CUDA_VISIBLE_DEVICES={facts.gpus.setting} shows one GPU"
        return f"{shown} of {facts.gpus.in_machine}", "unset CUDA_VISIBLE_DEVICES"
    return "it needs two GPUs, and one is visible", ""


def _no_cuda_cluster(facts: Facts) -> Lack:
    lack = _no_gpu(facts)
    if lack is not None:
        return lack
    if not facts.system.platform.startswith("Linux"):
        return "dask-cuda exists for Linux only", ""
    if get(facts.packages, "dask-cuda") is None:
        return "dask-cuda is not installed", add_cuda(facts)
    return _first(dask_cuda(facts))


_LACKS: Final[dict[str, Callable[[Facts], Lack]]] = {
    "core": lambda facts: None,
    "cores": _no_cores,
    "gpu": _no_gpu,
    "gpus": _no_gpus,
    "cuda-cluster": _no_cuda_cluster,
}
