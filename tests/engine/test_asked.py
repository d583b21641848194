"""Loops that ask in each step: what was asked twice is kept, with the bits of what is made anew."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import machine
from speedcube.engine.asked import below, noticed, values
from speedcube.engine.asked import reading as asked
from speedcube.engine.asked.unwritten import Read
from speedcube.engine.known import budget
from speedcube.engine.stepwise import choice
from speedcube.engine.stepwise.run import StepByStep
from speedcube.errors import ParameterError
from speedcube.expr.nodes import Expr, Stored

RNG = np.random.default_rng(4)
STEPS = 24
SMALL, LARGE = (40, 50), (300, 700)  # node by node; by kernels


@pytest.fixture(autouse=True)
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many arrays were kept, each time."""
    asked.drop()
    filled, made = asked._filled, []

    def counted(ready: Any, make: Any) -> Any:
        found = filled(ready, make)
        made.append(len(found))
        return found

    monkeypatch.setattr(asked, "_filled", counted)
    with dask.config.set({asked.SETTING: "100 MB"}):
        yield made
    asked.drop()


def step(u: Any) -> Any:
    return u + 0.1 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) - 3 * u)


def asking(u: Any, steps: int = STEPS, ask: Callable[[Any], Any] = lambda u: u.max()) -> list[Any]:
    """What a loop is told in each step."""
    found = []
    for _ in range(steps):
        u = step(u)
        found.append(np.asarray(ask(u)))
    return found


def anew(program: Callable[[], Any]) -> Any:
    """What it gives where each computation makes all it needs, node by node."""
    with dask.config.set({asked.SETTING: 0}), choice.limited_to(1 << 20, 1 << 20):
        return program()


@pytest.mark.parametrize("shape", [SMALL, LARGE])
@pytest.mark.parametrize("on", ["core", "cores:2"])
def test_a_loop_that_asks_has_the_bits_of_one_that_makes_all_anew(
    shape: tuple[int, int], on: str, made: list[int]
) -> None:
    a = RNG.normal(size=shape)
    with sc.on(on):
        found = asking(sc.asarray(a), 12)
        assert made
        wanted = anew(lambda: asking(sc.asarray(a), 12))
    for one, other in zip(found, wanted, strict=True):
        assert_same_bits(one, other, "a step")


