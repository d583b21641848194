"""Programs of several stages over short lines: one set of kernels for any length, the same bits."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine.known import memory
from speedcube.engine.scans import call
from speedcube.engine.small import lengths, lines, recipe
from speedcube.engine.small import templates as kernels
from speedcube.engine.tiers import tiers
from speedcube.kernel.llvm.simd import limited
from speedcube.kernel.math.positions import SEGMENT


@pytest.fixture(autouse=True)
def _nothing_known() -> Iterator[None]:
    """Each test begins without programs that others have seen."""
    lines._known.clear()
    memory._known.clear()
    with np.errstate(all="ignore"):
        yield
    lines._known.clear()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How often something was planned and lowered."""
    counts = {"plans": 0, "kernels": 0}

    def counting(module: Any, name: str, kind: str) -> None:
        original = getattr(module, name)

        def counted(*arguments: Any, **others: Any) -> Any:
            counts[kind] += 1
            return original(*arguments, **others)

        monkeypatch.setattr(module, name, counted)

    counting(memory, "make_plan", "plans")
    counting(recipe, "make_plan", "plans")
    counting(kernels, "prepare", "kernels")
    return counts


def anew(arrays: list[sc.Array]) -> list[Any]:
    """What a plan that nobody has seen gives."""
    roots = [array._expr for array in arrays]
    rung = engine.resolve("core", None, 1, False)
    return engine._run(engine.planned_on(roots, rung, {}), roots, rung, "numpy")


