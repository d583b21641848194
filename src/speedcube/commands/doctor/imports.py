"""Whether CuPy compiles a kernel and dask-cuda imports here, tried in a process of its own.

A broken CUDA installation can crash or hang the process that imports it, so doctor's does not.
The child compiles with NVRTC, which needs no GPU, and makes no CUDA context.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence

from ...dataclass import dataclass
from ...kernel.cuda.compile import compile_cubin

LIMIT = 60  # seconds

_KERNEL = 'extern "C" __global__ void kernel(double *out) { out[threadIdx.x] = 1.0; }'


@dataclass(frozen=True)
class Imports:
    """CUDA versions that CuPy uses; a problem is "" where all is well or nothing was tried."""

    tried: bool
    runtime: str | None
    nvrtc: str | None
    cupy_problem: str
    dask_cuda_problem: str


NOT_TRIED = Imports(False, None, None, "", "")


def imports(architectures: Sequence[str], dask_cuda: bool, limit: float = LIMIT) -> Imports:
    """Try CuPy on ``architectures`` (``sm_90``), and dask-cuda too if asked to."""
    command = [sys.executable, "-P", "-m", __name__, ",".join(architectures), str(int(dask_cuda))]
    # The child finds what this process finds, however that came about.
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    try:
        child = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, env=environ, check=False
        )
    except subprocess.TimeoutExpired:
        return _failed(f"importing CuPy took more than {limit:g} s")
    except OSError as err:
        return _failed(f"a Python process to try CuPy in could not be started: {err}")
    lines = child.stdout.strip().splitlines()
    try:
        return Imports(**json.loads(lines[-1]))
    except (IndexError, ValueError, TypeError):
        last = (child.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return _failed(f"importing CuPy ended Python (exit status {child.returncode}): {last}")


def _failed(problem: str) -> Imports:
    return Imports(True, None, None, problem, "")


def _dotted(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


def _problem(attempt: Callable[[], None]) -> str:
    """Nothing, or the first line of what ``attempt`` raised."""
    try:
        attempt()
    except BaseException as err:  # a report is wanted of whatever an import may raise
        lines = str(err).strip().splitlines()
        return f"{type(err).__name__}: {lines[0] if lines else 'no message'}"[:500]
    return ""


def main(architectures: str, dask_cuda: str) -> None:
    """The child: print `Imports` as JSON."""
    versions: dict[str, str] = {}

    def try_cupy() -> None:
        import cupy
        from cupy_backends.cuda.libs import nvrtc

        versions["runtime"] = _dotted(int(cupy.cuda.runtime.runtimeGetVersion()))
        versions["nvrtc"] = ".".join(map(str, nvrtc.getVersion()))
        for architecture in filter(None, architectures.split(",")):
            compile_cubin(_KERNEL, architecture)

    def try_dask_cuda() -> None:
        import dask_cuda  # noqa: F401

    outcome = {
        "tried": True,
        "cupy_problem": _problem(try_cupy),
        "dask_cuda_problem": _problem(try_dask_cuda) if dask_cuda == "1" else "",
        "runtime": versions.get("runtime"),
        "nvrtc": versions.get("nvrtc"),
    }
    print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:3])
