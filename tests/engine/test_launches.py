"""Programs on a GPU played by the host: launches that were prepared once give the CPU's bits."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from cuda_host import COMPILER, ONE, DeviceArray, HostKernels, fake_cupy, source, texts
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import gpu
from speedcube.engine.compute import plan_for
from speedcube.engine.known import alone, launches
from speedcube.engine.prepare import prepare
from speedcube.engine.scans import launched
from speedcube.engine.small import device, known
from speedcube.expr.nodes import c_strides
from speedcube.plan.regions import regions_of


def _numbers(*shape: int, dtype: str = "float64", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 50, size=shape).astype(dtype)


def _loop(step: Callable[[Any], Any], u: Any, steps: int) -> Any:
    for _ in range(steps):
        u = step(u)
    return u


def _heat(u: Any) -> Any:
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return u[1:-1, 1:-1] + 0.2 * (around - 4 * u[1:-1, 1:-1])


def _life(cells: Any) -> Any:
    near = sc.roll(cells, 1, 0) + sc.roll(cells, -1, 0) + cells
    near = sc.roll(near, 1, 1) + sc.roll(near, -1, 1) + near - cells
    return ((near == 3) | ((near == 2) & (cells == 1))).astype("int8")


def _bytes(x: np.ndarray, dtype: str) -> np.ndarray:
    """Rows that need more than a thread block: a whole tile, and most of another one."""
    return np.resize(x.astype(dtype), (3, 4005))


def _shifted(x: Any) -> Any:
    """Neighbours at every distance from a word's first byte."""
    return x[1:, 1:-4] * 3 + x[:-1, 2:-3] - x[1:, 3:-2] * x[:-1, 5:]


X, CELLS = _numbers(40, 61), _numbers(30, 45, dtype="int8") & 1

PROGRAMS: dict[str, Callable[[Any, Any], sc.Array]] = {
    "heat": lambda x, _: _loop(_heat, sc.asarray(x), 4),
    "heat in a cold rim": lambda x, _: _loop(lambda u: sc.pad(_heat(u), 1), sc.asarray(x), 3),
    "life": lambda _, cells: _loop(_life, sc.asarray(cells), 3),
    "bytes in rows": lambda x, _: _shifted(sc.asarray(_bytes(x, "uint8"))),
    "two bytes in rows": lambda x, _: _shifted(sc.asarray(_bytes(x, "int16"))),
    "bytes and doubles in rows": lambda x, _: sc.pad(
        _shifted(sc.asarray(_bytes(x, "int8"))) * 0.5, ((1, 0), (3, 2))
    ),
    "short rows of bytes": lambda _, cells: sc.asarray(cells)[:, 3:7].T[1:] > 0,
    "joined": lambda x, _: sc.concatenate([sc.asarray(x), sc.asarray(x) * 2]),
    "side by side": lambda x, _: sc.concatenate([sc.asarray(x), sc.asarray(x) + 1], axis=1),
    "stacked last": lambda x, _: sc.stack([sc.asarray(x), -sc.asarray(x)], axis=2),
    "padded": lambda x, _: sc.pad(sc.asarray(x), ((2, 1), (0, 3)), constant_values=7),
    "standardised": lambda x, _: (sc.asarray(x) - sc.asarray(x).mean()) / sc.asarray(x).std(),
    "a running sum between": lambda x, _: sc.pad(sc.asarray(x).cumsum(axis=1) * 2, 1),
}


def _texts(array: sc.Array) -> list[str]:
    """The kernels of ``array``, those of regions as they store into the result."""
    plan, _ = plan_for(array._expr, ONE, None, False)
    found = texts(array, ONE)
    for stage in plan.stages:
        if stage.source is None:
            for one in regions_of(stage, stage.parts[0]):
                found.append(source(prepare(one.stage, one.part, c_strides(stage.shape)).program))
    return found


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> HostKernels:
    if COMPILER is None:
        pytest.skip("neither g++ nor clang++ is on PATH")
    sources = [text for make in PROGRAMS.values() for text in _texts(make(X, CELLS))]
    return HostKernels(list(dict.fromkeys(sources)), tmp_path_factory.mktemp("launches"))


