"""What a GPU sorts, selects, counts and weighs, played by the host: the CPU's bits.

The kernels' CUDA text is compiled for the host (`cuda_host.py`); the GPU's engine drives them.
"""

from __future__ import annotations

import re
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
from speedcube.commands.verify.groups import GROUPS
from speedcube.commands.verify.hash_list import digest, read
from speedcube.engine import compute as engine
from speedcube.engine import gpu, rungs
from speedcube.engine.compute import plan_for
from speedcube.engine.known.drawn import drawing_again
from speedcube.engine.ordering import selecting as on_host
from speedcube.engine.ordering.on_gpu import distinct, run, selecting, sweeps, weighing
from speedcube.expr.through import ordering
from speedcube.kernel.cuda.compile import OPTIONS

SIZE: Final = 30_000
_RNG = np.random.default_rng(9)
_NORMALS = _RNG.normal(size=SIZE)
_WILD = _NORMALS * 10.0 ** _RNG.integers(-300, 300, SIZE)
_NUMBERS = _RNG.integers(0, 700, SIZE)
_WIDE = _RNG.integers(-(2**62), 2**62, SIZE)
_FAR = _RNG.integers(0, 50_000, SIZE)
_ROWS = _RNG.normal(size=(1000, 30))
_GAPS = np.where(_RNG.random(SIZE) < 0.01, np.nan, _NORMALS)
_GAPS[7] = -np.nan
_ZEROS = np.where(_RNG.random(SIZE) < 0.5, 0.0, -0.0)
_SMALL = np.where(_RNG.random(SIZE) < 0.8, _ZEROS, np.round(_GAPS))
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


def _three_of_rows(x: Any) -> Any:
    return sc.quantile(x.reshape(-1, 50), [0.0, 0.5, 0.99], axis=1, method="lower")


GROUPED: Final[dict[str, tuple[Any, Any, Any]]] = {
    "few": (_NORMALS, _NUMBERS % 30, np.arange(31)),
    "many": (_NORMALS.astype("f4"), _FAR, np.arange(50_001)),
    "rows": (_ROWS, _NUMBERS[:1000] % 12, np.arange(-1, 13)),
    "bytes": ((_NUMBERS % 99).astype("i1"), _NUMBERS, np.arange(100)),
    "gaps": (_GAPS, _FAR, np.arange(50_001)),
    "wide": (_WIDE, _FAR, np.arange(50_001)),
    "zeros": (_ZEROS, _NUMBERS % 7, np.arange(7)),
    "short": (1 + 2.0**-52 * (_NUMBERS % 2), _NUMBERS % 7, np.arange(7)),
    "far": (1 + 2.0**-52 * (_NUMBERS % 2), _FAR, np.arange(50_001)),
}


def _groups(here: Any, kind: str) -> Any:
    x, keys, labels = GROUPED[kind]
    axis = 0 if x.ndim > 1 else None
    return sc.groupby(here(x), keys, expected_groups=labels, axis=axis)


