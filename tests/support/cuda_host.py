"""The GPU engine played by the host: kernels in one C++ file, CuPy's arrays in host memory.

Every kernel is put after `cuda_shim.h`, where the threads of a block are fibers. The GPU engine
itself (slices, pieces, records, merging, two devices) then drives them: only CuPy is replaced.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import threading
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar

import numpy as np

import speedcube as sc
from speedcube.engine.compute import plan_for
from speedcube.engine.prepare import prepare, prepare_many, prepare_together
from speedcube.engine.rungs import Rung
from speedcube.engine.scans.matrices import ordered
from speedcube.expr.nodes import Reduced
from speedcube.kernel.cuda import compile
from speedcube.kernel.cuda.prelude import THREADS
from speedcube.kernel.cuda.scans.layout import DeviceScan
from speedcube.kernel.program import Program
from speedcube.plan.passes import Pass
from speedcube.plan.stages import Part, Stage

SHIM = Path(__file__).with_name("cuda_shim.h")
COMPILER = shutil.which("g++") or shutil.which("clang++")
NVCC = shutil.which("nvcc")
RESIDENT = 5  # thread blocks in a grid: fewer than units, so that blocks take several

ONE = Rung("gpu", "gpu", 1, "a GPU played by the host", (0,))
THREE = Rung("gpus", "gpus", 3, "GPUs played by the host", (0, 1, 2))


@cache
def source(program: Program | DeviceScan) -> str:
    """The CUDA C of one kernel."""
    return compile.source(program)


def texts(array: sc.Array, rung: Rung) -> list[str]:
    """The CUDA C of every kernel of ``array`` on ``rung``."""
    plan, _ = plan_for(array._expr, rung, None, False)
    own = [
        source(program)
        for stage in plan.stages
        for whole in (stage, *stage.totals)
        for part in whole.parts
        for program in programs(whole, part)
    ]
    return own + [text for one in plan.passes for text in finished_together(one)]


def finished_together(one: Pass) -> list[str]:
    """The CUDA C of the kernels that finish several reductions of a pass."""
    if one.together is None or any(stage.source is None for stage in one.stages):
        return []
    made = [prepare_together(one, part, True) for part in one.visited.parts]
    return [source(prepared[0].program) for prepared in made if prepared is not None]


def programs(stage: Stage, part: Part) -> list[Program]:
    """The kernels of ``part``: one that makes records, or elements; one that finishes results."""
    prepared = [prepare(stage, _as_it_runs(stage, part), None)]
    if isinstance(stage.source, Reduced) and stage.join != "merge":
        prepared += [p for p in [prepare_many(stage, part, gpu=True)] if p is not None]
    return [p.program for p in prepared]


def _as_it_runs(stage: Stage, part: Part) -> Part:
    """``part``, of a scan with its lines last, so that its elements come line after line."""
    if not stage.is_scan:
        return part
    assert stage.source is not None
    return ordered(part, stage.source.axes, ()).part


def namespaces(sources: list[str]) -> str:
    """Kernels ``kernel0``, ``kernel1`` ... in one file."""
    return "\n".join(
        f"#define kernel kernel{k}\nnamespace n{k} {{\n{text}}}\n#undef kernel"
        for k, text in enumerate(sources)
    )


@dataclass(frozen=True)
class Pointer:
    """Where an array lies on the device, which is kept for as long."""

    ptr: int
    of: Any

    def __add__(self, count: int) -> Pointer:
        return Pointer(self.ptr + count, self.of)


class DeviceArray(np.ndarray):
    """What the engine uses of ``cupy.ndarray``."""

    def __new__(
        cls, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None
    ) -> DeviceArray:
        size = (1 + sum(s * (n - 1) for n, s in zip(shape, strides, strict=True))) if strides else 0
        memory = (ctypes.c_char * (size + 64)).from_address(memptr.ptr)
        made = super().__new__(cls, shape, dtype, memory, 0, strides)
        made.owner = memptr.of  # type: ignore[attr-defined]
        return made

    base = None  # as of CuPy's that own their memory

    @property
    def data(self) -> Any:  # type: ignore[override]
        return Pointer(self.ctypes.data, self)

    __cuda_array_interface__: ClassVar[dict[str, Any]] = {}
    device: ClassVar[Any] = SimpleNamespace(id=0)

    def get(self) -> np.ndarray:
        return np.array(self)

    def set(self, array: np.ndarray) -> None:
        assert array.shape == self.shape
        self[...] = array


class PinnedMemory(np.ndarray):
    """Host memory that a device reaches, too."""

    @property
    def ptr(self) -> int:
        return self.ctypes.data


def pinned_memory(size: int) -> PinnedMemory:
    return np.full(size, 0x5A, np.uint8).view(PinnedMemory)


_FUNCTIONS: list[tuple[Any, int]] = []  # of kernels, with how many arguments each takes


def _launch(number: int, *rest: int) -> None:
    """``cuLaunchKernel``: the grid, the block, shared memory, a stream, where arguments lie."""
    *grid, _, _, _, shared, _, pointers, extra = rest
    assert grid[1:] == [1, 1]
    assert not shared
    assert not extra
    function, count = _FUNCTIONS[number]
    each = (ctypes.POINTER(ctypes.c_uint64) * count).from_address(pointers)
    function((grid[0],), (rest[3],), tuple(one[0] for one in each))


class Ordered:
    """A stream or an event of a device that does everything at once."""

    ptr = 0

    def __init__(self, **options: bool) -> None:
        pass

    def synchronize(self) -> None:
        """All is done."""

    def wait_event(self, event: Ordered) -> None:
        """It is behind that."""

    def record(self, stream: Ordered) -> None:
        """It happened."""


def _moved(values: Any) -> DeviceArray:
    """As CuPy moves them: what has no axes it fills with a number, which makes 0.0 of -0.0."""
    moved = np.array(values)
    if not moved.ndim and moved == 0:
        moved = np.zeros_like(moved)
    return moved.view(DeviceArray)


def fake_cupy() -> ModuleType:
    """CuPy, its device memory being the host's."""
    cupy = ModuleType("cupy")
    cupy.ndarray = DeviceArray  # type: ignore[attr-defined]
    cupy.asarray = _moved  # type: ignore[attr-defined]
    cupy.zeros = lambda shape, dtype: np.zeros(shape, dtype).view(DeviceArray)  # type: ignore[attr-defined]
    cupy.empty = lambda shape, dtype: (  # type: ignore[attr-defined]
        np.full(shape, 0x5A, dtype).view(DeviceArray)
    )
    cupy.arange = lambda *a, dtype: np.arange(*a, dtype=dtype).view(DeviceArray)  # type: ignore[attr-defined]
    cupy.take_along_axis = np.take_along_axis  # type: ignore[attr-defined]
    cupy.get_default_memory_pool = lambda: SimpleNamespace(free_bytes=lambda: 0)  # type: ignore[attr-defined]
    stream = Ordered()
    runtime = SimpleNamespace(
        memsetAsync=lambda to, value, size, _: ctypes.memset(to, value, size),
        memcpyAsync=lambda to, from_, size, kind, _: ctypes.memmove(to, from_, size),
        memcpyDeviceToHost=2,
        memcpyDeviceToDevice=3,
        streamSynchronize=lambda _: None,
        free=lambda _: None,
        getDevice=lambda: 0,
        setDevice=lambda _: None,
        memGetInfo=lambda: (1 << 40, 1 << 40),
        pointerGetAttributes=lambda _: SimpleNamespace(type=0),
    )
    cupy.cuda = SimpleNamespace(  # type: ignore[attr-defined]
        Device=lambda _: nullcontext(),
        get_current_stream=lambda: stream,
        Stream=Ordered,
        Event=Ordered,
        runtime=runtime,
        alloc_pinned_memory=pinned_memory,
        driver=SimpleNamespace(launchKernel=_launch),
    )
    return cupy