def same(*arrays: sc.Array, on: str = "core") -> None:
    known, new = sc.compute(*arrays, on=on), anew(list(arrays))
    for one, other, array in zip(known, new, arrays, strict=True):
        assert type(one) is type(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes(), array


def _heat(u: sc.Array, c: float, steps: int) -> sc.Array:
    for _ in range(steps):
        u = (u[:-2] + u[1:-1] * c + u[2:]) * 0.25
    return u


def _normal(g: np.random.Generator, n: int, dtype: str = "f8") -> sc.Array:
    return sc.asarray(g.normal(size=n).astype(dtype))


def _noisy(x: sc.Array, seed: int) -> sc.Array:
    y = x + sc.random.default_rng(seed).normal(size=x.shape)
    return (y - y.mean()).max()


Make = Callable[[np.random.Generator, int, float], sc.Array]
# Of data, a length and a number: made twice, with others, each is one program.
ONE_PROGRAM: dict[str, Make] = {
    "standardised": lambda g, n, c: (lambda x: ((x - x.mean()) / x.std() * c).sum())(_normal(g, n)),
    "every element": lambda g, n, c: (lambda x: (x - x.mean()) / (x.max() - x.min() + c))(
        _normal(g, n)
    ),
    "running sums": lambda g, n, c: _normal(g, n).cumsum().max() * c,
    "of elements": lambda g, n, c: (_normal(g, n) * c).cumsum()[1:-1],
    "products": lambda g, n, c: (lambda x: x / (x * c).prod())(_normal(g, n)),
    "running products": lambda g, n, c: (_normal(g, n).cumprod() + c).argmin(),
    "with initial": lambda g, n, c: (
        sc.cumulative_sum(_normal(g, n), include_initial=True) * c
    ).min(),
    "heat": lambda g, n, c: _heat(_normal(g, n), c, 20),
    "ends": lambda g, n, c: (lambda x: (x[5:-7] - x.mean()) * x[-3] + x[2] * c)(_normal(g, n)),
    "two": lambda g, n, c: (lambda x, y: (x * y - sc.dot(x, y)).std() * c)(
        _normal(g, n), _normal(g, n)
    ),
    "float32": lambda g, n, c: (lambda x: x / x.max() - np.float32(c))(_normal(g, n, "f4")),
    "float16": lambda g, n, c: (lambda x: (x - x.mean() * c).sum())(_normal(g, n, "f2")),
    "integers": lambda g, n, c: (lambda x: ((x * 3 - x.max()) * (x > x.mean())).sum() * c)(
        sc.asarray(g.integers(0, 99, n))
    ),
    "truth": lambda g, n, c: (lambda x: sc.where(x > x.mean(), x, c).cumsum())(_normal(g, n)),
    "kept axes": lambda g, n, c: (lambda x: x - x.mean(keepdims=True) * c)(_normal(g, n)),
    "noise": lambda g, n, c: _noisy(_normal(g, n) * c, int(g.integers(2**31))),
}
COUNTED = ("float16", "integers")  # where a number belongs to the kernel
# In order: lengths of one class, after which nothing is new for those in it.
LENGTHS = (700, 1001, 560, 1022, 640, 888)
NUMBERS = (1.25, -0.0, 0.0, math.inf, math.nan, 1e-320)


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("name", ONE_PROGRAM)
def test_lengths_are_arguments(name: str, on: str, made: dict[str, int]) -> None:
    """Nothing is planned, lowered or compiled for the third length and those after it."""
    draw, make = np.random.default_rng(1), ONE_PROGRAM[name]
    counts = []
    for n, number in zip(LENGTHS, NUMBERS, strict=True):
        array = make(draw, n, 0.5 if name in COUNTED else number)
        array.compute(on=on)
        counts.append((*made.values(), tiers.cache_info().misses))
    assert counts[2:] == [counts[1]] * 4
    assert counts[0][0] <= 1  # the first is the planner's
    for n, number in zip(LENGTHS, NUMBERS, strict=True):
        same(make(draw, n, number), on=on)


def test_a_thousand_lengths_compile_nothing() -> None:
    data = np.random.default_rng(2).normal(size=1400)
    programs = (lambda x: ((x - x.mean()) / x.std()).sum(), lambda x: x.cumsum().max())
    for program in programs:
        for n in (520, 521, 1030, 1031):
            program(sc.asarray(data[:n])).compute(on="core")
    compiled, scans = tiers.cache_info().misses, call._kernel.cache_info().misses
    for n in range(512, 1380):
        for program in programs:
            program(sc.asarray(data[:n])).compute(on="core")
    assert tiers.cache_info().misses == compiled
    assert call._kernel.cache_info().misses == scans


def test_several_results_of_any_length() -> None:
    draw = np.random.default_rng(3)
    for n in LENGTHS:
        x = _normal(draw, n)
        y = x - x.mean()
        same(y, y.std(), y, x.cumsum(), y.cumsum()[-1])


def test_a_result_that_is_asked_for_twice_is_two_arrays() -> None:
    for n in LENGTHS:
        x = _normal(np.random.default_rng(4), n)
        y = (x - x.mean()) * 2
        one, other = sc.compute(y, y, on="core")
        one[0] = 7
        assert other[0] != 7


# Which of two places comes first depends on the length, or an element on its position.
OTHERS: dict[str, Make] = {
    **{name: ONE_PROGRAM[name] for name in COUNTED},
    "middle": lambda g, n, c: (lambda x: (x[n // 2 :] - x.mean()).sum() * c)(_normal(g, n)),
    "far": lambda g, n, c: (lambda x: (x[300:] - x[:-300] * x.mean()).cumsum() * c)(_normal(g, n)),
    "steps": lambda g, n, c: (lambda x: (x[::3] - x.mean()) * c)(_normal(g, n)),
    "back": lambda g, n, c: (lambda x: (x[::-1] - x.mean()).cumsum() * c)(_normal(g, n)),
    "range": lambda g, n, c: (lambda x: (x - x.mean()) * sc.arange(n) * c)(_normal(g, n)),
    "taken": lambda g, n, c: (lambda x: sc.take(x - x.mean(), sc.asarray([0, n - 1])) * c)(
        _normal(g, n)
    ),
    "rolled": lambda g, n, c: (lambda x: (sc.roll(x, 1) - x.mean()).std() * c)(_normal(g, n)),
    "two lengths": lambda g, n, c: (lambda x, y: (x - y.mean()).sum() * c)(
        _normal(g, n), _normal(g, 2000 - n)
    ),
    "sorted": lambda g, n, c: (sc.sort(_normal(g, n)) * c).cumsum(),
    "folded": lambda g, n, c: (lambda x: (x - x.mean()) * sc.exp(sc.full(n, c)))(_normal(g, n)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_counts_is_told_apart(name: str) -> None:
    draw = np.random.default_rng(5)
    for n, number in zip(LENGTHS, NUMBERS, strict=True):
        for _ in range(2):
            same(OTHERS[name](draw, n, number))


def test_short_and_long_streams_are_told_apart() -> None:
    draw = np.random.default_rng(6)
    for n in (SEGMENT - 1, SEGMENT - 2, SEGMENT + 1, SEGMENT + 2, SEGMENT, SEGMENT + 1):
        same(_noisy(_normal(draw, n), n))


def test_lengths_at_the_ends_of_a_class() -> None:
    draw = np.random.default_rng(7)
    for n in (2, 3, 2, 3, 7, 8, 9, 15, 16, 17, 511, 512, 513, lengths.MOST_LENGTH, 1 << 15):
        for _ in range(2):
            for name in ("standardised", "ends", "running sums", "heat"):
                if n > {"ends": 12, "heat": 40}.get(name, 0):
                    same(ONE_PROGRAM[name](draw, n, 1.5))


@pytest.mark.parametrize("target", ["avx2", "plain"])
def test_a_target_has_kernels_of_its_own(target: str) -> None:
    data = np.random.default_rng(8).normal(size=900)

    def computed(n: int) -> Any:
        x = sc.asarray(data[:n])
        return sc.exp((x - x.mean()) / x.std()).cumsum().compute(on="core")

    best = [computed(n) for n in LENGTHS]
    memory._known.clear()
    with limited(target):
        for n, right in zip(LENGTHS, best, strict=True):
            assert np.array_equal(computed(n), right)
    assert {key.key[0] for key in lines._known} >= {target}  # type: ignore[union-attr]


def test_no_array_of_a_user_is_kept() -> None:
    def gone() -> weakref.ref[Any]:
        a = np.random.default_rng(9).normal(size=1022)
        for n in LENGTHS:
            x = sc.asarray(a[:n])
            (x - x.mean()).cumsum().max().compute(on="core")
        return weakref.ref(a)

    known = gone()
    memory._known.clear()
    gc.collect()
    assert any(isinstance(one, recipe.Recipe) for one in lines._known.values())
    assert known() is None


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MOST", 6)
    draw = np.random.default_rng(10)
    for steps in range(1, 12):
        x = _normal(draw, 600)
        for _ in range(2):
            (_heat(x, 2.0, steps) - x.mean()).sum().compute(on="core")
    assert len(lines._known) <= 6


@st.composite
def programs(draw: Any) -> list[tuple[str, int, int]]:
    kinds = st.sampled_from(["slice", "sum of two", "centre", "scan", "unary", "end"])
    return [
        (draw(kinds), draw(st.integers(0, 9)), draw(st.integers(0, 9)))
        for _ in range(draw(st.integers(2, 7)))
    ]


def _written(program: list[tuple[str, int, int]], x: sc.Array) -> list[sc.Array]:
    """``program`` over ``x``, for arrays of any length."""
    made = [x]
    for kind, j, k in program:
        one, other = made[j % len(made)], made[k % len(made)]
        if kind == "slice":
            made.append(one[j : one.shape[0] - k])
        elif kind == "end":
            made.append(one * other[-1 - k] - one[j])
        elif kind == "sum of two":
            n = min(one.shape[0], other.shape[0])
            made.append(one[:n] * 0.5 + other[other.shape[0] - n :])
        elif kind == "centre":
            made.append(one - other.mean() * other.max())
        elif kind == "scan":
            made.append((one * 0.25).cumsum())
        else:
            made.append(abs(one) + 1)
    return [made[-1], made[-1].std(), made[-2].sum()]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(program=programs(), first=st.integers(70, 400), others=st.lists(st.integers(70, 800)))
def test_any_program_of_any_length(
    program: list[tuple[str, int, int]], first: int, others: list[int]
) -> None:
    data = np.random.default_rng(first).normal(size=800)
    for n in (first, first + 1, *others[:3], first + 2):
        same(*_written(program, sc.asarray(data[:n])))