@pytest.fixture
def cupy(library: HostKernels, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = fake_cupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(gpu, "gpu_kernel", library.kernel)
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_other_data_give_the_cpus_bits(cupy: ModuleType, name: str) -> None:
    """The first time launches are prepared, then they are only given where arrays lie."""
    for seed in range(3):
        x, cells = _numbers(40, 61, seed=seed), _numbers(30, 45, dtype="int8", seed=seed) & 1
        array = PROGRAMS[name](x, cells)
        got = engine.compute_all([array._expr], ONE)[0]
        assert isinstance(got, np.ndarray)
        assert_same_bits(np.asarray(got), array.compute(on="core"), f"{name} {seed}")


def test_a_thread_takes_a_context_before_its_first_launch(cupy: ModuleType) -> None:
    """The driver refuses a launch of a thread that has called nothing of the runtime."""
    taken: list[int] = []
    cupy.cuda.runtime.free = lambda address: taken.append(threading.get_ident())
    array = PROGRAMS["life"](X, CELLS)
    for _ in range(2):
        with ThreadPoolExecutor(1) as fresh:
            for _ in range(2):
                fresh.submit(engine.compute_all, [array._expr], ONE).result()
    assert len(taken) == 2  # once a thread
    assert threading.get_ident() not in taken


def test_regions_store_where_the_result_lies(library: HostKernels, cupy: ModuleType) -> None:
    """Nothing is made beside the result and copied: as many arrays as stages."""
    made: list[tuple[int, ...]] = []
    empty = cupy.empty

    def counted(shape: tuple[int, ...], dtype: str) -> Any:
        made.append(shape)
        return empty(shape, dtype)

    array = PROGRAMS["life"](X, CELLS)
    plan, _ = plan_for(array._expr, ONE, None, False)
    alone.run_alone(plan, 0, True)
    cupy.empty = counted  # type: ignore[attr-defined]
    library.launches = 0
    alone.run_alone(plan, 0, True)
    assert made == [stage.shape for stage in plan.stages]
    regions = [len(regions_of(stage, stage.parts[0])) for stage in plan.stages]
    assert library.launches == sum(regions) > len(plan.stages)


def test_constants_and_seeds_are_taken_anew(library: HostKernels, cupy: ModuleType) -> None:
    for number in (2.0, 3.5):
        array = sc.concatenate([sc.asarray(X), sc.asarray(X) * number])
        got = engine.compute_all([array._expr], ONE)[0]
        np.testing.assert_array_equal(got, np.concatenate([X, X * number]))


def test_what_is_kept_holds_no_data_and_goes_with_its_plan(cupy: ModuleType) -> None:
    data = X.copy()
    array = PROGRAMS["heat"](data, None)
    engine.compute_all([array._expr], ONE)
    gone = weakref.ref(data)
    del data, array
    gc.collect()
    assert gone() is None
    plan, _ = plan_for(PROGRAMS["heat"](X, None)._expr, ONE, None, False)
    alone.run_alone(plan, 0, True)
    assert plan in alone._idle
    kept = weakref.ref(plan)
    del plan
    gc.collect()
    assert kept() is None


SMALL: dict[str, Callable[[Any, Any], sc.Array]] = {
    "store": lambda x, y: x * 2.5 + y,
    "of bools": lambda x, y: x > y,
    "sum": lambda x, y: (x * 2.5 + y).sum(),
    "extreme": lambda x, y: x.max(),
    "place": lambda x, y: (x * y).argmin(),
    "columns": lambda x, y: x.mean(axis=0),
    "rows": lambda x, y: x.std(axis=1),
    "anomalies": lambda x, y: x - x.mean(axis=0),
    "standardised": lambda x, y: (x - x.mean(axis=0)) / x.std(axis=0),
    "running sums": lambda x, y: x.cumsum(axis=1),
    "drawn": lambda x, y: x + sc.random.default_rng(int(y.shape[0])).normal(size=x.shape),
}


@pytest.mark.parametrize("stays", [True, False])
@pytest.mark.parametrize("name", SMALL)
def test_what_is_met_again_is_launched_without_a_walk(
    cupy: ModuleType, monkeypatch: pytest.MonkeyPatch, name: str, stays: bool
) -> None:
    known._known.clear()
    known._met.clear()
    for seed in range(3):
        arrays = [_numbers(9, 31, seed=seed), _numbers(9, 31, seed=seed + 5)]
        there = [sc.asarray(one.view(DeviceArray)) for one in arrays]
        wanted = SMALL[name](*map(sc.asarray, arrays)).compute(on="core")
        got = device.value_on_gpu(SMALL[name](*there)._expr, 0, stays)
        assert isinstance(got, DeviceArray) is stays
        assert_same_bits(np.asarray(got), np.asarray(wanted), f"{name} {seed}")
        monkeypatch.setattr(device, "structure_of", None)  # of what is met again
    known._met.clear()


def test_lengths_and_numbers_are_arguments_of_a_launch(cupy: ModuleType) -> None:
    known._known.clear()
    known._met.clear()
    for n, number in ((40, 1.5), (41, -0.0), (3000, 2.0), (7, np.inf), (40, 1e-320)):
        x = _numbers(n, seed=n)
        there = sc.asarray(x.view(DeviceArray))
        for text in (lambda u, c=number: u * c, lambda u, c=number: (u * c).max()):
            got = device.value_on_gpu(text(there)._expr, 0, False)
            wanted = text(sc.asarray(x)).compute(on="core")
            assert_same_bits(np.asarray(got), np.asarray(wanted), f"{n} {number}")
    assert len(known._met._known) == 4  # two on this machine's cores
    known._met.clear()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_number_keeps_its_sign(cupy: ModuleType, dtype: str) -> None:
    """CuPy alone takes the sign of a zero without axes."""
    number = np.array(-0.0, dtype)
    for text in (lambda u: u, lambda u: sc.copysign(1, u), lambda u: sc.broadcast_to(u, 3)):
        for _ in range(2):
            wanted = np.asarray(text(sc.asarray(number)).compute(on="core"))
            got = device.value_on_gpu(text(sc.asarray(number))._expr, 0, False)
            assert_same_bits(np.asarray(got), wanted, dtype)
    there = sc.asarray(np.array([-0.0, -0.0], dtype).view(DeviceArray))
    assert np.signbit(np.asarray(device.value_on_gpu(there.max()._expr, 0, True)))


def test_lengths_that_are_met_twice_have_their_own_launch(cupy: ModuleType) -> None:
    known._known.clear()
    known._met.clear()
    device._lengths.clear()
    for turn in range(4):
        for n in (3, 1000, 77):
            x = _numbers(n, seed=n + turn)
            there = sc.asarray(x.view(DeviceArray))
            got = device.value_on_gpu(there.max()._expr, 0, False)
            assert_same_bits(np.asarray(got), np.asarray(x.max()), f"{n} {turn}")
        own = [one for one in device._lengths._known.values() if one is not True]
        assert len(own) == (2 if turn else 0)  # the first length is its kernel's
    assert all(one.finished and one.finished[0].launch is not None for one in own)
    device._lengths.clear()


NARROW, FEW = np.array([1.0, 3.0, -2.0]), 700
# Running sums one after the other: whether those of the second are made in the unit of the first.
AFTER: dict[str, tuple[np.ndarray, np.ndarray, int]] = {
    "the same numbers": (_numbers(FEW), _numbers(FEW), 2),
    "like numbers": (_numbers(FEW), _numbers(FEW, seed=3), 2),
    "wider ones": (np.resize(NARROW, FEW), np.resize([1e300, 1e-300, -5e-324], FEW), 3),
    "less wide ones": (np.resize([1e300, 1e-300], FEW), np.resize(NARROW, FEW), 2),
    "smaller ones": (np.resize(NARROW, FEW), np.resize(NARROW, FEW) * 2.0**-200, 3),
    "special ones": (np.resize(NARROW, FEW), np.resize([1.0, np.inf, np.nan], FEW), 3),
    "zeros": (np.resize(NARROW, FEW), np.zeros(FEW), 2),
    "after zeros": (np.zeros(FEW), np.resize(NARROW, FEW) * 2.0**80, 3),
}


@pytest.mark.parametrize("name", AFTER)
def test_running_sums_are_made_in_the_last_unit_if_it_holds_them(
    library: HostKernels, cupy: ModuleType, name: str
) -> None:
    """One launch looks at the elements, one adds; another one where the unit was wrong."""
    launched._known.clear()
    first, second, launches = AFTER[name]
    for x, expected in ((first, 2), (second, launches), (second, 2)):
        library.launches = 0
        there = sc.asarray(x.view(DeviceArray)).cumsum()
        got = device.value_on_gpu(there._expr, 0, True)
        assert_same_bits(np.asarray(got), sc.asarray(x).cumsum().compute(on="core"), name)
        assert library.launches == expected
    assert [len(idle) for idle in launched._known.values()] == [1]


def test_shapes_of_running_sums_that_are_forgotten(
    cupy: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched._known.clear()
    monkeypatch.setattr(launched, "MOST", 3)
    for n in range(1, 8):
        x = _numbers(n, 3, seed=n)
        for axis in (0, 1):
            got = device.value_on_gpu(sc.asarray(x.view(DeviceArray)).cumsum(axis)._expr, 0, False)
            assert_same_bits(np.asarray(got), sc.asarray(x).cumsum(axis).compute(on="core"))
    assert len(launched._known) == 3


@pytest.mark.parametrize("axis", [None, 1, (1, 2), -1])
def test_products_of_what_lies_in_order_need_no_plan(cupy: ModuleType, axis: Any) -> None:
    x = np.random.default_rng(4).uniform(0.9, 1.1, size=(3, 5, 40))
    for data in (x, (x * 10).astype("int64")):
        there = sc.asarray(data.view(DeviceArray)).prod(axis=axis)
        got = device.value_on_gpu(there._expr, 0, True)
        whole = axis != 1  # whose lines lie apart: the planner's
        assert (got is not None) is whole
        if whole:
            wanted = sc.asarray(data).prod(axis=axis).compute(on="core")
            assert_same_bits(np.asarray(got), np.asarray(wanted))


def test_kernels_of_a_program_are_compiled_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, by several threads, before the first launch is made."""
    array = sc.asarray(_numbers(200, 300))
    for k in range(10):
        array = (array - array.mean(axis=k % 2, keepdims=True)) / (array * array + k + 1).sum()
        array = sc.roll(array, k, 0) * 0.5 + sc.sqrt(abs(array)) ** (k % 3)
    plan, _ = plan_for(array._expr, ONE, None, False)
    both, asked = threading.Barrier(2, timeout=30), list[tuple[Any, int]]()

    def compiled(program: Any, device: int) -> None:
        asked.append((program, threading.get_ident()))
        if len(asked) <= 2:
            both.wait()  # for the other thread

    monkeypatch.setattr(gpu, "gpu_kernel", compiled)
    monkeypatch.setattr(gpu, "cores", lambda: 2)
    stages = [one.visited for one in plan.passes if one.together is None]
    launches.compile_together(stages, 0)
    assert len(asked) == len({program for program, _ in asked}) > 4
    assert len({thread for _, thread in asked}) == 2
