"""Every expression gives the CPU's bits on a GPU, and on all GPUs of the machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import gpu, rungs

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif("gpu" not in rungs.available(), reason="no GPU is visible here"),
]

_DATA = np.random.default_rng(7).normal(size=(301, 777)) * np.logspace(-20, 20, 777)
_WHOLE = (_DATA[:, 300:500] * 1e3).clip(-30000, 30000).astype(np.int16)

_STORED = np.random.default_rng(8).normal(size=200_000)
_GAPS = np.where(_DATA > 1e15, np.nan, _DATA)


def _rng() -> sc.random.Generator:
    return sc.random.default_rng(11)


def _normal(*shape: int, dtype: str = "float64") -> Any:
    return _rng().normal(10, 1, size=shape, dtype=dtype)


def _assigned(x: Any) -> Any:
    y = sc.asarray(x)
    y[0] = np.float16(-0.0)
    return y


EXPRESSIONS: dict[str, Callable[[], Any]] = {
    "published sum": lambda: (_normal(3000, 5000) + 1)[::2, ::2].sum(),
    "published mean": lambda: (_normal(3000, 5000) + 1)[::2, ::2].mean(),
    "float32 sum": lambda: (_normal(3000, 5000, dtype="float32") + 1)[::2, ::2].sum(),
    "standard normal sum": lambda: _rng().standard_normal(size=3_000_000).sum(),
    "normals stored": lambda: _normal(300, 4001),
    "float32 stored": lambda: _normal(300, 4001, dtype="float32"),
    "stride 3": lambda: _normal(300, 4001)[:, ::3],
    "rows of three": lambda: _normal(50_001, 3)[::3],
    "flipped, transposed": lambda: _normal(300, 401)[::-1, ::-2].T,
    "two streams": lambda: (lambda g: g.normal(size=(99, 3001)) * g.uniform(size=(99, 3001)))(
        _rng()
    ),
    "difference": lambda: (lambda x: x[1:] - x[:-1])(_normal(100_001)),
    "exponential": lambda: _rng().exponential(size=(33, 5000)).sum(axis=1),
    "uniform float32": lambda: _rng().uniform(2, 3, size=50_000, dtype="float32"),
    "integers": lambda: _rng().integers(-5, 1000, size=(77, 1001)),
    "wide integers": lambda: _rng().integers(-(2**62), 2**62, size=30_000),
    "stored sum, wild range": lambda: (sc.asarray(_DATA) * 2 + 1).sum(),
    "stored sum of rows": lambda: sc.asarray(_DATA)[:, ::5].sum(axis=1),
    "stored sum of columns": lambda: sc.asarray(_DATA).sum(axis=0),
    "stored, strided": lambda: sc.asarray(_DATA[::-2, ::3]) + 1,
    "sums of rows of eight": lambda: sc.asarray(_STORED.reshape(-1, 8)).sum(axis=1),
    "var of rows of three": lambda: sc.asarray(_STORED[:90_000].reshape(-1, 3)).var(axis=1),
    "sums of three columns": lambda: sc.asarray(_STORED[:90_000].reshape(-1, 3)).sum(axis=0),
    "sums of long columns": lambda: sc.asarray(_STORED.reshape(8, -1)).mean(axis=0),
    "two long rows": lambda: sc.asarray(_STORED.reshape(2, -1)).std(axis=1),
    "float32 cube": lambda: sc.asarray(_STORED.astype("f4").reshape(40, 50, 100)).std(axis=1),
    "float16 cube": lambda: sc.asarray(_STORED.astype("f2").reshape(40, 50, 100)).mean(axis=(0, 2)),
    "extremes of rows of eight": lambda: sc.asarray(_STORED.reshape(-1, 8)).max(axis=1),
    "places in long columns": lambda: sc.asarray(_STORED.reshape(8, -1)).argmin(axis=0),
    "places in two rows": lambda: sc.asarray(_STORED.reshape(2, -1)).argmax(axis=1),
    "float16 extremes": lambda: sc.asarray(_STORED.astype("f2").reshape(400, 500)).min(axis=0),
    "int16 sums of rows": lambda: sc.asarray(_WHOLE).sum(axis=1),
    "images": lambda: sc.asarray((_STORED * 50).astype("u1").reshape(-1, 100, 4)).mean(axis=(0, 1)),
    "a matrix and its transpose": lambda: (lambda x: (x + x.T).sum())(
        sc.asarray(_STORED[:90_000].reshape(300, 300))
    ),
    "rows with gaps": lambda: sc.asarray(_GAPS).mean(axis=1),
    "columns with ties": lambda: sc.asarray(np.float64(2.0) ** (_WHOLE % 60)).sum(axis=0),
    "var": lambda: _normal(1000, 1000).var(),
    "std of columns": lambda: sc.asarray(_DATA).std(axis=0, ddof=1),
    "centred": lambda: (lambda x: ((x - x.mean()) ** 2).sum())(_normal(500, 700)),
    "max of columns": lambda: _normal(500, 700).max(axis=0),
    "argmin": lambda: sc.asarray(_DATA).argmin(),
    "argmax of rows": lambda: sc.asarray(_DATA).argmax(axis=1),
    "any": lambda: (sc.asarray(_DATA) > 1e20).any(axis=0),
    "exp": lambda: sc.exp(sc.asarray(_DATA)),
    "exp float32": lambda: sc.exp(sc.asarray(_DATA.astype("float32"))),
    "where": lambda: sc.where(sc.asarray(_DATA) > 0, sc.sqrt(abs(sc.asarray(_DATA))), -1),
    "int16 division": lambda: sc.asarray(_WHOLE) // 7,
    "int16 remainder": lambda: sc.asarray(_WHOLE) % -7,
    "int16 sum": lambda: (sc.asarray(_WHOLE) + sc.asarray(_WHOLE)).sum(),
    "shifts": lambda: (sc.asarray(_WHOLE).astype("int64") << 3) ^ 0x55,
    "casts": lambda: sc.asarray(_DATA).astype("int32"),
    "eye": lambda: sc.eye(100, 90, k=3),
    "linspace": lambda: sc.linspace(0, 1, 1001),
    "subnormals": lambda: sc.asarray(np.array([5e-324, -1e-310, 2e-308])) * 1.0,
    "float32 subnormals": lambda: sc.asarray(np.array([1e-45, 3e-39], "float32")) * 0.5,
    "scalar": lambda: sc.asarray(3.0) + 1,
    "the sign of a zero": lambda: sc.asarray(np.float32(-0.0)),
    "of many zeros": lambda: sc.broadcast_to(sc.asarray(np.float64(-0.0)), (5, 300)),
    "of one assigned": lambda: sc.asarray(_assigned(np.array([1.0, 2.0], "float16"))),
    "places in all": lambda: sc.asarray(_DATA).argmax(),
    "places in a thousand": lambda: sc.asarray(_STORED[:1000]).argmin(),
    "places in few long columns": lambda: sc.asarray(_STORED[:196_608].reshape(12, -1)).argmax(0),
    "empty": lambda: _normal(0, 5).sum(axis=0),
}


@pytest.mark.parametrize("rung", [r for r in rungs.available() if r.startswith("gpu")])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_same_bits_as_the_cpu(name: str, rung: str) -> None:
    expected = np.asarray(EXPRESSIONS[name]().compute(on="core"))
    computed = np.asarray(EXPRESSIONS[name]().compute(on=rung))
    assert computed.dtype == expected.dtype
    assert computed.shape == expected.shape
    assert computed.tobytes() == expected.tobytes()


@pytest.mark.parametrize("rung", [r for r in rungs.available() if r.startswith("gpu")])
def test_a_thread_without_a_context_takes_one(rung: str) -> None:
    """A thread that asks the runtime for nothing before its launch: the pool has the memory."""
    x = sc.asarray(_STORED)
    makers: list[Callable[[], Any]] = [
        lambda: x + 1, lambda: x.sum(), lambda: x.cumsum(), lambda: (x - x.mean()).max(),
        lambda: sc.random.default_rng(0).integers(0, 9, size=70_000),
        lambda: x.reshape(8, -1).sum(0),
    ]  # fmt: skip
    for make in makers:
        want = make().compute(on="core")
        for _ in range(3):
            make().compute(on=rung)  # kernels and memory are there from now on
        for _ in range(3):
            with ThreadPoolExecutor(1) as fresh:
                got = fresh.submit(lambda make=make: make().compute(on=rung)).result()
            np.testing.assert_array_equal(got, want)


def test_results_can_stay_on_the_device() -> None:
    import cupy

    zero = sc.asarray(np.array([-0.0, -0.0])).max().compute(on="gpu", to="cupy")
    assert np.signbit(cupy.asnumpy(zero))

    x = _normal(100, 200)
    on_device = x.compute(on="gpu", to="cupy")
    assert isinstance(on_device, cupy.ndarray)
    assert cupy.asnumpy(on_device).tobytes() == x.compute(on="core").tobytes()
    assert float((x.persist(on="gpu") + 1).sum().compute(on="gpu")) == float((x + 1).sum())


def test_reductions_of_what_is_on_the_device_stay_there() -> None:
    import cupy

    x = cupy.asarray(_DATA)
    y = sc.asarray(x)
    for axis in (0, 1):
        for op in ("sum", "std"):
            on_device = getattr(y, op)(axis=axis).compute(on="gpu", to="cupy")
            assert isinstance(on_device, cupy.ndarray)
            expected = getattr(sc.asarray(_DATA), op)(axis=axis).compute(on="core")
            assert cupy.asnumpy(on_device).tobytes() == expected.tobytes()
    again = y.sum(axis=0)
    first = again.compute(on="gpu")
    x *= 2  # what a computation keeps for the next is not the data
    assert (again.compute(on="gpu") == 2 * first).all()


@pytest.mark.parametrize("op", ["cumsum", "cumprod", "prod"])
@pytest.mark.parametrize(
    "shape",
    [(3_000_001,), (3, 1_000_001), (50_000, 40), (400_000, 7), (20, 30, 5000), (9, 200_000)],
)
def test_scans_while_blocks_wait_for_each_other(op: str, shape: tuple[int, ...]) -> None:
    """Many blocks at once, again and again: the order in which they run decides nothing."""
    import cupy

    x = np.random.default_rng(5).normal(size=shape)
    x = x * 1e8 ** np.sin(np.arange(shape[-1])) if op == "cumsum" else 1 + x / 1000
    for values in (x, (x * 99).astype("int64"), x.astype("float32")):
        there = cupy.asarray(values)
        for axis in range(len(shape)):
            wanted = getattr(sc.asarray(values), op)(axis=axis).compute(on="cores")
            for _ in range(3):
                found = getattr(sc.asarray(there), op)(axis=axis).compute(on="gpu", to="cupy")
                assert isinstance(found, cupy.ndarray)
                assert cupy.asnumpy(found).tobytes() == np.asarray(wanted).tobytes()


def test_a_cupy_random_state_means_the_gpu() -> None:
    import cupy

    rs = sc.random.RandomState(3, RandomState=cupy.random.RandomState)
    y = rs.normal(10, 1, size=(1000, 1000), chunks=(100, 100)).sum()
    assert y.plan(scheduler="single-threaded").rung == "gpu"
    assert y.plan(scheduler="threads").rung == "gpus"


def test_results_of_regions_and_of_products_of_drawn_numbers_never_leave_the_gpu(
    monkeypatch: Any,
) -> None:
    import cupy

    u = np.random.default_rng(1).standard_normal((9, 40, 50))

    def turned(u: Any) -> Any:
        return (sc.roll(u, -1, axis=2) - sc.roll(u, -1, axis=1)).std(axis=0)

    def drawn() -> Any:
        return sc.random.default_rng(0).uniform(1, 2, (3000, 3)).prod(axis=1)

    wanted = turned(sc.asarray(u)).compute(on="core"), drawn().compute(on="core")
    there = turned(sc.asarray(cupy.asarray(u))), drawn()
    assert " regions" in str(there[0].plan(on="gpu"))
    for one, want in zip(there, wanted, strict=True):
        with monkeypatch.context() as patched:
            patched.setattr("speedcube.engine.scans.parts.ScanPart._products", None)
            patched.setattr("speedcube.engine.finished.gpu.FinishedPart.memory", None)
            result = one.compute(on="gpu", to="cupy")
        assert type(result) is cupy.ndarray
        assert result.get().tobytes() == want.tobytes()
        assert one.compute(on="gpu").tobytes() == want.tobytes()


def test_an_array_of_the_host_is_copied_once_for_all_that_a_stencil_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its inner elements and its edges are kernels of their own, each with many reads."""
    x = np.random.default_rng(5).normal(size=(900, 1200))
    copies, copy = list[Any](), gpu.device_copy

    def counted(array: Any) -> Any:
        copies.append(array.shape)
        return copy(array)

    monkeypatch.setattr(gpu, "device_copy", counted)
    for a in (x, x[::2, ::-1]):
        for _ in range(3):
            u = sc.asarray(a)
            for _ in range(2):
                u = np.roll(u, 1, 0) + np.roll(u, -1, 1) - np.roll(u, -1, 0) * 0.5
            copies.clear()
            made = abs(u).max().compute(on="gpu")
            assert len(copies) <= 1
        assert made == abs(u).max().compute(on="core")
