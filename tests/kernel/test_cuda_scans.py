"""Running sums and products made by a GPU's kernels have the CPU's bits.

The kernels are built for the host (`cuda_host.py`); which ones are needed the data says. The CPU's
results are compared with exact fractions in `test_scans.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from cuda_host import COMPILER, NVCC, ONE, HostKernels, fake_cupy
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import gpu
from speedcube.engine.known import memory
from speedcube.engine.scans import running
from speedcube.engine.scans.running import unit_of
from speedcube.kernel.cuda.scans.emit import KINDS, emit_scan
from speedcube.kernel.cuda.scans.layout import BLOCK, DeviceScan, Shape, tiles_of

RNG = np.random.default_rng(5)
SPECIAL = (np.inf, 1.0, -np.inf, np.nan, -0.0, 2.0)
HARD: dict[str, list[float]] = {
    "ties": [1.0, 2.0**-53, 2.0**-112, -(2.0**-112), 3.0, -(2.0**-53)],
    "zeros": [0.0, -0.0],
    "subnormals": [5e-324, -5e-324, 1e-310, 2e-308, 3e-323, -2.3e-308],
    "overflowing": [1.7e308, 1.7e308, -1.7e308, 1e292, -1e292, 5e-324],
    "cancelling": [1e16, 1.0, -1e16, 1e-5, 3.0, -3.0],
    "wide": [1e200, 1e-200, -1e200, 3.0, 1e-170, -5e-324],
    "wider than words of one": [2.0**70, 1.0, -(2.0**70), 2.0**-60],
}


def hard(values: list[float], *shape: int) -> np.ndarray:
    return RNG.choice(values, shape)


def rarely(values: tuple[float, ...], *shape: int) -> np.ndarray:
    """Normals, a few of which are special."""
    x = RNG.normal(size=shape)
    places = RNG.integers(0, x.size, len(values))
    x.reshape(-1)[places] = values
    return x


def every_axis(x: Any, *names: str) -> list[sc.Array]:
    x = sc.asarray(x)
    axes = [*range(x.ndim), *([None] if x.ndim > 1 else [])]
    return [getattr(x, name)(axis=axis) for name in names for axis in axes]


def products(x: Any) -> list[sc.Array]:
    return every_axis(x, "prod", "cumprod")


def near_one(*shape: int) -> np.ndarray:
    return 1 + RNG.normal(size=shape) / 30


def sums(x: Any) -> list[sc.Array]:
    return every_axis(x, "cumsum")


CASES: dict[str, Callable[[], list[sc.Array]]] = {
    "a line": lambda: [
        y
        for n in (1, 2, 15, 16, 17, 4095, 4096, 4097, 8192, 13_001)
        for y in sums(RNG.normal(size=n))
    ],
    "short lines": lambda: [
        sc.asarray(RNG.normal(size=(9000 // n, n))).cumsum(axis=1) for n in (1, 3, 8, 50, 700)
    ],
    "long lines": lambda: sums(RNG.normal(size=(3, 5001))),
    "columns": lambda: [
        sc.asarray(RNG.normal(size=shape)).cumsum(axis=0)
        for shape in ((300, 70), (1025, 33), (5000, 3), (5, 700), (2, 1), (1, 9), (40, 512))
    ],
    "many matrices": lambda: sums(RNG.normal(size=(7, 37, 11))),
    **{f"{name}, lines": lambda v=v: sums(hard(v, 5, 1001)) for name, v in HARD.items()},
    **{f"{name}, columns": lambda v=v: sums(hard(v, 130, 35)) for name, v in HARD.items()},
    "special": lambda: [*sums(rarely(SPECIAL, 3, 3000)), *sums(rarely(SPECIAL, 200, 9))],
    "one NaN": lambda: sums(rarely((np.nan,), 9000)),
    "special alone": lambda: sums(hard([np.inf, 0.0], 4, 9)),
    "integers": lambda: [
        y for dtype in ("int32", "bool") for y in sums(RNG.integers(0, 2, (70, 90)).astype(dtype))
    ],
    "wrapping": lambda: sums(RNG.integers(-(2**63), 2**63 - 1, (70, 90))),
    "float32": lambda: [
        *sums(RNG.normal(size=(70, 90)).astype("float32")),
        *sums(hard([1.0, 2.0**-24, 2.0**-60], 300).astype("float32")),
        *sums(rarely(SPECIAL, 300).astype("float32")),
        *sums(np.full(20, 3e38, "float32")),
    ],
    "float16": lambda: sums(RNG.normal(size=(70, 90)).astype("float16")),
    "a dtype": lambda: [
        sc.asarray(RNG.normal(size=700).astype("float32")).cumsum(dtype="float64"),
        sc.asarray(RNG.integers(-9, 9, 700)).cumsum(dtype="float64"),
        sc.asarray(RNG.integers(-9, 9, 700)).cumsum(dtype="int8"),
    ],
    "views": lambda: [
        y
        for x in (sc.asarray(RNG.normal(size=(60, 80))), sc.asarray(RNG.normal(size=(40, 9, 11))))
        for view in (x.T, x[::-1, ::3], x[5:, 1::-1], x[:, 3:70])
        for y in every_axis(view, "cumsum")
    ],
    "broadcast": lambda: sums(np.broadcast_to(RNG.normal(size=(1, 50)), (30, 50))),
    "computed": lambda: [
        *every_axis(sc.asarray(RNG.normal(size=(60, 80))) * 2 + 1, "cumsum"),
        *every_axis(sc.random.default_rng(3).normal(size=(30, 500)), "cumsum"),
        (sc.asarray(RNG.normal(size=900)).cumsum() * 2).cumsum(),
        sc.asarray(RNG.normal(size=(30, 50))).cumsum(axis=1).cumsum(axis=0),
    ],
    "initial": lambda: [
        sc.cumulative_sum(sc.asarray(RNG.normal(size=(60, 80))), axis=axis, include_initial=True)
        for axis in (0, 1)
    ],
    "products of a line": lambda: [
        y
        for n in (1, 2, 3, 8, 15, 17, 1023, 1024, 1025, 4096, 4097, 9000, 70_001)
        for y in products(near_one(n))
    ],
    "products of lines": lambda: [
        y
        for shape in ((3, 5001), (700, 13), (9000, 1), (1, 9000), (2100, 40), (5, 1, 3))
        for y in products(near_one(*shape))
    ],
    "products of columns": lambda: [*products(near_one(5000, 3)), *products(near_one(7, 37, 11))],
    "products of special values": lambda: [
        *products(rarely(SPECIAL, 3, 3000)),
        *products(rarely((0.0, -0.0, 5e-324, 1e-300), 2000, 3)),
        *products(hard([1e200, 1e-200, -1e150], 3000)),
    ],
    "products of integers": lambda: [
        *products(RNG.integers(-9, 9, (300, 40)) | 1),
        *products(RNG.integers(0, 2**63, 3000).astype("uint64") | np.uint64(1)),
    ],
    "products of float32": lambda: products(near_one(2100, 40).astype("float32")),
    "products of views": lambda: [
        y
        for x in (near_one(60, 80), near_one(20, 9, 11))
        for view in (x.T, x[::-1, ::3], x[:, 3:7], np.moveaxis(x, 0, -1))
        for y in products(view)
    ],
    "products over axes": lambda: [
        sc.asarray(near_one(20, 9, 11)).transpose((2, 1, 0)).prod(axis=1),
        sc.asarray(near_one(20, 9, 11)).prod(axis=(0, 2)),
        sc.asarray(near_one(20, 9, 11)).prod(axis=1, keepdims=True),
        (sc.asarray(near_one(20, 9, 11)) * 1.01).prod(axis=(0, 1)),
        (sc.asarray(near_one(2000, 11)) * 1.01).cumprod(axis=0),
        sc.cumulative_prod(sc.asarray(near_one(1500, 3)), axis=0, include_initial=True),
    ],
    "a running product of many pieces": lambda: [
        sc.asarray(1 + RNG.normal(size=1024 * 1030 + 5) / 1000).cumprod()
    ],
    "nothing": lambda: sums(np.empty((3, 0))),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    return HostKernels([], tmp_path_factory.mktemp("scans"))


@pytest.fixture
def host(library: HostKernels, monkeypatch: pytest.MonkeyPatch) -> HostKernels:
    """The GPU engine, its kernels and its memory being the host's."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    monkeypatch.setattr(engine, "SMALL", -1)
    memory._known.clear()
    return library


