"""The CUDA printer without a GPU: its text compiles with nvcc, and run on the host it gives the
CPU's bits.

Every kernel of the list below is built once for the host (`cuda_host.py`). The GPU engine itself
(slices, pieces, records, merging, two devices) then drives these kernels.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda_host import (
    COMPILER,
    NVCC,
    ONE,
    THREE,
    DeviceArray,
    HostKernels,
    fake_cupy,
    namespaces,
    source,
    texts,
)
from oracle import assert_same_bits

import speedcube as sc
from speedcube.commands.verify.draws import DRAWS
from speedcube.engine import compute as engine
from speedcube.engine import gpu
from speedcube.engine.compute import plan_for
from speedcube.engine.known import drawn, memory
from speedcube.engine.prepare import prepare
from speedcube.engine.scans import running, trees
from speedcube.engine.small import device
from speedcube.engine.small import known as small
from speedcube.engine.small.structure import structure_of
from speedcube.engine.small.templates import slots_of
from speedcube.expr.nodes import Expr, Map
from speedcube.kernel.cuda.compile import OPTIONS
from speedcube.ops import ELEMENTARY, GATHERS, OPS, SAMPLERS


def _rng() -> sc.random.Generator:
    return sc.random.default_rng(2026)


def _data(dtype: str, shape: tuple[int, ...], low: int = -1000, high: int = 1000) -> np.ndarray:
    """Whole numbers in [low, high), the same in every run."""
    flat = np.arange(np.prod(shape), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return (
        ((flat >> np.uint64(20)) % np.uint64(high - low))
        .astype("int64")
        .__add__(low)
        .astype(dtype)
        .reshape(shape)
    )


def _wild(dtype: str, shape: tuple[int, ...], decades: int) -> np.ndarray:
    """Numbers of both signs over 2 * decades powers of ten."""
    size = int(np.prod(shape))
    scale = np.logspace(-decades, decades, size)
    return (_data("float64", (size,)) * scale / 7).astype(dtype).reshape(shape)


WILD, WILD32 = _wild("float64", (90, 211), 30), _wild("float32", (90, 211), 12)
SIZES = np.array([0.0, np.inf, 5e-324, -2e-308, 1.5, -2.5, 1e308, 1e200, -1e-200, -1.7e308])
LINE = np.linspace(3, -3, 99)
HALF = np.arange(65536, dtype=np.uint16).view(np.float16).reshape(256, 256)
SPECIAL = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -2e-308, 1.5, -2.5, 1e308, 0.5, 2.0**53 + 2]
)


def _x(dtype: str = "float64") -> sc.Array:
    return sc.asarray(WILD if dtype == "float64" else WILD32)


def _special(dtype: str = "float64") -> sc.Array:
    with np.errstate(over="ignore"):
        return sc.asarray(SPECIAL.astype(dtype))


def _pairs(op: Callable[[Any, Any], Any], dtype: str = "float64") -> sc.Array:
    """``op`` of every special value with every other."""
    s = _special(dtype)
    return op(s[:, None], s[None, :])


def _ints(dtype: str) -> sc.Array:
    low = 0 if dtype.startswith("u") else -120
    return sc.asarray(_data(dtype, (40, 101), low, 120))


def _centred(x: sc.Array) -> sc.Array:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def _function(op: str, dtype: str) -> sc.Array:
    """``op`` of numbers of every size, and of special ones."""
    values = np.concatenate([WILD.ravel()[:5000], WILD.ravel()[:3000] ** 9, SPECIAL])
    with np.errstate(over="ignore"):
        x = sc.asarray(values.astype(dtype))
    return getattr(sc, op)(x, x[::-1]) if OPS[op].arity == 2 else getattr(sc, op)(x)


# Of the draws that `speedcube verify` computes, some that use every sampler.
SAMPLED = (
    *("gamma-edges", "poisson-edges", "binomial-edges", "hypergeometric-edges", "zipf", "vonmises"),
    *("permutation-2**60", "permutation-inverse", "permuted-rows", "multinomial"),
    *("take-normals", "take-float16", "take-bool", "take-sums"),
)

EXPRESSIONS: dict[str, Callable[[], sc.Array]] = {
    # sources, as elements and summed
    "published sum": lambda: (_rng().normal(10, 1, size=(150, 4001)) + 1)[::2, ::2].sum(),
    "published mean": lambda: (_rng().normal(10, 1, size=(150, 4001)) + 1)[::2, ::2].mean(),
    "published elements": lambda: (_rng().normal(10, 1, size=(12, 4001)) + 1)[::2, ::2],
    "published sums of planes": lambda: (_rng().normal(10, 1, size=(4, 12, 4001)) + 1)[
        :, ::2, ::2
    ].sum(axis=(1, 2)),
    "normals": lambda: _rng().normal(10, 1, size=(7, 2500)),
    "normals of rows": lambda: _rng().normal(size=(40, 901)).sum(axis=1),
    "normals of columns": lambda: _rng().normal(size=(901, 40)).sum(axis=0),
    "normals in rows of three": lambda: _rng().normal(size=(5001, 3))[::3],
    "normals at stride 1024": lambda: _rng().normal(size=(300, 1024))[:, 5],
    "normals backwards": lambda: _rng().normal(size=(130, 201))[::-1, ::-2].T,
    "normals far away": lambda: _rng().normal(size=(3, 2**40))[1:, 2**39 : 2**39 + 3000],
    "float32 normals": lambda: _rng().normal(10, 1, size=(7, 2500), dtype="float32"),
    "float32 normals, sum": lambda: _rng().normal(size=(9, 2500), dtype="float32").sum(),
    "float32 normals, stride 3": lambda: _rng().normal(size=9000, dtype="float32")[::3],
    "uniform": lambda: _rng().uniform(-1, 3, size=(60, 300)).sum(axis=1),
    "float32 uniform": lambda: _rng().uniform(2, 3, size=12_000, dtype="float32"),
    "exponential": lambda: _rng().exponential(2, size=(33, 500)).sum(axis=1),
    "float32 exponential": lambda: _rng().exponential(size=12_000, dtype="float32"),
    "integers": lambda: _rng().integers(-5, 1000, size=(77, 201)),
    "wide integers": lambda: _rng().integers(-(2**62), 2**62, size=9000),
    "int8 integers": lambda: _rng().integers(-128, 128, size=9000, dtype="int8") * 3,
    "two streams": lambda: _rng().normal(size=(99, 201)) * _rng().uniform(size=(99, 201)),
    "formulas over a uniform": lambda: (
        _rng().standard_cauchy((9, 701)) * _rng().logistic(1, 2, (9, 701))
        + _rng().triangular(-1, 0, 3, (9, 701))
    ),
    "formulas over an exponential": lambda: (
        _rng().weibull(1.7, (9, 701)) * _rng().pareto(0.3, (9, 701)) + _rng().gumbel(size=(9, 701))
    ),
    "wald and geometric of arrays": lambda: (
        _rng().wald(np.arange(1.0, 702.0), [[0.5], [30.0]])
        * _rng().geometric(np.linspace(0.01, 1, 701), (2, 701))
    ),
    "integers of arrays": lambda: _rng().integers(np.arange(-350, 351), 2**31, (9, 701)),
    "a stream and its neighbour": lambda: (lambda x: x[1:] - x[:-1])(_rng().normal(size=9001)),
    "arange": lambda: sc.arange(-3, 9000, 7),
    "linspace": lambda: sc.linspace(0, 1, 3001),
    "eye": lambda: sc.eye(70, 90, k=3),
    "full": lambda: sc.full((31, 65), 2.5, dtype="float32") + sc.ones((31, 65), dtype="float32"),
    # stored data: ranges, strides, views
    "stored sum": lambda: (_x() * 2 + 1).sum(),
    "wild sum of every second": lambda: sc.asarray(WILD.reshape(10, 1899))[::2, ::2].sum(),
    "stored sum of rows": lambda: _x()[:, ::5].sum(axis=1),
    "stored sum of columns": lambda: _x("float32").sum(axis=0),
    "stored, strided": lambda: sc.asarray(WILD[::-2, ::3]) + 1,
    "stored, transposed": lambda: (_x().T[::-1] + 1)[3:, 1::4],
    "stored, broadcast": lambda: _x()[:, 7:8] + _x()[4],
    "stored, off by one": lambda: (
        sc.asarray(WILD32.ravel()[1:9000]) + sc.asarray(WILD32.ravel()[2:9001])
    ),
    "special values summed": lambda: _pairs(lambda a, b: a + b).sum(axis=1),
    # reductions
    "var": lambda: _rng().normal(size=(90, 401)).var(),
    "float32 var of rows": lambda: _rng().normal(3, 2, (90, 401), dtype="float32").var(axis=1),
    "std of columns": lambda: _x().std(axis=0, ddof=1),
    "wild dot": lambda: (_x() ** 9)[0] @ (_x() ** -9)[2],
    "dots, products out of range": lambda: sc.vecdot(
        sc.asarray(np.stack([SIZES.repeat(10), np.ones(100)], 1)),
        sc.asarray(np.stack([np.tile(SIZES, 10), np.full(100, 1e-300)], 1)),
    ),
    "float32 dot": lambda: _x("float32")[0] @ _x("float32")[1],
    "dot of normals": lambda: _rng().normal(size=9000) @ _rng().normal(3, 2, size=9000),
    "wild var": lambda: (_x() ** 9).var(axis=1),
    "centred": lambda: _centred(_rng().normal(3, 2, size=(90, 121))),
    "wide range": lambda: (_rng().normal(size=9000) ** 9 * 1e200).sum(),
    "wide range of every second": lambda: (
        _rng().normal(size=(10, 1899))[::2, ::2] ** 9 * 1e200
    ).sum(),
    "int64 sum of rows": lambda: _rng().integers(-(2**62), 2**62, (30, 301)).sum(axis=1),
    "mean of integers": lambda: _ints("int16").mean(axis=0),
    "min": lambda: _x().min(),
    "max of columns": lambda: _rng().normal(size=(90, 121)).max(axis=0),
    "float32 max": lambda: _special("float32").max(),
    "argmin": lambda: _x().argmin(),
    "argmax of rows": lambda: _rng().integers(0, 50, (40, 300)).argmax(axis=1),
    "argmin with NaN": lambda: _pairs(lambda a, b: a * b).argmin(axis=0),
    "any": lambda: (_x() > 1e20).any(axis=0),
    "all": lambda: (_x("float32") != 0).all(axis=1),
    # element-wise, on special values and over wide ranges
    "add, subtract": lambda: _pairs(lambda a, b: a + b) - _pairs(lambda a, b: a * 0.5),
    "multiply": lambda: _pairs(lambda a, b: a * b),
    "divide": lambda: _pairs(lambda a, b: a / b),
    "float32 divide": lambda: _pairs(lambda a, b: a / b, "float32"),
    "floor_divide": lambda: _pairs(lambda a, b: a // b),
    "remainder": lambda: _pairs(lambda a, b: a % b),
    "float32 remainder": lambda: _pairs(lambda a, b: a % b, "float32"),
    "remainders of large quotients": lambda: _x() % _x()[::-1, ::-1],
    "integers by one": lambda: sum(_ints("int16") // sc.array(np.int16(d)) for d in (-7, -1, 0, 9)),
    "int32 by one": lambda: _ints("int32") // -7 + _ints("int32") % 9 + _ints("int32") // -1,
    "large quotients": lambda: _x() // _x()[::-1, ::-1],
    "float32, large quotients": lambda: _x("float32") // 1e-9 + _x("float32") % -1e-9,
    "minimum, maximum": lambda: _pairs(sc.minimum) + _pairs(sc.maximum),
    "clip": lambda: sc.clip(_x(), -1.0, 1e6),
    "compare": lambda: _pairs(lambda a, b: (a < b) ^ (a >= b) ^ (a == b)),
    "compare more": lambda: _pairs(lambda a, b: (a <= b) ^ (a > b) ^ (a != b), "float32"),
    "compare integers": lambda: (
        (_ints("int16") < sc.asarray(_data("uint64", (40, 101), 0, 99)))
        ^ (sc.asarray(_data("uint64", (40, 101), 0, 99)) == _ints("int64"))
    ),
    "integers of bool": lambda: sc.square(_x() > 1) << (_x() < 5),
    "isnan, isfinite": lambda: sc.isnan(_special()) | sc.isfinite(_special("float32")),
    "frexp, nextafter": lambda: sc.frexp(_special())[0] + sc.nextafter(_special(), 0.0),
    "float16 by its bits": lambda: sc.copysign(_special("float16"), -1.5),
    "isinf, signbit": lambda: sc.isinf(_special("float32")) ^ sc.signbit(-(+_special())),
    "where": lambda: sc.where(_x() > 0, sc.sqrt(abs(_x())), -1),
    "float32 sqrt": lambda: sc.sqrt(_special("float32")),
    "sign, square": lambda: sc.sign(_x()) * sc.square(_x()),
    "rounding": lambda: sc.floor(_x()) + sc.ceil(_x()) * sc.trunc(_x()) - sc.rint(_x()),
    "exp": lambda: sc.exp(_rng().normal(0, 200, size=9000)),
    "float32 exp": lambda: sc.exp(_rng().normal(0, 40, size=9000, dtype="float32")),
    "whole powers": lambda: _x("float32") ** 3 + _x("float32") ** -1,
    "subnormals": lambda: sc.asarray(np.array([5e-324, -1e-310, 2e-308])) * 0.75,
    "float32 subnormals": lambda: sc.asarray(np.array([1e-45, 3e-39, -1e-38], "float32")) * 0.5,
    **{
        f"{op}, {dtype}": partial(_function, op, dtype)
        for op in sorted(ELEMENTARY)
        for dtype in ("float64", "float32")
    },
    "power of integers": lambda: sc.power(_ints("int32")[:, ::3], _ints("int32")[:, 1::3] + 0),
    # integers, bits, casts
    "int32 arithmetic": lambda: _ints("int32") * _ints("int32") - 7,
    "uint8 wraps": lambda: _ints("uint8") * 3 - 200,
    "int16 division": lambda: _ints("int16") // 7 + _ints("int16") % -7,
    "common divisors": lambda: sc.gcd(_ints("int64"), _ints("int64")[::-1]),
    "common divisors of bytes": lambda: sc.gcd(_ints("uint8"), 6),
    "uint64 division": lambda: _ints("uint64") // 7 + _ints("uint64") % 5,
    "shifts": lambda: ((_ints("int64") << 3) ^ 0x55) >> 2,
    "bits": lambda: (_ints("uint32") & 0x3C) | ~_ints("uint32"),
    "logic": lambda: (_ints("int8") > 3) & ~(_ints("int8") % 3 == 0),
    "truth": lambda: sc.logical_xor(
        sc.logical_and(_ints("int8"), _x()[0, :101]),
        sc.logical_or(_ints("uint16"), sc.logical_not(_special()[:1])),
    ),
    "float to int": lambda: (_rng().normal(0, 1e5, size=3000)).astype("int32"),
    "float to narrow int": lambda: _ints("float32").astype("int8"),
    "int to float32": lambda: _rng().integers(-(2**62), 2**62, size=3000).astype("float32"),
    "float64 to float32": lambda: _x().astype("float32"),
    # float16
    "every float16": lambda: sc.asarray(HALF)[::-1, ::3].T,
    "float16 divide": lambda: _pairs(lambda a, b: a / b - 1, "float16"),
    "float16 exp": lambda: sc.exp(sc.asarray(HALF[:, ::5])),
    "float64 to float16": lambda: _x().astype("float16"),
    "float16 sum": lambda: sc.asarray(HALF).sum(axis=1),
    "float16 var of normals": lambda: _rng().normal(size=(7, 2500)).astype("float16").var(axis=1),
    "float16 var": lambda: sc.asarray(HALF).var(axis=0),
    "search": lambda: sc.searchsorted(sc.asarray(LINE)[::-2], _x()),
    "search of NaN": lambda: sc.searchsorted(sc.cumsum(sc.asarray(LINE)), _special(), "right"),
    "search of float16": lambda: sc.searchsorted(sc.asarray(HALF[0, ::9]), sc.asarray(HALF)),
    "search of no element": lambda: sc.searchsorted(sc.asarray(LINE[:0]), _ints("int64")),
    "float16 argmin": lambda: sc.asarray(HALF).argmin(axis=1),
    "bool sum": lambda: (_x() > 1).sum(axis=1),
    # what has an order: elements made on the device, taken on the host
    "running sum": lambda: _rng().normal(size=40_000).cumsum() * 2,
    "running sums of rows": lambda: sc.cumulative_sum(_x("float32"), axis=1, include_initial=True),
    "running sums of columns": lambda: _ints("int16").cumsum(axis=0),
    "running products": lambda: (_rng().normal(size=(2, 20_000)) / 50 + 1).cumprod(axis=1),
    "product": lambda: (_rng().normal(size=(3, 101, 130)) / 50 + 1)[:, ::-1].prod(axis=(0, 2)),
    "product of all": lambda: (_rng().normal(size=40_000) / 50 + 1).prod(),
    # samplers, and memory read at computed places
    **{f"draws: {name}": DRAWS[name] for name in SAMPLED},
    # shapes
    "scalar": lambda: sc.asarray(3.0) + 1,
    "empty": lambda: _rng().normal(size=(0, 5)).sum(axis=0),
    "five axes": lambda: _rng().normal(size=(4, 5, 6, 7, 8))[:, ::2, :, ::-1].sum(axis=(1, 3)),
}


@pytest.fixture(scope="module")
def arrays() -> dict[str, sc.Array]:
    """The expressions, made once: their plans and kernels are kept with them."""
    return {name: make() for name, make in EXPRESSIONS.items()}


def operations(root: Expr) -> set[str]:
    """The names of the element-wise operations in ``root``."""
    if not isinstance(root, Map):
        return set()
    return {root.op}.union(*map(operations, root.args))


def test_the_list_is_complete(arrays: dict[str, sc.Array]) -> None:
    """Every operation, every way to fetch a leaf, every sink, every kind of exact sum."""
    used: dict[str, set[str]] = {"ops": set(), "modes": set(), "sinks": set(), "bins": set()}
    for array in arrays.values():
        for stage in plan_for(array._expr, ONE, None, False)[0].stages:
            for part in stage.parts:
                program = prepare(stage, part, None).program
                used["ops"] |= operations(part.root)
                used["modes"] |= {leaf.mode for leaf in program.leaves}
                used["sinks"].add(program.sink.kind)
                used["bins"] |= {term.bins.mode for term in program.sink.terms}
    assert used["ops"] == {*OPS, *SAMPLERS, *GATHERS}
    assert used["modes"] == {"segment", "single", "splat", "unit", "strided", "table"}
    assert used["sinks"] == {"store", "isum", "min", "argmin", "exact"}
    assert used["bins"] == {"plain", "split", "residual", "search", "rare"}


# nvcc ------------------------------------------------------------------------------------------


# One of each kind: streams of both widths, sinks of all sorts, casts, tables.
FOR_NVCC = [
    "published sum",
    "float32 normals, sum",
    "exponential",
    "integers",
    "wide integers",
    "stored sum of rows",
    "std of columns",
    "argmax of rows",
    "max of columns",
    "float32 remainder",
    "rounding",
    "exp",
    "float32 exp",
    "tanh, float32",
    "uint8 wraps",
    "shifts",
    "float to int",
    "float16 divide",
    "float16 var",
    "five axes",
]


@pytest.mark.skipif(NVCC is None, reason="no nvcc on PATH compiles CUDA C")
def test_nvcc_compiles_the_text(arrays: dict[str, sc.Array], tmp_path: Path) -> None:
    """With the options NVRTC gets: no contraction, no flush to zero, exact quotients and roots."""
    sources = list(dict.fromkeys(t for name in FOR_NVCC for t in texts(arrays[name], ONE)))
    (tmp_path / "all.cu").write_text(namespaces(sources))
    unused = ["-diag-suppress", "177"]  # a loop that is not there leaves its counter unread
    command = [NVCC, *OPTIONS, "-arch=sm_90", "-Werror", "all-warnings", *unused]
    for kind in ("-ptx", "-cubin"):
        done = subprocess.run(
            [*command, kind, "-o", f"all.{kind[1:]}", "all.cu"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    ptx = (tmp_path / "all.ptx").read_text()
    assert ptx.count(".visible .entry kernel") == len(sources)
    inexact = set(re.findall(r"\w+\.(?:approx|full)[\w.]*|\w+\.ftz[\w.]*", ptx))
    assert inexact == {"rsqrt.approx.ftz.f64"}, "the estimate normal_root starts from, and no more"
    assert (tmp_path / "all.cubin").stat().st_size > 10_000


@pytest.mark.skipif(NVCC is None, reason="no nvcc on PATH compiles CUDA C")
def test_nvcc_contracts_nothing(arrays: dict[str, sc.Array], tmp_path: Path) -> None:
    """``x * 2 + 1`` rounds twice: its kernel has no fma instruction."""
    (text,) = texts(sc.asarray(WILD) * 2 + 1, ONE)
    (tmp_path / "one.cu").write_text(text)
    subprocess.run(
        [NVCC, *OPTIONS, "-arch=sm_90", "-ptx", "-o", "one.ptx", "one.cu"],
        cwd=tmp_path,
        check=True,
        timeout=300,
    )
    ptx = (tmp_path / "one.ptx").read_text()
    assert "add.f64" in ptx or "add.rn.f64" in ptx
    assert "fma" not in ptx


# On the host -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(
    arrays: Mapping[str, sc.Array], tmp_path_factory: pytest.TempPathFactory
) -> HostKernels:
    """Every kernel that the list needs, on one device and on three."""
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    sources = [t for a in arrays.values() for rung in (ONE, THREE) for t in texts(a, rung)]
    return HostKernels(list(dict.fromkeys(sources)), tmp_path_factory.mktemp("cuda"))


@pytest.fixture
def host(library: HostKernels, monkeypatch: pytest.MonkeyPatch) -> Iterator[HostKernels]:
    """The GPU engine, its kernels and its memory being the host's."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    monkeypatch.setattr(engine, "SMALL", -1)  # by plans, whose kernels the list has
    library.launches = 0
    return library