_UNEVEN: Any = np.array([0, 2, *range(5, SIZE + 1, 5)])  # rows of one length are summed as rows
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
    # of lines
    "medians of rows": lambda here: sc.median(here(_ROWS), axis=1),
    "of columns": lambda here: sc.quantile(here(_ROWS), [0.1, 0.9], axis=0),
    "of drawn rows": lambda here: sc.median(_drawn() * 2, axis=1),
    "of long rows": lambda here: sc.median(here(_NORMALS).reshape(5, -1), axis=1),
    "of long rows with NaN": lambda here: sc.nanmedian(here(_GAPS).reshape(5, -1), axis=1),
    "of rows with NaN": lambda here: _three_of_rows(here(_GAPS)),
    "of rows of zeros": lambda here: _three_of_rows(here(_ZEROS)),
    "of float32 rows": lambda here: _three_of_rows(here(_GAPS.astype("f4"))),
    "of float16 rows": lambda here: _three_of_rows(here(_GAPS.astype("f2"))),
    "of rows of bytes": lambda here: _three_of_rows(here((_NUMBERS - 300).astype("i1"))),
    "of unsigned rows": lambda here: _three_of_rows(here(_WIDE.astype("u8"))),
    "of rows of two": lambda here: sc.median(here(_ZEROS).reshape(-1, 2), axis=1),
    "of rows of one": lambda here: sc.median(here(_GAPS).reshape(-1, 1), axis=1),
    "of rows of 3,000": lambda here: sc.median(here(_WIDE).reshape(10, -1), axis=1),
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
    # added by number, in words
    "many numbers": lambda here: sc.bincount(sc.asarray(_FAR), here(_NORMALS)),
    "many wild weights": lambda here: sc.bincount(sc.asarray(_FAR), here(_WILD)),
    "many special weights": lambda here: sc.bincount(sc.asarray(_FAR), here(_SPECIAL)),
    "many subnormal weights": lambda here: sc.bincount(sc.asarray(_FAR), here(_NORMALS * 1e-310)),
    "many great weights": lambda here: sc.bincount(sc.asarray(_FAR % 6000), here(_NORMALS * 1e307)),
    "many whole weights": lambda here: sc.bincount(sc.asarray(_FAR), here(_NUMBERS)),
    "segments": lambda here: sc.segment_sum(here(_NORMALS.astype("f4")), sc.asarray(_FAR), 60_000),
    "segments of rows": lambda here: sc.segment_sum(here(_ROWS), sc.asarray(_NUMBERS[:1000]), 700),
    "segments of integers": lambda here: sc.segment_sum(here(_WIDE), sc.asarray(_FAR), 60_000),
    "least of segments": lambda here: sc.segment_min(here(_GAPS), sc.asarray(_FAR), 60_000),
    "greatest of segments": lambda here: sc.segment_max(here(_GAPS.astype("f4")), sc.asarray(_FAR)),
    "least zeros": lambda here: sc.segment_min(here(_ZEROS), sc.asarray(_NUMBERS), 800),
    "least integers": lambda here: sc.segment_min(here(_WIDE), sc.asarray(_FAR), 60_000),
    "greatest bytes": lambda here: sc.segment_max(
        here((_NUMBERS % 99).astype("i1")), sc.asarray(_FAR)
    ),
    "greatest unsigned": lambda here: sc.segment_max(
        here(_WIDE.astype("u8")), sc.asarray(_NUMBERS)
    ),
    "added at places": lambda here: here(_NORMALS * 1).at[sc.asarray(_NUMBERS)].add(here(_WILD)),
    "added to zeros": lambda here: sc.zeros(50_000).at[sc.asarray(_FAR)].add(here(_NORMALS)),
    "integers at places": lambda here: here(_WIDE * 1).at[sc.asarray(_NUMBERS)].add(here(_WIDE)),
    "less at places": lambda here: here(_NORMALS * 1).at[sc.asarray(_NUMBERS)].min(here(_GAPS)),
    "sparse matrix": lambda here: sc.csr_matvec(
        here(_NORMALS), sc.asarray(_NUMBERS), _UNEVEN, here(_NORMALS[:700])
    ),
    # by group
    **{
        f"{op} of {kind}": lambda here, op=op, kind=kind: getattr(_groups(here, kind), op)()
        for kind in ("few", "many", "rows", "bytes")
        for op in ("sum", "mean", "min", "max", "argmin", "argmax", "first", "last", "count")
    },
    "var of few": lambda here: _groups(here, "few").var(ddof=1),
    "std of bytes": lambda here: _groups(here, "bytes").std(),
    "var of many": lambda here: _groups(here, "many").var(),
    "std of rows": lambda here: _groups(here, "rows").std(ddof=1),
    "without NaN, mean": lambda here: _groups(here, "gaps").mean(skipna=True),
    "without NaN, std": lambda here: _groups(here, "gaps").std(skipna=True),
    "without NaN, argmax": lambda here: _groups(here, "gaps").argmax(skipna=True),
    "zeros, argmax": lambda here: _groups(here, "zeros").argmax(),
    "zeros, argmin": lambda here: _groups(here, "zeros").argmin(),
    "without NaN, last": lambda here: _groups(here, "gaps").last(skipna=True),
    "NaN, count": lambda here: _groups(here, "gaps").count(),
    "NaN, median": lambda here: _groups(here, "gaps").median(skipna=True),
    "NaN, min": lambda here: _groups(here, "gaps").min(),
    "NaN, argmin": lambda here: _groups(here, "gaps").argmin(),
    "NaN, var": lambda here: _groups(here, "gaps").var(),
    "wide integers, max": lambda here: _groups(here, "wide").max(),
    "wide integers, sum": lambda here: _groups(here, "wide").sum(),
    "zeros, min": lambda here: _groups(here, "zeros").min(),
    "var of short mantissas": lambda here: _groups(here, "short").var(),
    "var of many short ones": lambda here: _groups(here, "far").std(),
    "any": lambda here: _groups(here, "bytes").any(),
    # sorted
    "sort": lambda here: sc.sort(here(_NORMALS)),
    "sort of what is drawn": lambda here: sc.sort(_drawn(), axis=None),
    "rows": lambda here: sc.sort(_drawn(), axis=1),
    "columns": lambda here: sc.sort(_drawn(), axis=0),
    "sort, NaN": lambda here: sc.sort(here(_GAPS)),
    "sort, zeros": lambda here: sc.sort(here(np.concatenate([_ZEROS, _NORMALS]))),
    "sort, zeros in rows": lambda here: sc.sort(here(_ZEROS).reshape(30, -1) * 2, axis=1),
    "sort, zeros in short rows": lambda here: sc.sort(here(_SMALL).reshape(-1, 60), axis=1),
    "sort, rows of 2": lambda here: sc.sort(here(_SMALL.astype("f4")).reshape(-1, 2), axis=1),
    "sort, rows of 6,000": lambda here: sc.sort(here(_SMALL).reshape(5, -1), axis=1),
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
NOTHING: Final[dict[str, Callable[[Any], Any]]] = {
    "counts": lambda here: sc.bincount(sc.asarray(np.zeros(0, int)), minlength=5),
    "weights": lambda here: sc.bincount(
        sc.asarray(np.zeros(0, int)), here(np.zeros(0)), minlength=5
    ),
    "segments": lambda here: sc.segment_max(here(np.zeros(0)), np.zeros(0, int), 3),
    "no segments": lambda here: sc.segment_sum(here(np.zeros(0)), np.zeros(0, int), 0),
    "lines": lambda here: sc.sort(here(np.zeros((0, 7))), axis=1),
    "of nothing": lambda here: sc.sort(here(np.zeros((7, 0))), axis=1),
    "groups": lambda here: sc.groupby(
        here(np.zeros(0)), np.zeros(0, int), expected_groups=np.arange(4)
    ).max(),
}


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