@pytest.mark.parametrize("name", CASES)
def test_the_cpus_bits(name: str, host: HostKernels) -> None:
    for x in CASES[name]():
        assert_same_bits(x.compute(on=ONE), x.compute(on="core"), x.plan(on="core"))


def test_a_gpu_keeps_no_elements_on_the_host(
    host: HostKernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gpu, "blocks", None)
    x = sc.asarray(RNG.normal(size=(90, 70))).cumsum(axis=0)
    assert_same_bits(x.compute(on=ONE), x.compute(on="core"))


def test_where_memory_is_short_elements_are_taken_block_by_block(
    host: HostKernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise MemoryError

    x = (sc.asarray(RNG.normal(size=(90, 70))) * 2).cumsum(axis=0)
    monkeypatch.setattr(running, "device_elements", refused)
    assert_same_bits(x.compute(on=ONE), x.compute(on="core"))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 3.0, -2.0], 1),
        ([2.0**-60, 1.0], 2),
        ([2.0**-100, 1.0], 2),
        ([2.0**-130, 1.0], 3),
        ([5e-324, 1.7e308], 35),
        ([0.0, np.inf], 1),
    ],
)
def test_words_hold_every_sum(values: list[float], words: int) -> None:
    """The range is what the elements are; sums of 1,000 of them fit."""
    finite = [abs(v) for v in values if np.isfinite(v) and v]
    found = [0, 0, int(not np.isfinite(values).all())]
    for v in finite:
        n, d = v.as_integer_ratio()
        units = n * ((1 << 1074) // d)
        found[0] = max(found[0], int(np.float64(v).view(np.uint64)) >> 52 or 1)
        found[1] = max(found[1], 4096 - ((units & -units).bit_length() - 1))
    got, unit, special = unit_of(found, 1000)
    assert (got, special) == (words, bool(found[2]))
    for v in finite:
        n, d = v.as_integer_ratio()
        units = n * ((1 << 1074) // d)
        assert units % (1 << (unit + 1074)) == 0
        assert 1000 * (units >> (unit + 1074)) < 2 ** (64 * words - 1)


def test_blocks_cover_everything() -> None:
    sizes = (1, 2, 3, 8, 31, 33, 1000, 70_001)
    for outer in sizes:
        for length in sizes:
            for inner in sizes:
                shape = Shape(outer, length, inner)
                tiles = tiles_of(shape, 2)
                if not tiles.side:
                    assert (tiles.blocks - 1) * BLOCK < shape.size <= tiles.blocks * BLOCK
                    continue
                rows = BLOCK // tiles.side
                assert tiles.across * tiles.side >= shape.lines
                assert (tiles.along - 1) * rows < length <= tiles.along * rows


@pytest.mark.skipif(NVCC is None, reason="nvcc is not on PATH")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind in ("range", "columns") else pytest.mark.slow)
        for kind in KINDS
    ],
)
def test_it_compiles_for_a_gpu(kind: str, tmp_path: Any) -> None:
    import subprocess

    options = ["-std=c++17", "-arch=sm_90", "-fmad=false", "-cubin"]
    program = DeviceScan(kind, "float32", "float64", "float32", 2, True, True)
    (tmp_path / "scan.cu").write_text(emit_scan(program))
    done = subprocess.run(
        [NVCC, *options, "-o", "scan.cubin", "scan.cu"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