Small = Callable[[np.random.Generator, int, float], sc.Array]
# What is one launch where it is small; of data, a length and a number.
SMALL: dict[str, Small] = {
    "sum": lambda g, n, c: (sc.asarray(g.normal(size=n)) * c + sc.asarray(g.normal(size=n))).sum(),
    "std": lambda g, n, c: (sc.asarray(g.normal(size=n).astype("f4")) * c).std(),
    "place": lambda g, n, c: (sc.asarray(g.normal(size=n)) * c).argmin(),
    "highest": lambda g, n, c: sc.maximum(sc.asarray(g.normal(size=n)), c).max(),
    "integers": lambda g, n, c: (sc.asarray(g.integers(0, 99, n)) * 3).sum(),
    "store": lambda g, n, c: (lambda u: u[1:] - c * u[:-1])(sc.asarray(g.normal(size=n))),
    "drawn": lambda g, n, c: (
        sc.random.default_rng(n).normal(size=n) * sc.asarray(g.normal(size=n))
    ).mean(),
    "rows": lambda g, n, c: (sc.asarray(g.normal(size=(5, n)))[1:, ::-2] * c).sum(),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_launches_take_data_lengths_and_numbers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    small._known.clear()
    draw, make = np.random.default_rng(1), SMALL[name]
    cases = ((700, 1.25), (701, 1.25), (700, -0.0), (9000, 3.0), (64, math.nan), (64, 2.0))
    found = [structure_of(make(draw, n, number)._expr) for n, number in cases]
    programs = {slots_of(one).prepared.program for one in found}
    library = HostKernels([source(program) for program in programs], tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    for n, number in (
        (700, 1.25),
        (701, 1.25),
        (700, -0.0),
        (9000, 3.0),
        (64, math.nan),
        (64, 2.0),
    ):
        array = make(draw, n, number)
        got = device.value_on_gpu(array._expr, 0, False)
        assert_same_bits(got, array.compute(on="core"), f"{n} {number}")
    assert len({one.key for one in found}) == {"rows": 4, "drawn": 2}.get(name, 1)


LARGE: dict[str, Callable[[sc.Array], sc.Array]] = {
    "rows": lambda x: x.mean(axis=1),
    "columns": lambda x: x.T.max(axis=1),
    "all": lambda x: (x * 2.5).sum(),
    "store": lambda x: x[:, ::-1] * 2 + x,
}


@pytest.mark.parametrize("name", LARGE)
def test_one_launch_of_what_is_large(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """Data on the device, prepared once; what is not certain is left to the planner."""
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    small._known.clear()
    library = HostKernels([], tmp_path)
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy())
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    for seed in range(3):
        data = np.random.default_rng(seed).normal(size=(300, 40))
        array = LARGE[name](sc.asarray(data.view(DeviceArray)))
        got = device.value_on_gpu(array._expr, 0, True, True)
        expected = LARGE[name](sc.asarray(data)).compute(on="core")
        assert_same_bits(np.asarray(got.get()), np.asarray(expected), f"{name} {seed}")
    assert library.launches == 3
    here = sc.asarray(data)
    assert device.value_on_gpu(LARGE[name](here)._expr, 0, True, True) is None
    view = (sc.asarray(data.view(DeviceArray)) * 2)[1:] + 1
    assert device.value_on_gpu(view._expr, 0, True, True) is None
    wild = np.full((300, 40), np.inf).view(DeviceArray)
    got = device.value_on_gpu(LARGE["rows"](sc.asarray(wild))._expr, 0, True, True)
    assert got is None


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_host_gives_the_cpus_bits(
    host: HostKernels, arrays: dict[str, sc.Array], name: str
) -> None:
    expected = arrays[name].compute(on="core")
    assert_same_bits(arrays[name].compute(on=ONE), expected, "one device")
    assert_same_bits(arrays[name].compute(on=THREE), expected, "three devices")
    assert host.launches >= (name not in ("empty", "every float16"))  # which NumPy copies


@pytest.mark.parametrize("name", ["running sum", "running sums of rows", "product"])
def test_where_blocks_end_decides_nothing(
    host: HostKernels, arrays: dict[str, sc.Array], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(gpu, "BLOCK", 700)
    for module, made_there in ((running, "running_on_device"), (trees, "products_on_device")):
        monkeypatch.setattr(module, made_there, lambda *_: False)  # as where memory is short
    expected = arrays[name].compute(on="core")
    assert_same_bits(arrays[name].compute(on=ONE), expected)
    assert_same_bits(arrays[name].compute(on=THREE), expected)
    assert host.launches >= 13


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("published sum", 50),
        ("published elements", 3),
        ("published sums of planes", 2),
        ("wide range of every second", 2),
        ("wide range", 2),  # one long row, summed: it is cut too
        ("wide integers", 2),  # and stored
    ],
)
def test_where_launches_end_decides_nothing(
    host: HostKernels, monkeypatch: pytest.MonkeyPatch, name: str, least: int
) -> None:
    """A long computation is many launches, so that Ctrl-C is answered between them."""
    monkeypatch.setattr(gpu, "LAUNCH", 512)
    monkeypatch.setattr(gpu, "SLOWER", dict.fromkeys(gpu.SLOWER, 4096))
    small._known.clear()  # nothing whose launches are known
    small._met.clear()
    memory._known.clear()
    drawn.drop()  # nor what others drew
    array = EXPRESSIONS[name]()
    assert_same_bits(array.compute(on=ONE), array.compute(on="core"))
    assert host.launches >= least