def test_each_step_computes_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not all steps before it: so many nodes lie above what is kept, however long the loop."""
    read: list[int] = []
    rebuilt = asked.reading

    def counted(roots: Any, nodes: Any, kept: Any) -> Any:
        if kept:
            read.append(len(nodes))
        return rebuilt(roots, nodes, kept)

    monkeypatch.setattr(asked, "reading", counted)
    asking(sc.asarray(RNG.normal(size=SMALL)), 40)
    assert len(read) > 60
    assert max(read[8:]) < below.HEAVY * 6


def test_backwards_through_the_steps_each_question_is_quick(made: list[int]) -> None:
    """All few numbers are kept at once: a path through the steps asks for the last one first."""
    d, costs = sc.asarray(RNG.normal(size=9)), RNG.normal(size=(80, 9, 9))
    best, backs = np.asarray(d), []
    for cost in costs:
        backs.append((d[:, None] + cost).argmax(axis=0))
        d = (d[:, None] + cost).max(axis=0)
    wanted = []
    for cost in costs:
        wanted.append((best[:, None] + cost).argmax(axis=0))
        best = (best[:, None] + cost).max(axis=0)
    state = asked._state
    for back, other in zip(backs[::-1], wanted[::-1], strict=True):
        np.testing.assert_array_equal(np.asarray(back), other)
    assert len(made) == 1
    assert made[0] > 79
    assert state.computations > 70


def test_of_a_loop_that_runs_again_only_what_it_shares_is_kept(made: list[int]) -> None:
    """All steps were kept as well, which nobody had asked for twice: 92 seconds for 0.3."""
    x, y = RNG.normal(size=(500, 9)), RNG.normal(size=500)
    rows = RNG.integers(0, 500, (40, 8))
    scaled = (sc.asarray(x) - sc.asarray(x).mean(axis=0)) / sc.asarray(x).std(axis=0)
    wanted, of = np.zeros(9), (x - x.mean(axis=0)) / x.std(axis=0)
    for some in rows:
        wanted = wanted - 0.1 * of[some].T @ (of[some] @ wanted - y[some]) / 8
    for _ in range(3):
        w = sc.zeros(9)
        for some in rows:
            w = w - 0.1 * scaled[some].T @ (scaled[some] @ w - y[some]) / 8
        np.testing.assert_allclose(w.compute(on="core"), wanted, rtol=1e-9)
    assert sum(made) <= 2  # the mean and the deviation


STATES: dict[str, Callable[[Any], Iterator[Any]]] = {}


def state(loop: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    STATES[loop.__name__] = loop
    return loop


@state
def a_wave(u: Any) -> Iterator[Any]:
    v = u * 0
    for _ in range(STEPS):
        v = v + 0.1 * (np.roll(u, 1, 0) - 2 * u + np.roll(u, -1, 0))
        u = u + 0.1 * v
        yield (v * v).sum() + abs(u).max()


@state
def until_it_stands_still(u: Any) -> Iterator[Any]:
    for _ in range(STEPS):
        new = step(u)
        yield abs(new - u).max()
        yield bool((abs(new - u) < 1e-3).all())
        u = new


@state
def with_edges(u: Any) -> Iterator[Any]:
    for _ in range(STEPS):
        new = u.copy()
        new[1:-1, 1:-1] = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) / 4
        new[0] = 1.0
        yield abs(new - u).max()
        u = new


@state
def frames(u: Any) -> Iterator[Any]:
    for _ in range(STEPS):
        u = step(u)
        frame = np.asarray(u)
        yield frame.copy()
        if frame.flags.writeable:
            frame[:] = np.nan  # a user's own


@state
def now_and_then(u: Any) -> Iterator[Any]:
    for k in range(3 * STEPS):
        u = step(u) if k % 7 else np.sort(u, axis=0)[::-1]
        if k % 5 == 0:
            yield u.std(axis=0)
        if k % 11 == 0:
            yield u[3, 4] + u[-1].sum()


@state
def with_masks(u: Any) -> Iterator[Any]:
    for _ in range(STEPS):
        u = np.where(u > u.mean(), step(u), u.cumsum(axis=1) / u.shape[1])
        u[u > 2] *= 0.5
        yield u[u > 0].sum()


@state
def of_complex_numbers(u: Any) -> Iterator[Any]:
    c = u - 0.5j * u
    z = c * 0
    for _ in range(STEPS):
        z = z * z * 0.25 + c
        yield abs(z).max()
        yield z[2, 3]


@state
def of_integers(u: Any) -> Iterator[Any]:
    g = (u > 0).astype("uint8")
    for _ in range(STEPS):
        n = sum(np.roll(np.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        g = ((n == 3) | ((g == 1) & (n == 2))).astype("uint8")
        yield g.sum()


@state
def both_at_once(u: Any) -> Iterator[Any]:
    for _ in range(STEPS):
        u = step(u)
        yield from sc.compute(u.max(), u.argmax(), u[0])


@pytest.mark.parametrize("name", STATES)
@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=str)
def test_loops(name: str, shape: tuple[int, int], made: list[int]) -> None:
    a = RNG.normal(size=shape)
    with np.errstate(all="ignore"):
        found = [np.asarray(one) for one in STATES[name](sc.asarray(a))]
        wanted = anew(lambda: [np.asarray(one) for one in STATES[name](sc.asarray(a))])
    assert len(made) > 3
    for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert one.dtype == other.dtype
        if one.dtype.kind == "c":
            one, other = (np.array([z.real, z.imag]) for z in (one, other))
        assert_same_bits(one, other, f"{name}, {k}")


@pytest.mark.parametrize("view", [False, True])
def test_what_is_written_behind_asarray_is_seen(view: bool) -> None:
    a = RNG.normal(size=SMALL)
    u = v = sc.asarray(a[::-1, ::2] if view else a)
    for _ in range(9):
        u = step(u)
        u.sum().compute()
    assert asked.held() > a[:, :25].nbytes * (1 if view else 2)
    a[7, 8] = 40
    for _ in range(9):
        v = step(v)
    assert_same_bits(u.max().compute(), anew(v.max().compute), "written")


@pytest.mark.parametrize("way", ["a weak reference", "an address"])
def test_what_is_written_by_who_holds_no_reference_is_seen(way: str) -> None:
    def told() -> list[float]:
        a = np.ones(SMALL)
        weak, at = weakref.ref(a), a.ctypes.data
        u, found = sc.asarray(a), []
        del a
        for k in range(30):
            u = step(u)
            found.append(float(u.sum()))
            if k == 20 and way == "an address":
                (ctypes.c_double * 2000).from_address(at)[:] = [7.0] * 2000
            elif k == 20:
                weak()[...] = 7.0  # type: ignore[index]
        return found

    assert told() == anew(told)


def test_of_a_large_array_only_what_is_read_is_compared(made: list[int]) -> None:
    x = sc.asarray(np.ones(1 << 22))
    asking(x[5000:7000].reshape(SMALL), ask=_within(40 * 2000 * 8))
    assert made


def _narrow(x: Any) -> None:
    u = x
    for _ in range(30):
        u = u * 0.9 + 0.1 * sc.sin(u)
        float(u[17])
    for k in range(20):
        float(u[k * 9 : k * 9 + 90].mean())


def _stream(x: Any) -> None:
    u = x * 0
    for k in range(30):
        u = u * 0.9 + sc.asarray(np.full(x.size, k * 1.0))
        float(u[:100].sum())
        float(u.max())


@pytest.mark.parametrize("program", [_narrow, _stream])
def test_what_takes_longer_to_keep_than_to_make_again_is_not_kept(
    program: Callable[[Any], None], made: list[int]
) -> None:
    """Few elements of a large array, each made alone; and data that are many, and read once."""
    program(sc.array(RNG.normal(size=400_000)))
    assert not made


def _without_copies(u: Any) -> Any:
    value = u.max().compute()
    kept = asked._state.kept.values()
    assert all(not w.nbytes for one in kept for w in one.witnesses.values())
    return value


def test_what_nobody_else_can_write_has_no_copy(made: list[int]) -> None:
    u = sc.array(RNG.normal(size=LARGE))
    asking(u, ask=_without_copies)
    asking(sc.asarray(np.ones(LARGE)).persist(), ask=_without_copies)
    assert len(made) > 30


@pytest.mark.parametrize("size", [1500, 200_000])
def test_a_window_that_moves_is_compared_as_one(size: int, made: list[int]) -> None:
    """An adaptive filter: each step reads other elements, and the error of the one before."""
    a, b = RNG.normal(size=size), RNG.normal(size=size)
    x, y = sc.asarray(a), sc.asarray(b)
    ours, error = sc.zeros(8), sc.zeros(size)
    theirs, wanted = np.zeros(8), np.zeros(size)
    for k in range(8, 400):
        error[k] = y[k] - (ours * x[k - 8 : k]).sum()
        wanted[k] = b[k] - float((sc.asarray(theirs) * a[k - 8 : k]).sum())
        ours = ours + 0.01 * error[k] * x[k - 8 : k]
        theirs = theirs + 0.01 * wanted[k] * a[k - 8 : k]
    np.testing.assert_array_equal(error, wanted)
    assert len(made) > 100
    for one in asked._state.kept.values():
        assert len(one.witnesses) < 5
    assert isinstance(error._expr.source, Stored)


def test_what_lies_beside_a_window_is_compared_with_it() -> None:
    stored = Stored(np.arange(100_000.0), "float64")
    assert Read(stored, 3, 40).widened == Read(stored, 0, 1 << 13)
    assert Read(stored, 99_000, 99_500).widened == Read(stored, 98_304, 100_000)
    wide = Read(stored, 10_000, 30_000).widened
    assert wide == Read(stored, 0, 1 << 15)
    assert Read(stored, 20_000, 20_001).is_part_of(wide)
    assert not Read(Stored(stored.buffer, "float64"), 20_000, 20_001).is_part_of(wide)
    turned = Read(Stored(stored.buffer[::-1], "float64"), 0, 40)
    assert turned.widened is turned


def test_what_is_assigned_in_place_counts() -> None:
    """Memory that an array alone has is written in place, where a step before it is kept."""
    u, a = sc.asarray(np.arange(40.0)), np.arange(40.0)
    for k in range(400):
        u[k % 40] = k * 0.5
        a[k % 40] = k * 0.5
        u, a = (u * 0.75 + 1, a * 0.75 + 1) if k % 3 else (u, a)
        if k % 4 == 0:
            assert float(u.max()) == a.max()


def test_the_same_question_twice_is_computed_twice() -> None:
    u = sc.asarray(RNG.normal(size=SMALL))
    for _ in range(20):
        u = step(u)
    part = u[3:, 1]
    for _ in range(4):
        u.compute()
        sc.compute(u, u)
    assert asked.held() == 0
    asked.drop()
    for _ in range(4):
        part.compute()
        sc.compute(part, part)
    assert asked.held() == 0
    part.copy()[::2].compute()
    assert asked.held() > 0


def test_what_is_cheap_is_not_kept() -> None:
    """Of a large array that little is made of, the few numbers that take long."""
    few = sc.asarray(RNG.normal(size=9))
    for _ in range(12):
        few = step(few[None])[0]
    big = sc.asarray(np.ones(1 << 20)).reshape(-1, 1)[:, 0] * few.sum()
    for k in range(4):
        (big + k).sum().compute()
        (big * k).mean(axis=0).compute()
    assert asked.held() < 10_000


def test_it_goes_with_the_array() -> None:
    u = sc.asarray(RNG.normal(size=(800, 700)))
    for _ in range(STEPS):
        u = step(u)
        u.sum().compute()
    assert values.IDLE * u.nbytes <= asked.held() <= (values.IDLE + 3) * u.nbytes
    del u
    gc.collect()
    assert asked.held() == 0
    assert not noticed._seen


def test_bounds(monkeypatch: pytest.MonkeyPatch, made: list[int]) -> None:
    a = RNG.normal(size=SMALL)
    for limit in (0, a.nbytes - 1, 2 * a.nbytes - 1):  # none, no array, no copy of the data beside
        with dask.config.set({asked.SETTING: limit}):
            asking(sc.asarray(a))
            assert not made
    with dask.config.set({asked.SETTING: 3 * a.nbytes}):
        asking(sc.asarray(a), ask=_within(3 * a.nbytes))
        assert len(made) > 9
        made.clear()
    asked.drop()
    with monkeypatch.context() as patch:
        patch.setattr(machine, "free_memory", lambda: budget.SHARE * (4 << 20))
        asking(sc.asarray(np.ones((800, 700))), 8)
        assert not made
    u = sc.asarray(a)
    for _ in range(9):
        u = step(u)
    with dask.config.set({asked.SETTING: "much"}), pytest.raises(ParameterError, match="keep-ask"):
        u.sum().compute()


def _within(limit: int) -> Callable[[Any], Any]:
    def ask(u: Any) -> Any:
        value = u.max().compute()
        assert asked.held() <= limit
        return value

    return ask


def test_without_memory_for_it_all_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    a = RNG.normal(size=SMALL)
    wanted = anew(lambda: asking(sc.asarray(a)))

    def none(*_: Any) -> Any:
        raise MemoryError

    monkeypatch.setattr(asked, "_filled", none)
    found = asking(sc.asarray(a))
    assert asked.held() == 0
    for one, other in zip(found, wanted, strict=True):
        assert_same_bits(one, other, "a step")


@pytest.mark.parametrize("source", ["a Dask array", "a function of Dask's"])
def test_what_could_be_anything_is_not_kept(source: str, made: list[int]) -> None:
    a = RNG.normal(size=SMALL)
    if source == "a Dask array":
        u = sc.asarray(da.from_array(a, chunks=20))
    else:
        u = sc.map_blocks(lambda block: -block[::-1], sc.asarray(a))
    asking(u, 10)
    assert not made


def test_files_are_read_again(tmp_path: Any, made: list[int]) -> None:
    a = RNG.normal(size=SMALL)
    np.save(tmp_path / "a.npy", a)
    asking(sc.from_npy(tmp_path / "a.npy"), 10)
    assert not made


def test_within_a_cache_values_are_kept_by_that(made: list[int]) -> None:
    with sc.cache("10 MB"):
        asking(sc.asarray(RNG.normal(size=SMALL)), 8)
    assert not made


def test_a_plan_reads_what_is_kept() -> None:
    u = sc.asarray(RNG.normal(size=LARGE))
    for _ in range(8):
        u = step(u)
        u.sum().compute(on="core")
    plan = u.max().plan(on="core")
    assert f"asked before: kept, {u.nbytes:,} bytes" in plan.reason
    assert len(plan.stages) == 1
    assert len(repr(plan)) < 500
    with sc.cache("1 MB"):
        assert "kept" not in u.max().plan(on="core").reason
    with dask.config.set({asked.SETTING: 0}):
        assert "kept" not in u.max().plan(on="core").reason


def test_threads() -> None:
    a = RNG.normal(size=SMALL)
    wanted = anew(lambda: asking(sc.asarray(a)))
    u = sc.asarray(a)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: asking(u), range(8)):
            for one, other in zip(found, wanted, strict=True):
                assert_same_bits(one, other, "a step")


def _on_device(u: Any) -> Any:
    value = u.max().compute()
    assert all(one.stored.on_device for one in asked._state.kept.values())
    return value


@pytest.mark.gpu
def test_on_a_gpu_it_stays_there(made: list[int]) -> None:
    a = RNG.normal(size=LARGE)
    with sc.on("gpu"):
        found = asking(sc.array(a), 12, _on_device)
        assert made
        asked.drop()
        taken = asking(sc.array(a), 12, lambda u: u.compute(to="cupy").get())
    wanted = anew(lambda: asking(sc.array(a), 12))
    frames = anew(lambda: asking(sc.array(a), 12, lambda u: u))
    for one, other in zip([*found, *taken], [*wanted, *frames], strict=True):
        assert_same_bits(one, other, "a step")


def _calls_of_a_path(steps: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Kernels that a path of a planet takes whose every place is noted in an array."""
    calls = [0]
    kernel = StepByStep.kernel

    def counted(self: StepByStep, root: Expr) -> Any:
        calls[0] += 1
        return kernel(self, root)

    where, speed = sc.array([1.0, 0.0]), sc.array([0.0, 6.0])
    path, energy = sc.zeros((steps, 2)), sc.zeros(steps)
    with monkeypatch.context() as patch, sc.on("core"):
        patch.setattr(StepByStep, "kernel", counted)
        for k in range(steps):
            speed = speed - 0.08 * where / np.linalg.norm(where) ** 3
            where = where + 0.002 * speed
            path[k] = where
            energy[k] = 0.5 * np.dot(speed, speed) - 39 / np.linalg.norm(where)
        assert np.isfinite(np.asarray(path)).all()
        assert np.isfinite(np.asarray(energy)).all()
    return calls[0]


def test_places_of_a_path_that_are_noted_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is put into memory after some tens of assignments is a question, too."""
    with choice.limited_to(choice.MOST, choice.FIRST), np.errstate(all="ignore"):
        few, many = (_calls_of_a_path(steps, monkeypatch) for steps in (100, 400))
    assert few > 100
    assert many < 5 * few