# Each builds kernels of its own, a second of the compiler's time: one of a kind is quick.
_BEFORE_WORDS: Final = list(PROGRAMS)[: list(PROGRAMS).index("many numbers")]
_QUICK: Final = """
median of what lies there|many wild weights|many special weights|segments of integers
greatest of segments|least zeros|added at places|sum of few|mean of many|argmin of bytes|last of few
var of few|std of rows|var of short mantissas|NaN, count|wide integers, max|of rows with NaN
of rows of zeros|of float16 rows|of long rows|any|rows|columns|less the median
pieces|bincount of bytes
"""
QUICK: Final = {name for line in _QUICK.split("\n") for name in line.split("|")}
NEW: Final = re.compile("of .*rows|of columns|of (few|many|rows|bytes)|medians of rows")
IN_TURN: Final = [
    name
    if name in QUICK or (name in _BEFORE_WORDS and not NEW.search(name)) or "sort" in name[:7]
    else pytest.param(name, marks=pytest.mark.slow)
    for name in PROGRAMS
]


@pytest.mark.parametrize("name", IN_TURN)
def test_the_cpus_bits(host: list[bool], name: str) -> None:
    wanted = PROGRAMS[name](sc.asarray).compute(on="core")
    got = PROGRAMS[name](_on_device).compute(on=ONE)
    assert_same_bits(np.asarray(got), np.asarray(wanted), name)
    assert host
    assert all(host) == (name not in ON_THE_HOST)


