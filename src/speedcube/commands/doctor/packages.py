"""Installed packages, read from their metadata: which were built for which CUDA.

Nothing is imported: importing two mixed CUDA builds is what crashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from importlib.metadata import Distribution
from typing import Final

from ...dataclass import dataclass

# Said to be missing where they are, in the order of the table.
LISTED: Final = (
    "numpy", "dask", "distributed", "llvmlite", "cupy", "dask-cuda", "torch",
    "matplotlib", "bokeh", "zarr",
)  # fmt: skip

_SUFFIX: Final = re.compile(r"-cu(\d\d)\Z|cuda(\d\d)(?:x|\d)?(?:-\w+)?\Z")
_LOCAL: Final = re.compile(r"\+cu(\d\d)(\d)")
_TORCH_CUDA: Final = re.compile(r"^cuda\b[^=\n]*=\s*['\"](\d+)\.(\d+)", re.MULTILINE)
# Since CUDA 13 NVIDIA's wheels have no suffix. These have the toolkit's version; the others have
# the library's (nvidia-cusparse 12.x belongs to CUDA 13), so nothing can be read from it.
_TOOLKIT_VERSIONED: Final = frozenset(
    {
        "cuda-bindings", "cuda-python", "cuda-toolkit", "nvidia-cublas", "nvidia-cuda-cccl",
        "nvidia-cuda-crt", "nvidia-cuda-cupti", "nvidia-cuda-nvcc", "nvidia-cuda-nvrtc",
        "nvidia-cuda-runtime", "nvidia-nvjitlink", "nvidia-nvvm",
    }
)  # fmt: skip
_CUPY: Final = re.compile(r"cupy(?:-cuda\d+x?|-rocm[-\d]*)?\Z")


@dataclass(frozen=True)
class Package:
    """An installed package; ``cuda`` is "13" or "13.0" where it was built for one CUDA.

    ``needed_by`` is kept for those packages only.
    """

    name: str
    version: str
    cuda: str | None
    needed_by: tuple[str, ...] = ()

    @property
    def major(self) -> int | None:
        """The CUDA major this package brings along; dask-cuda is plain Python and brings none."""
        return int(self.cuda.split(".")[0]) if self.cuda and self.name != "dask-cuda" else None

    @property
    def stem(self) -> str:
        """The name without its CUDA: packages of one stem may overwrite each other's files."""
        return _SUFFIX.sub("", self.name).rstrip("-")

    @property
    def is_cupy(self) -> bool:
        return _CUPY.match(self.name) is not None


def normal(name: str) -> str:
    """A package name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def packages(installed: Iterable[Distribution]) -> tuple[Package, ...]:
    """The packages doctor cares for among ``installed``, listed ones first, then CUDA wheels."""
    by_name: dict[str, Package] = {}
    needs: dict[str, list[str]] = {}
    for distribution in installed:
        name = normal(distribution.metadata["Name"] or "")
        if not name or name in by_name:  # an earlier entry of sys.path hides a later one
            continue
        by_name[name] = Package(name, distribution.version, _cuda_of(name, distribution))
        for line in distribution.requires or ():
            if "extra ==" not in line:
                match = re.match(r"[A-Za-z0-9._-]+", line)
                needs.setdefault(normal(match[0]) if match else "", []).append(name)
    bindings = by_name.get("cuda-bindings")
    if "dask-cuda" in by_name and bindings is not None:
        by_name["dask-cuda"] = replace(by_name["dask-cuda"], cuda=bindings.cuda)
    relevant = [p for p in by_name.values() if p.name in LISTED or p.is_cupy or p.cuda]
    return tuple(
        replace(
            package, needed_by=tuple(sorted(needs.get(package.name, ()) if package.cuda else ()))
        )
        for package in sorted(relevant, key=_order)
    )


def _order(package: Package) -> tuple[int, str]:
    name = "cupy" if package.is_cupy else package.name
    return (LISTED.index(name) if name in LISTED else len(LISTED), package.name)


def _cuda_of(name: str, distribution: Distribution) -> str | None:
    """The CUDA that a package was built for, where its name, version or torch's own file says."""
    version = distribution.version
    if version.startswith("0.0."):  # NVIDIA's empty placeholders for deprecated names
        return None
    if name == "torch":
        return _torch_cuda(distribution, version)
    match = _SUFFIX.search(name)
    if match:
        return match[1] or match[2]
    return version.split(".")[0] if name in _TOOLKIT_VERSIONED else None


def _torch_cuda(distribution: Distribution, version: str) -> str | None:
    """PyPI's torch says its CUDA in torch/version.py only; other indexes' also as +cu130."""
    try:
        text = distribution.locate_file("torch/version.py").read_text()
    except (OSError, UnicodeDecodeError, AttributeError):
        text = ""
    match = _TORCH_CUDA.search(text) or _LOCAL.search(version)
    return f"{match[1]}.{match[2]}" if match else None


def installed_cupy(installed: Iterable[Package]) -> tuple[Package, ...]:
    """The CuPy wheels: more than one is a fault."""
    return tuple(package for package in installed if package.is_cupy)


def get(installed: Iterable[Package], name: str) -> Package | None:
    """The package called ``name``."""
    return next((package for package in installed if package.name == name), None)