ARGUMENTS = re.compile(r'extern "C" __global__ .*? kernel\((.*)\) \{')


def entry(k: int, text: str) -> str:
    """``run<k>(blocks, words)``: kernel k with its arguments from ``words``."""
    arguments = ARGUMENTS.search(text)
    assert arguments is not None
    types = [argument.rsplit(maxsplit=1) for argument in arguments[1].split(", ")]
    words = [
        f"({kind}{' *' * name.startswith('*')})words[{i}]" for i, (kind, name) in enumerate(types)
    ]
    return (
        f"static void call{k}(const u64 *words) {{ n{k}::kernel{k}({', '.join(words)}); }}\n"
        f'extern "C" int run{k}(unsigned blocks, const u64 *words) '
        f"{{ return run_grid(call{k}, blocks, words); }}"
    )


class HostKernels:
    """Kernels by their text, built together; calls take turns, for shared memory is static."""

    def __init__(self, sources: list[str], where: Path) -> None:
        self.where, self.lock, self.launches = where, threading.Lock(), 0
        self.runs: dict[str, Any] = {}
        if sources:
            self.build(sources)

    def build(self, sources: list[str]) -> None:
        """Kernels more."""
        assert COMPILER is not None
        name = f"all{len(self.runs)}"
        lines = [
            f"#define THREADS {THREADS}",
            f'#include "{SHIM}"',
            namespaces(sources),
            *(entry(k, text) for k, text in enumerate(sources)),
        ]
        (self.where / f"{name}.cpp").write_text("\n".join(lines))
        options = ["-std=c++17", "-O1", "-w", "-ffp-contract=off", "-fPIC", "-shared"]
        done = subprocess.run(
            [COMPILER, *options, "-o", f"{name}.so", f"{name}.cpp"],
            cwd=self.where,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr
        library = ctypes.CDLL(str(self.where / f"{name}.so"))
        self.runs |= {text: getattr(library, f"run{k}") for k, text in enumerate(sources)}

    def kernel(self, program: Any, device: int) -> tuple[Any, int]:
        """What `gpu.gpu_kernel` gives."""
        text = source(program)
        with self.lock:
            if text not in self.runs:
                self.build([text])  # which scans need depends on the data
        run = self.runs[text]
        arguments = ARGUMENTS.search(text)
        assert arguments is not None

        def function(grid: tuple[int], block: tuple[int], args: tuple[Any, ...]) -> None:
            assert block == (THREADS,)
            words = [a.ctypes.data if isinstance(a, np.ndarray) else int(a) for a in args]
            with self.lock:
                self.launches += 1
                diverged = run(ctypes.c_uint(grid[0]), (ctypes.c_uint64 * len(words))(*words))
            assert not diverged, "some threads of a block missed a barrier"

        function.ptr = len(_FUNCTIONS)  # type: ignore[attr-defined]
        _FUNCTIONS.append((function, arguments[1].count(",") + 1))
        return SimpleNamespace(function=function), RESIDENT
