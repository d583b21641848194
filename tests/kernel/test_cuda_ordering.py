"""What a GPU sorts, selects, counts and weighs, played by the host: the CPU's bits.

The kernels' CUDA text is compiled for the host (`cuda_host.py`); the GPU's engine drives them.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from cuda_host import COMPILER, NVCC, ONE, THREE, DeviceArray, HostKernels, fake_cupy, namespaces
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import gpu
from speedcube.engine.compute import plan_for
from speedcube.engine.ordering import selecting as on_host
from speedcube.engine.ordering.on_gpu import distinct, run, selecting, sweeps, weighing
from speedcube.kernel.cuda.compile import OPTIONS

SIZE: Final = 30_000
_RNG = np.random.default_rng(9)
_NORMALS = _RNG.normal(size=SIZE)
_WILD = _NORMALS * 10.0 ** _RNG.integers(-300, 300, SIZE)
_NUMBERS = _RNG.integers(0, 700, SIZE)
_WIDE = _RNG.integers(-(2**62), 2**62, SIZE)
_GAPS = np.where(_RNG.random(SIZE) < 0.01, np.nan, _NORMALS)
_GAPS[7] = -np.nan
_ZEROS = np.where(_RNG.random(SIZE) < 0.5, 0.0, -0.0)
_SPECIAL = np.where(_RNG.random(SIZE) < 1e-3, np.inf, _NORMALS)
_SPECIAL[[5, 99]] = np.nan, -np.inf


def _rng() -> Any:
    return sc.random.default_rng(2026)


def _drawn() -> Any:
    return (_rng().normal(10, 1, size=(60, 2001)) + 1)[::2, ::2]


def _on_device(x: Any) -> Any:
    return sc.asarray(x.view(DeviceArray))


def _three(x: Any) -> Any:
    return sc.quantile(x, [0.1, 0.5, 0.9])


PROGRAMS: Final[dict[str, Callable[[Any], Any]]] = {
    # selected
    "median of normals that are drawn": lambda here: sc.median(_drawn()),
    "three quantiles of them": lambda here: _three(_drawn()),
    "median of what lies there": lambda here: sc.median(here(_NORMALS)),
    "of every second": lambda here: sc.median(here(_NORMALS)[::2]),
    "of what is computed from it": lambda here: sc.median(here(_NORMALS) * 2 + 1),
    "float32": lambda here: _three(here(_NORMALS.astype("f4"))),
    "integers": lambda here: _three(here(_NUMBERS)),
    "uint32": lambda here: sc.quantile(here(_NUMBERS.astype("u4") << 22), 0.9, method="lower"),
    "wide integers": lambda here: sc.topk(here(_WIDE), 3),
    "magnitudes": lambda here: _three(here(_WILD)),
    "sorted": lambda here: _three(sc.asarray(np.sort(_NORMALS)) * 1),
    "all equal": lambda here: _three(here(np.full(SIZE, 3.5))),
    "NaN": lambda here: sc.nanquantile(sc.asarray(_GAPS), 0.3),
    "a NaN makes NaN": lambda here: sc.median(here(_GAPS)),
    "zeros of both signs": lambda here: sc.quantile(here(_ZEROS), 0.5, method="lower"),
    "negative zeros": lambda here: sc.quantile(here(np.full(SIZE, -0.0)), 0.5, method="lower"),
    "seven quantiles": lambda here: sc.quantile(_drawn(), np.linspace(0, 1, 7)),
    "float16, which the host selects": lambda here: sc.median(here(_NORMALS.astype("f2"))),
    # counted
    "histogram": lambda here: sc.histogram(_drawn(), 50, (6, 16))[0],
    "histogram of what lies there": lambda here: sc.histogram(sc.asarray(_NORMALS), 100)[0],
    "uneven": lambda here: sc.histogram(sc.asarray(_NORMALS), np.linspace(-2, 2, 20) ** 3)[0],
    "two dimensions": lambda here: sc.histogram2d(
        sc.asarray(_NORMALS), sc.asarray(_WILD), 7, ((-3, 3), (-1, 1))
    )[0],
    "bincount": lambda here: sc.bincount(sc.asarray(_NUMBERS.astype("i4"))),
    "bincount of bytes": lambda here: sc.bincount(sc.asarray((_NUMBERS % 250).astype("u1"))),
    "bincount, many": lambda here: sc.bincount(sc.asarray(_NUMBERS * 40)),
    # weighed
    "weights": lambda here: sc.bincount(sc.asarray(_NUMBERS), sc.asarray(_NORMALS)),
    "wild weights": lambda here: sc.bincount(sc.asarray(_NUMBERS), sc.asarray(_WILD)),
    "float32 weights": lambda here: sc.bincount(
        sc.asarray(_NUMBERS), sc.asarray(_NORMALS.astype("f4"))
    ),
    "whole weights": lambda here: sc.bincount(sc.asarray(_NUMBERS), sc.asarray(_NUMBERS)),
    "weights of nothing": lambda here: sc.bincount(sc.asarray(_NUMBERS), sc.asarray(_ZEROS)),
    "special weights": lambda here: sc.bincount(sc.asarray(_NUMBERS), sc.asarray(_SPECIAL)),
    "subnormal weights": lambda here: sc.bincount(
        sc.asarray(_NUMBERS), sc.asarray(_NORMALS * 1e-310)
    ),
    "great weights": lambda here: sc.bincount(
        sc.asarray(_NUMBERS % 3), sc.asarray(_NORMALS * 1e307)
    ),
    "weighted histogram": lambda here: sc.histogram(_drawn(), 20, (6, 16), weights=_drawn() * 0.1)[
        0
    ],
    "drawn weights": lambda here: sc.bincount(
        _rng().integers(0, 50, size=9000), _rng().normal(size=9000)
    ),
    # sorted
    "sort": lambda here: sc.sort(here(_NORMALS)),
    "sort of what is drawn": lambda here: sc.sort(_drawn(), axis=None),
    "rows": lambda here: sc.sort(_drawn(), axis=1),
    "columns": lambda here: sc.sort(_drawn(), axis=0),
    "sort, NaN": lambda here: sc.sort(here(_GAPS)),
    "sort, zeros": lambda here: sc.sort(here(np.concatenate([_ZEROS, _NORMALS]))),
    "sort, zeros in rows": lambda here: sc.sort(here(_ZEROS).reshape(30, -1) * 2, axis=1),
    "sort, float16": lambda here: sc.sort(here(_GAPS.astype("f2"))),
    "sort, float32": lambda here: sc.sort(here(_GAPS.astype("f4"))),
    "sort, bytes": lambda here: sc.sort(here((_NUMBERS - 300).astype("i1"))),
    "sort, uint64": lambda here: sc.sort(here(_WIDE.astype("u8"))),
    "sort, bool": lambda here: sc.sort(here(_NUMBERS > 300)),
    "argsort": lambda here: sc.argsort(here(_GAPS)),
    "argsort, ties": lambda here: sc.argsort(here(_NUMBERS)),
    "argsort, zeros": lambda here: sc.argsort(here(_ZEROS)),
    "argsort of columns": lambda here: sc.argsort(_drawn(), axis=0),
    "less the median": lambda here: (here(_NORMALS) - sc.median(here(_NORMALS)))[::3],
    "pieces": lambda here: sc.sort(sc.pad(here(_NORMALS), 1))[5:-5],
}
ON_THE_HOST: Final = ("zeros of both signs", "float16, which the host selects")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    return HostKernels([], tmp_path_factory.mktemp("cuda"))


@pytest.fixture
def host(library: HostKernels, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each of what was sorted, selected or counted was so by the GPU."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    monkeypatch.setattr(engine, "SMALL", -1)
    monkeypatch.setattr(selecting, "LEAST", 1000)
    monkeypatch.setattr(on_host, "SHORT", 1000)
    monkeypatch.setattr(selecting, "device_sample", lambda *_: 4096)
    there: list[bool] = []

    def noted(name: str, made: Callable[..., Any]) -> Callable[..., Any]:
        def note(*args: Any) -> Any:
            found = made(*args)
            there.append(found is not None)
            return found

        return note

    for name, made in list(run._RUN.items()):
        monkeypatch.setitem(run._RUN, name, noted(name, made))
    return there


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cpus_bits(host: list[bool], name: str) -> None:
    wanted = PROGRAMS[name](sc.asarray).compute(on="core")
    got = PROGRAMS[name](_on_device).compute(on=ONE)
    assert_same_bits(np.asarray(got), np.asarray(wanted), name)
    assert host
    assert all(host) == (name not in ON_THE_HOST)


@pytest.mark.skipif(NVCC is None, reason="no nvcc on PATH compiles CUDA C")
def test_nvcc_compiles_the_text(host: list[bool], library: HostKernels, tmp_path: Path) -> None:
    for name in ("three quantiles of them", "histogram", "bincount", "weights", "sort", "float32"):
        PROGRAMS[name](_on_device if name in ("sort", "float32") else sc.asarray).compute(on=ONE)
    (tmp_path / "all.cu").write_text(namespaces(list(library.runs)))
    unused = ["-diag-suppress", "177"]
    command = [NVCC, *OPTIONS, "-arch=sm_90", "-Werror", "all-warnings", *unused, "-cubin"]
    command += ["-Xptxas", "-v", "-o", "all.cubin", "all.cu"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr.count("bytes stack frame") >= 6


DISTINCT: Final = {
    "integers": np.sort(_NUMBERS),
    "all": np.arange(5000),
    "float32 and NaN": np.sort(np.round(_GAPS.astype("f4"), 2)),
    "one": np.full(2049, 7, np.int8),
    "bool": np.sort(_NUMBERS > 3),
}


@pytest.mark.parametrize("name", DISTINCT)
@pytest.mark.parametrize("equal_nan", [True, False])
def test_distinct_elements(host: list[bool], name: str, equal_nan: bool) -> None:
    line = DISTINCT[name]
    got = distinct.first_of_each(line.view(DeviceArray), equal_nan)
    assert_same_bits(np.asarray(got), np.unique(line, equal_nan=equal_nan))


def test_a_miss_costs_a_pass_and_no_bits(host: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that says nothing, and no room for what lies between: the host finds it."""
    x = _on_device(_NORMALS)
    wanted = sc.median(_NORMALS).compute(on="core")
    passes: list[float] = []
    brackets = selecting._brackets

    def narrow(line: Any, table: Any, places: Any, size: int, width: float) -> Any:
        passes.append(width)
        return brackets(line, table, places, size, 0.0 if len(passes) == 1 else width)

    monkeypatch.setattr(selecting, "_brackets", narrow)
    assert_same_bits(sc.median(x).compute(on=ONE), wanted)
    assert passes == [5.0, 40.0]
    monkeypatch.setattr(selecting, "device_room", lambda _: 3)
    assert_same_bits(sc.median(x).compute(on=ONE), wanted)
    assert host == [True, False]


