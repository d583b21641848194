"""Programs that were seen run again with other data, numbers and keys: the bits of a new plan."""

from __future__ import annotations

import gc
import math
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import machine
from speedcube.engine import prepare as preparing
from speedcube.engine.ahead import look
from speedcube.engine.known import by_plan, memory
from speedcube.engine.small import first, lines
from speedcube.engine.small import known as small
from speedcube.engine.tiers import tiers
from speedcube.errors import MemoryLimitError
from speedcube.kernel.lower import alike
from speedcube.plan import plan as planning


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test begins without programs that others have seen; those of few elements are some."""
    monkeypatch.setattr(lines, "MOST_LENGTH", -1)
    monkeypatch.setattr(first, "MOST", -1)
    monkeypatch.setattr(look, "NODES", 0)
    monkeypatch.setattr(small, "FEW_VALUES", 0)
    memory._known.clear()
    small._met.clear()
    yield
    memory._known.clear()


class Counts:
    """How often something was planned and lowered."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.plans = self.lowered = 0
        plan, lower = memory.make_plan, preparing.lower

        def planned(*arguments: Any) -> Any:
            self.plans += 1
            return plan(*arguments)

        def lowered(*arguments: Any) -> Any:
            self.lowered += 1
            return lower(*arguments)

        patch.setattr(memory, "make_plan", planned)
        patch.setattr(preparing, "lower", lowered)


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counts:
    return Counts(monkeypatch)


def anew(array: sc.Array, on: str) -> Any:
    """What a plan that nobody has seen gives."""
    rung = engine.resolve(on, None, 1, False)
    return engine._run(engine.planned_on([array._expr], rung, {}), [array._expr], rung, "numpy")[0]


def same(array: sc.Array, on: str = "core") -> None:
    known, new = array.compute(on=on), anew(array, on)
    assert type(known) is type(new)
    assert (known.dtype, known.shape) == (new.dtype, new.shape)
    assert known.tobytes() == new.tobytes(), array


def _loop(u: sc.Array, c: float, steps: int = 6) -> sc.Array:
    for _ in range(steps):
        u = (u[:-2] - c * u[1:-1] + u[2:]) * 0.25
    return u


def _noisy(u: sc.Array, seed: int) -> sc.Array:
    draw = sc.random.default_rng(seed)
    for _ in range(3):
        u = np.exp(np.sin(u[1:] + draw.normal(size=u.shape[0] - 1))) - u[:-1]
    return u.sum()


def _lines(x: sc.Array, c: float) -> sc.Array:
    y = x.cumsum(axis=1) * c
    return y[:, 1:] - y[:, :-1] + y.mean(axis=0)[1:]


Make = Callable[[np.random.Generator, float], sc.Array]
# Of data and a number: made twice, with others, each is one program.
ONE_PROGRAM: dict[str, Make] = {
    "standardised": lambda g, c: (lambda x: ((x - x.mean()) / x.std() * c).sum())(
        sc.asarray(g.normal(size=900))
    ),
    "loop": lambda g, c: _loop(sc.asarray(g.normal(size=5000)), c),
    "noise": lambda g, c: _noisy(sc.asarray(g.normal(size=3000)), g.integers(2**31)),
    "columns": lambda g, c: (lambda x: (x - x.mean(axis=0)) / (x.std(axis=0) + c))(
        sc.asarray(g.normal(size=(60, 40)))
    ),
    "scans": lambda g, c: _lines(sc.asarray(g.normal(size=(20, 30))), c),
    "products": lambda g, c: (sc.asarray(g.normal(size=(9, 30))) * c).prod(axis=1).max(),
    "float16": lambda g, c: (lambda x: (x - x.mean() * c).sum())(
        sc.asarray(g.normal(size=300).astype("f2"))
    ),
    "float32": lambda g, c: (lambda x: x / x.max() - np.float32(c))(
        sc.asarray(g.normal(size=300).astype("f4"))
    ),
    "integers": lambda g, c: (lambda x: (x * 3 - x.max()).sum())(sc.asarray(g.integers(0, 99, 70))),
    "places": lambda g, c: sc.take(sc.asarray(g.normal(size=50)) * c, g.integers(0, 50, 9)) + c,
}  # fmt: skip
NUMBERS = (1.25, -0.0, 0.0, math.inf, math.nan, 1e-320)


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("name", ONE_PROGRAM)
def test_data_and_numbers_are_arguments(name: str, on: str, counts: Counts) -> None:
    draw = np.random.default_rng(1)
    array = ONE_PROGRAM[name](draw, 0.5)
    value = array.compute(on=on)
    assert value.tobytes() == anew(array, on).tobytes()
    for number in NUMBERS:
        array = ONE_PROGRAM[name](draw, number)
        known = array.compute(on=on)
        new = anew(array, on)
        assert known.tobytes() == new.tobytes(), (name, number)
        assert (known.dtype, known.shape, type(known)) == (new.dtype, new.shape, type(new))
    assert counts.plans <= 1  # none where it is one small kernel