VERIFIED: Final = ("mean-rows", "std", "nanvar", "argmin", "max-rows", "two-keys")


@pytest.mark.parametrize(
    "name", ["quantile", *(pytest.param(name, marks=pytest.mark.slow) for name in VERIFIED)]
)
def test_groups_have_the_committed_bits(host: list[bool], name: str) -> None:
    with drawing_again():
        made = GROUPS[f"group-{name}"]().compute(on=ONE)
    assert digest(made) == read()[f"group-{name}"]
    assert host


@pytest.mark.parametrize("name", NOTHING)
def test_nothing(host: list[bool], name: str) -> None:
    wanted = NOTHING[name](sc.asarray).compute(on="core")
    assert_same_bits(np.asarray(NOTHING[name](_on_device).compute(on=ONE)), np.asarray(wanted))


def test_what_a_gpu_has_no_room_for_is_the_hosts(
    host: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setitem(run._RUN, "weigh", no_room)
    name = "many numbers"
    wanted = PROGRAMS[name](sc.asarray).compute(on="core")
    assert_same_bits(PROGRAMS[name](_on_device).compute(on=ONE), wanted)
    assert not host


@pytest.mark.gpu
@pytest.mark.skipif("gpu" not in rungs.available(), reason="no GPU is visible here")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gpus_bits(name: str) -> None:
    import cupy

    wanted = PROGRAMS[name](sc.asarray).compute(on="core")
    got = PROGRAMS[name](lambda x: sc.asarray(cupy.asarray(x))).compute(on="gpu")
    assert_same_bits(np.asarray(got), np.asarray(wanted), name)


@pytest.mark.skipif(NVCC is None, reason="no nvcc on PATH compiles CUDA C")
def test_nvcc_compiles_the_text(host: list[bool], library: HostKernels, tmp_path: Path) -> None:
    plain = ("three quantiles of them", "histogram", "bincount", "weights")
    for name in (
        "three quantiles of them",
        "histogram",
        "bincount",
        "weights",
        "sort",
        "float32",
        "many wild weights",
        "greatest of segments",
        "argmax of rows",
        "last of few",
        "var of few",
        "mean of many",
        "of rows of zeros",
        "of float16 rows",
    ):
        PROGRAMS[name](sc.asarray if name in plain else _on_device).compute(on=ONE)
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


@pytest.mark.parametrize("wide", [False, True])
def test_weights_that_need_more_words_than_are_promised(
    host: list[bool], monkeypatch: pytest.MonkeyPatch, wide: bool
) -> None:
    monkeypatch.setattr(weighing, "words_of", lambda _: 2)
    name = "many wild weights" if wide else "many numbers"
    wanted = PROGRAMS[name](sc.asarray).compute(on="core")
    assert_same_bits(PROGRAMS[name](_on_device).compute(on=ONE), wanted)
    assert host == [not wide]


def test_a_scatter_promises_words() -> None:
    x = sc.random.default_rng(1).normal(size=1 << 26)
    index = sc.random.default_rng(2).integers(0, 1 << 24, size=1 << 26)
    scattered = sc.Array(_weigh(index, x, 1 << 24))
    plan = plan_for([scattered._expr], ONE, None, False)[0]
    assert plan.peak_bytes >= (1 << 24) * (8 * 4 + 8)


def _weigh(index: Any, x: Any, length: int) -> Any:
    return ordering.counts("weigh", [index._expr, x._expr], length, "float64")


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