def test_where_launches_end_decides_nothing(
    host: list[bool], library: HostKernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (gpu, sweeps):
        monkeypatch.setattr(module, "LAUNCH", 9000)
    monkeypatch.setattr(weighing, "_LAUNCH", 9000)
    for name in ("three quantiles of them", "histogram", "weighted histogram"):
        library.launches = 0
        got, wanted = (PROGRAMS[name](sc.asarray).compute(on=on) for on in (ONE, "core"))
        assert_same_bits(np.asarray(got), np.asarray(wanted), name)
        assert library.launches > 2


@pytest.mark.parametrize("name", ["three quantiles of them", "bincount", "sort of what is drawn"])
def test_one_of_several_devices_does_it(host: list[bool], name: str) -> None:
    wanted = PROGRAMS[name](sc.asarray).compute(on="core")
    assert_same_bits(np.asarray(PROGRAMS[name](sc.asarray).compute(on=THREE)), np.asarray(wanted))


@pytest.mark.parametrize("op", ["median", "histogram", "sort", "argsort", "weighed"])
def test_the_plan_promises_memory(op: str) -> None:
    x = sc.random.default_rng(1).normal(size=(4000, 5000))[::2, ::2]
    makes: dict[str, tuple[Any, int]] = {
        "median": (sc.median(x), 8 * (1 << 16)),
        "histogram": (sc.histogram(x, 100, (-4, 4))[0], 800),
        "sort": (sc.sort(x, axis=None), 3 * 8 * 5_000_000),
        "argsort": (sc.argsort(x, axis=None), 4 * 8 * 5_000_000),
        "weighed": (sc.histogram(x, 100, (-4, 4), weights=x)[0], 100 * 16 * 70),
    }
    array, least = makes[op]
    plan = plan_for([array._expr], ONE, None, False)[0]
    assert plan.stages[0].root.shape == (2000, 2500)  # nothing is put in order before
    assert least <= plan.peak_bytes < 2**28 + 5 * least
