"""Commands: which CUDA this environment should have, and the one line that gets it there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .facts import Facts
from .packages import Package, get, installed_cupy

# CUDA 13 dropped GPUs older than Turing.
OLDEST_FOR_13: Final = (7, 5)

_INSTALL: Final = {"pip": "python -m pip install", "uv": "uv pip install"}
_UNINSTALL: Final = {"pip": "python -m pip uninstall -y", "uv": "uv pip uninstall"}


def majors(installed: Iterable[Package]) -> dict[int, list[str]]:
    """The packages of each CUDA major."""
    by_major: dict[int, list[str]] = {}
    for package in installed:
        if package.major is not None:
            by_major.setdefault(package.major, []).append(f"{package.name} {package.version}")
    return dict(sorted(by_major.items()))


def newest_major(facts: Facts) -> int | None:
    """The newest CUDA major that the driver and every GPU can do; None without a GPU."""
    if not facts.gpus.visible or facts.gpus.cuda is None:
        return None
    driver = int(facts.gpus.cuda.split(".")[0])
    old = any(capability(gpu.compute_capability) < OLDEST_FOR_13 for gpu in facts.gpus.visible)
    return min(driver, 12) if old else driver


def capability(text: str) -> tuple[int, ...]:
    """``"9.0"`` as (9, 0)."""
    return tuple(int(part) for part in text.split("."))


def suited_major(facts: Facts) -> int:
    """12 or 13: CuPy's where there is one CuPy that the GPUs can run, else the newest that goes."""
    limit = min(newest_major(facts) or 13, 13)
    cupy = [p.major for p in installed_cupy(facts.packages) if p.major]
    if len(cupy) == 1 and cupy[0] in (12, 13) and cupy[0] <= limit:
        return cupy[0]
    present = [m for m in majors(facts.packages) if m in (12, 13) and m <= limit]
    return max(present, default=max(12, limit))


def extras(facts: Facts, major: int) -> str:
    """The requirement that brings CUDA ``major``, with torch if torch is here."""
    if get(facts.packages, "torch") is None:
        return f"'speedcube[cuda{major}]'"
    return "'speedcube[train-cuda12]'" if major == 12 else f"'speedcube[cuda{major},train]'"


def install(facts: Facts, *what: str) -> str:
    """The command that installs ``what``."""
    return " ".join([_INSTALL[facts.system.installer], *what])


def add_cuda(facts: Facts) -> str:
    """The command that adds what the GPU rungs need."""
    return install(facts, extras(facts, suited_major(facts)))


def remake(facts: Facts) -> str:
    """The command that leaves one CuPy and one CUDA major, whatever is installed now.

    Wheels that differ only in their suffix overwrite each other's files, so uninstalling one harms
    the other: both go, and the one that stays is installed again at its version.
    """
    keep = suited_major(facts)
    foreign = [p for p in facts.packages if p.major not in (None, keep)]
    cupy = installed_cupy(facts.packages)
    stems = {p.stem for p in foreign}
    again = [p for p in facts.packages if p.major == keep and p.stem in stems and not p.is_cupy]
    gone = sorted({p.name for p in (*foreign, *again, *(cupy if len(cupy) > 1 else ()))})
    pins = [f"{p.name}=={p.version}" for p in again]
    installing = install(facts, extras(facts, keep), *pins)
    return f"{_UNINSTALL[facts.system.installer]} {' '.join(gone)} && {installing}"


def reinstall(facts: Facts, *names: str) -> str:
    """The command that installs ``names``, parts of the GPU extras, anew."""
    return f"{_UNINSTALL[facts.system.installer]} {' '.join(names)} && {add_cuda(facts)}"


def losers(facts: Facts) -> tuple[str, ...]:
    """Packages that need a wheel which `remake` takes away and does not bring back.

    That is a wheel with another CUDA's suffix; torch and the unsuffixed come back for this CUDA.
    """
    keep = suited_major(facts)
    lost = [p for p in facts.packages if p.major not in (None, keep) and p.stem != p.name]
    ours = {"speedcube", *(p.name for p in facts.packages if p.cuda or p.is_cupy)}
    return tuple(sorted({name for p in lost for name in p.needed_by} - ours))