def test_nothing_is_lowered_again(counts: Counts) -> None:
    draw = np.random.default_rng(2)
    _loop(sc.asarray(draw.normal(size=5000)), 1.5).compute(on="core")
    lowered = counts.lowered
    for number in NUMBERS:
        _loop(sc.asarray(draw.normal(size=5000)), number).compute(on="core")
    assert counts.lowered == lowered


# What counts is told apart: none of these is another's program.
def _pairs() -> dict[str, tuple[sc.Array, sc.Array]]:
    a, b = (sc.asarray(np.random.default_rng(k).normal(size=(30, 30))) for k in (1, 2))
    draw = sc.random.default_rng(3)
    r, s = draw.normal(size=30), draw.normal(size=30)
    whole = sc.asarray(np.arange(30))

    def less_mean(x: sc.Array) -> sc.Array:
        return (x - x.mean()).sum(axis=0)

    def told(x: sc.Array, c: Any) -> sc.Array:
        return sc.where(x - x.mean() > 0, x, c).std()

    return {
        "the same array twice": (less_mean(a + b), less_mean(a + a)),
        "the same draws twice": (less_mean(r - s), less_mean(r - r)),
        "the same number twice": (less_mean(a * 3.0 + 3.0), less_mean(a * 3.0 + 4.0)),
        "dtypes": (less_mean(a), less_mean(a.astype("float32"))),
        "stored dtypes": (
            less_mean(sc.asarray(np.ones(9))),
            less_mean(sc.asarray(np.ones(9, "float32"))),
        ),
        "strides": (less_mean(a - b), less_mean(a.T - b)),
        "offsets": (less_mean(a[1:] - b[:-1]), less_mean(a[:-1] - b[:-1])),
        "axes": ((a - a.mean(axis=0)).sum(), (a - a.mean(axis=1)).sum()),
        "degrees of freedom": ((a / a.std()).sum(), (a / a.std(ddof=1)).sum()),
        "kinds": ((a / a.std()).sum(), (a / a.mean()).sum()),
        "truth": (told(whole, 1), told(whole, True)),
        "folded": (
            less_mean(a * sc.exp(sc.full((30, 30), 1.0))),
            less_mean(a * sc.exp(sc.full((30, 30), 2.0))),
        ),
        "bounds": (
            (sc.clip(a, -1, 1) - a.mean()).sum() + sc.clip(a, -1.0, 1.0).sum(),
            (sc.clip(a, -9, 9) - a.mean()).sum() + sc.clip(a, -9.0, 9.0).sum(),
        ),
        "what is drawn": ((r - r.mean()).sum(), (lambda x: (x - x.mean()).sum())(draw.random(30))),
        "parameters": (
            less_mean(draw.normal(0, 1, size=30)),
            less_mean(draw.normal(5, 2, size=30)),
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", _pairs())
def test_what_counts_is_told_apart(name: str) -> None:
    for array in (*_pairs()[name], *_pairs()[name]):
        same(array)


def test_integer_numbers_are_arguments_where_nothing_follows_from_them(counts: Counts) -> None:
    x = np.arange(50)
    for k in range(-3, 4):
        y = sc.asarray(x * k)
        same((y * k - y.max()).sum())
        same((y.astype("float16") * k - y.astype("float16").max()).sum())
    assert counts.plans == 2


def test_a_loop_that_computes_now_and_then_is_planned_once(counts: Counts) -> None:
    u = np.random.default_rng(4).normal(size=(50, 50))

    def step(u: Any) -> Any:
        inner = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) * 0.25
        return u * 0.5 + inner.mean()

    v, w = sc.asarray(u), u
    for _ in range(6):
        for _ in range(3):
            v, w = step(v), step(w)
        v = v.persist(on="core")
        np.testing.assert_allclose(v.compute(on="core"), w)
    assert counts.plans == 1


def _stencil(data: np.ndarray, numbers: Any) -> sc.Array:
    u = sc.asarray(data)
    for number in numbers:
        u = u[:, 2:] * number - u[:, 1:-1] / 3 + u[:, :-2]
    return u


def test_equal_stages_are_lowered_once() -> None:
    data = np.random.default_rng(5).normal(size=(400, 3000))
    alike._patterns.clear()
    u = _stencil(data, [0.5] * 20)
    kernels = tiers.cache_info().misses
    assert len(u.plan(on="core").stages) == 10
    same(u)
    assert tiers.cache_info().misses - kernels <= 2
    assert len(alike._patterns) == 1
    same(_stencil(data[:, 1000:], [0.5] * 10))
    assert len(alike._patterns) == 1
    same(_stencil(data, [math.nan, -math.nan, 0.0, -0.0]))  # numbers that each have their own
    assert tiers.cache_info().misses - kernels <= 2


def test_steps_with_a_number_of_their_own_are_lowered_once() -> None:
    data = np.random.default_rng(5).normal(size=(400, 3000))
    alike._patterns.clear()
    kernels = tiers.cache_info().misses
    same(_stencil(data, [0.5 + 0.1 * k for k in range(20)]))
    assert len(alike._patterns) == 1
    same(_stencil(data, [sc.cos(0.1 * k) * 2 for k in range(20)]))
    assert len(alike._patterns) == 2
    assert tiers.cache_info().misses - kernels <= 4


def test_a_program_with_a_nan_in_it_is_the_same_when_it_is_lowered_again() -> None:
    x = sc.asarray(np.random.default_rng(6).normal(size=20_000))  # of infinity a sine is NaN
    same(sc.sin(x[1:]) + x[:-1] * x[1:])
    kernels = tiers.cache_info().misses
    alike._patterns.clear()
    same(sc.sin(x[2:]) + x[:-2] * x[2:])
    assert len(alike._patterns) == 1
    assert tiers.cache_info().misses == kernels


def test_alike_is_what_has_the_same_bounds_and_places() -> None:
    """Programs that differ by one thing, each beside one that was lowered by itself."""
    a = sc.asarray(np.random.default_rng(7).normal(size=(70, 70)))
    draw = sc.random.default_rng(8)
    r = [draw.normal(0, scale, size=(70, 70)) for scale in (1.0, 1.0, 1e3)]
    n = sc.arange(4900).reshape(70, 70)
    arrays = [
        *((x * 2.0).sum() for x in (a, a.T, a[::-1], *r, n, n[1:], n[:, ::2])),
        *((x + x).sum(axis=0) for x in (a, r[0], r[2], n)),
        *((x * y).sum() for x, y in ((a, a), (a, r[0]), (r[0], r[0]), (r[0], r[1]))),
        *(sc.dot(a[0], x) for x in (a[0], a[1], a[:, 0])),
        *(x.std(ddof=d) for x in (a, a[:, :9], a.astype("f4")) for d in (0, 1)),
        *(x.argmax(axis=k) for x in (a, n) for k in (0, 1, None)),
        *(sc.take(x, sc.asarray(np.array([3, 1, 2]))) for x in (a[0], r[0][0], r[1][0])),
        *(sc.where(a > 0, x, a) for x in (math.nan, -math.nan, 0.0, -0.0, 1.0)),
        *(sc.clip(a, -x, x).sum() for x in (1.0, 2.0, math.inf)),
        *(a * sc.sin(x) - sc.exp(sc.cos(x) * 3) for x in (0.1, 0.2, math.nan, math.inf, -0.0)),
        *((a * sc.sin(x)).sum() for x in (0.1, 0.2, math.nan, -0.0)),
        *((r[0] * sc.exp(x)).sum() for x in (0.1, 0.2, 30.0, 800.0)),
        *((r[0].astype("f4") * x).std() for x in (0.1, 3.0, 1e30)),
        *(sc.full((70, 70), x).sum() for x in (0.1, 3.0, 1e300, math.nan)),
        *(sc.where(n % 2 == 0, sc.sqrt(x), n) for x in (2.0, 3.0, -1.0, math.inf)),
        *(sc.where(n % 3 == 0, x, n).mean(axis=0) for x in (2, 3, 2**60)),
        *((a.astype("f2") * x).max(axis=1) for x in (2.0, 3.0, 1e9)),
    ]
    together = [anew(array, "core") for array in arrays]
    for array, value in zip(arrays, together, strict=True):
        alike._patterns.clear()
        assert anew(array, "core").tobytes() == value.tobytes(), array


def test_programs_are_alike_whichever_constants_of_theirs_are_one() -> None:
    """One number at several places of a program, of which others have one at each."""
    data = np.random.default_rng(9).normal(size=(300, 400))
    x = sc.asarray(data)

    def step(m: Any, x: Any, a: Any, b: Any) -> Any:
        z = m.roll(x, 1, 0) * a + a
        return m.roll(z, 1, 1) * x + m.roll(z, 2, 0) * b

    two, three, five = (sc.full((), value) for value in (2.0, 3.0, 5.0))
    alike._patterns.clear()
    for a, b in ((two, two), (two, three), (three, two), (five, three)):
        assert_same_bits(
            step(sc, x, a, b).compute(on="core"), step(np, data, float(a), float(b)), "step"
        )


def test_numbers_made_of_one_another_are_made_once() -> None:
    data = np.random.default_rng(9).normal(size=(30, 40))
    x = sc.asarray(data)
    alike._patterns.clear()
    for value in (1.0, 1.5):
        number = sc.sin(sc.full(data.shape, value))
        for _ in range(60):
            number = number * 0.5 + number * 0.25  # each is twice a part of the next
        y = sc.roll(x * number, 1, 0) + x * number
        found = anew(y, "core")
    alike._patterns.clear()
    assert_same_bits(found, anew(y, "core"))


def test_no_array_of_a_user_is_kept() -> None:
    a = np.random.default_rng(6).normal(size=(30, 30))
    gone = weakref.ref(a)
    x = sc.asarray(a)
    for y in ((x / x.std()).sum(), x.cumsum(axis=0).max(), x - x.mean(axis=0)):
        y.compute(on="core")
        y.compute(on="cores:2")
    del a, x, y
    gc.collect()
    assert memory._known
    assert gone() is None


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST", 8)
    for n in range(2, 30):
        x = sc.asarray(np.arange(float(n)))
        assert (x - x.mean()).max().compute(on="core") == (n - 1) / 2
    assert len(memory._known) <= 8
    monkeypatch.setattr(memory, "MOST_NODES", 100)
    x = sc.asarray(np.arange(9.0))
    for _ in range(28):
        x = x + x.max()
        x.compute(on="core")
    assert sum(entry.nodes for entry in memory._known.values()) <= 100


def test_threads_have_programs_of_their_own() -> None:
    wrong: list[int] = []

    def work(k: int) -> None:
        draw = np.random.default_rng(k)
        for _ in range(25):
            a = draw.normal(size=400)
            x = sc.asarray(a)
            got = ((x - x.max()) * (k + 0.5)).compute(on="core")
            if not np.array_equal(got, (a - a.max()) * (k + 0.5)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert all(len(entry.idle) <= 4 for entry in memory._known.values())


def test_what_fails_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that failed is dropped, with the data that threads may still have read."""
    a = np.arange(9.0)
    gone = weakref.ref(a)
    x = sc.asarray(a)
    y = x - x.mean()
    y.compute(on="core")
    with monkeypatch.context() as patch:
        patch.setattr(by_plan, "run_alone", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            (x - x.mean()).compute(on="core")
    assert [entry.idle for entry in memory._known.values()] == [[]]
    same(x - x.mean())
    del a, x, y
    gc.collect()
    assert gone() is None


def test_without_memory_the_plan_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    x = sc.asarray(np.arange(9.0))
    assert (x / x.max()).sum().compute(on="core") == 4.5
    monkeypatch.setattr(machine, "free_memory", lambda: 100_000)
    with pytest.raises(MemoryLimitError, match="100,000 are free"):
        (x / x.max()).sum().compute(on="core")


def test_what_is_written_between_is_seen() -> None:
    a = np.ones(10)
    x = sc.asarray(a)
    y = x / x.sum()
    assert y.compute(on="core")[0] == 0.1
    a[:5] = 0
    assert y.compute(on="core").tolist() == [0.0] * 5 + [0.2] * 5


def test_long_programs_are_planned_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("speedcube.engine.known.outline.MOST_NODES", 20)
    x = sc.asarray(np.arange(50.0))
    for _ in range(10):
        x = x[1:] + x[:-1]
    same(x)
    assert not memory._known


def test_planning_is_what_it_was() -> None:
    """`plan` shows the program of the user, not the one that is remembered."""
    x = sc.asarray(np.arange(9.0))
    y = x - x.mean()
    y.compute(on="core")
    assert repr(y.plan(on="core")).startswith("Plan on core (asked for")
    assert planning.make_plan is memory.make_plan


def test_several_results_are_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    def results(seed: int, factor: float) -> list[sc.Array]:
        x = sc.asarray(np.random.default_rng(seed).normal(size=3000))
        return [(x * factor).sum(), (x * factor).max(), x[1:] - x[:-1], x.std()]

    rung = engine.resolve("core", None, 1, False, "float64")
    memory._known.clear()
    counted = Counts(monkeypatch)
    for seed, factor in ((1, 2.5), (2, 2.5), (3, -0.5)):
        arrays = results(seed, factor)
        values = sc.compute(*arrays, on="core")
        for value, array in zip(values, arrays, strict=True):
            roots = [array._expr]
            plan = planning.make_plan(roots, planning.Resources("core", 1), "", 1024)
            assert_same_bits(value, engine._run(plan, roots, rung, "numpy")[0])
    assert counted.plans == 1
