"""One number of few operations is made at once, with the bits that a kernel gives it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine.small import known
from speedcube.engine.stepwise import choice
from speedcube.engine.stepwise.choice import by_kernels, limited_to
from speedcube.engine.stepwise.meaning import FUNCTIONS
from speedcube.engine.stepwise.number import may_be_number, number_of
from speedcube.ops import OPS

from .test_stepwise import DTYPES, values


@pytest.fixture(autouse=True)
def at_hand() -> Iterator[None]:
    with limited_to(choice.MOST, choice.FIRST), np.errstate(all="ignore"):
        yield


def numbers(array: sc.Array) -> np.ndarray:
    """The elements of ``array``, each made by itself."""
    made = []
    for place in np.ndindex(array.shape):
        one = array[place]
        if not may_be_number(one._expr) or (value := number_of(one._expr)) is None:
            return np.empty(0)
        made.append(value)
    return np.array(made, array.dtype).reshape(array.shape)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, "cast"} - {"signbit"}))
def test_every_operation_has_the_bits_of_kernels(name: str) -> None:
    met = 0
    for dtype in DTYPES:
        pairs = [v.ravel()[::3].copy() for v in np.meshgrid(values(dtype), values(dtype))]
        x, y = map(sc.asarray, pairs)
        args = [x, y] if OPS[name].arity > 1 else [x]
        if name == "where":
            args = [sc.asarray(np.arange(x.size) % 2 == 0), *args]
        try:
            made = [x.astype(o) for o in DTYPES] if name == "cast" else [getattr(sc, name)(*args)]
        except TypeError:
            continue  # NumPy has none of this dtype
        for one in made:
            got = numbers(one)
            if not got.size:
                continue  # beyond the integers a cast is the processor's
            with by_kernels():
                assert_same_bits(got, one.compute(on="core"), f"{name} of {dtype}")
            met += 1
    assert met


@given(
    st.integers(0, 5),
    st.integers(0, 3),
    st.sampled_from(["T", "flip", "assigned", "joined", "broadcast", "steps", "reshape"]),
)
def test_views_lead_to_the_one_element(i: int, j: int, way: str) -> None:
    a = np.arange(24.0).reshape(6, 4) - 7

    def made(x: Any, m: Any) -> Any:
        y = x * x - 3 * x
        if way == "T":
            return (y.T - 1).T[i, j]
        if way == "flip":
            return (y[::-1, ::-1] + x)[i, j]
        if way == "assigned":
            y = y + 0
            y[2:4, 1:] = 9
            y[3] = x[0] * 2
            return (y - 0.5)[i, j]
        if way == "joined":
            return m.concatenate([y, x * 2], axis=1)[i, j + 2]
        if way == "broadcast":
            return (y[:, None, :] - x[None, :, :])[i, 5 - i, j]
        if way == "steps":
            return (y[::2] / 3)[i // 2, j]
        return (y.reshape(4, 6).T * 2)[i, j]

    assert made(sc.asarray(a), sc).compute(on="core") == made(a, np)


def test_neither_kernel_nor_plan_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    x = sc.asarray(np.arange(5.0))

    def others(_: object) -> None:
        raise AssertionError("this was to be made at once")

    monkeypatch.setattr(engine, "few_structure", others)  # what comes next
    assert float((x * 2 + 1)[3]) == 7.0
    assert bool(x[1] < x[2])
    z = sc.zeros(4)
    for k in range(1, 4):
        z[k] = 0.5 * z[k - 1] + x[k]
    monkeypatch.undo()
    assert z.tolist() == [0.0, 1.0, 2.5, 4.25]


def test_reductions_of_few_elements_are_made_for_it() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(9, 7)), rng.normal(size=7)
    x, y = sc.asarray(a), sc.asarray(b)
    made = {
        "dot": lambda: 2 * (x[3] @ y) - 1,
        "spread": lambda: (x.max(axis=0) - x.min(axis=0))[2] / x.std(),
        "mean": lambda: abs((x * 2)[1:].mean() - y[2]) < 3,
    }
    for name, make in made.items():
        with by_kernels():
            wanted = make().compute(on="core")
        for on in ("core", "cores:2"):
            assert_same_bits(make().compute(on=on), wanted, name)
    large = sc.ones(choice.MOST + 1)
    asked: list[object] = []
    assert number_of((large.sum() + 1)._expr, asked.append) is None
    assert not asked
    assert number_of((y.sum() + 1)._expr, asked.append) is None
    assert len(asked) == 1


def test_a_loop_that_asks_for_its_length_has_few_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of eighty steps compiled a kernel of its own: nine seconds."""
    made: list[object] = []
    frame_of = known.frame_of

    def counted(prepared: Any) -> Any:
        made.append(prepared)
        return frame_of(prepared)

    monkeypatch.setattr(known, "frame_of", counted)
    x, steps = sc.asarray([3.0, 4.0]), 0
    while sc.linalg.norm(x) > 1e-3:
        x = x * 0.9
        steps += 1
    assert steps == 81  # 5 * 0.9**81 is the first below
    assert 0 < len(made) < 12


def _steps_of(make: Any, steps: int) -> list[Any]:
    return [np.asarray(make(k).compute(on="core")) for k in range(steps)]


X = np.random.default_rng(3).normal(size=700)
OF_NUMBERS: dict[str, Any] = {
    "a number": lambda k: sc.exp(-sc.sqrt(sc.sin(0.1 * k) ** 2 + 1.0)) * 2,
    "compared": lambda k: sc.log(0.1 + k) < sc.asarray(X)[:20].sum(),
    "each element": lambda k: sc.asarray(X) * sc.sin(0.1 * k) + sc.asarray(X),
    "reduced": lambda k: (sc.asarray(X) * sc.cos(0.2 * k) - k).sum(),
    "columns": lambda k: (sc.asarray(X[:600]).reshape(60, 10) ** sc.exp(0.001 * k)).max(axis=0),
    "an angle": lambda k: sc.asarray(X) * sc.cos(sc.arctan2(2 * sc.asarray(X)[k], k + 1.0)),
    "float32": lambda k: sc.asarray(X, dtype="f4") - sc.asarray(X, dtype="f4")[k].astype("f8"),
}


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_functions_of_numbers_are_made_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were constants of a kernel: each step of a loop had one of its own."""
    made: list[object] = []
    frame_of = known.frame_of

    def counted(prepared: Any) -> Any:
        made.append(prepared)
        return frame_of(prepared)

    make = OF_NUMBERS[name]
    with by_kernels():
        wanted = _steps_of(make, 40)
    known._known.clear()
    known._met.clear()
    monkeypatch.setattr(known, "frame_of", counted)
    for value, want in zip(_steps_of(make, 40), wanted, strict=True):
        assert_same_bits(value, want)
    assert len(made) < 8


def test_a_number_that_is_read_twice_in_each_of_many_steps_is_looked_at_once() -> None:
    """Sixty squares would be 2**60 paths."""
    x, wanted = sc.sin(0.5) + 0.6, float(sc.sin(0.5)) + 0.6
    for _ in range(60):
        x = x * x - 0.3
        wanted = wanted * wanted - 0.3
    assert float(x) == wanted
    np.testing.assert_array_equal(sc.asarray(X) * x, X * wanted)


def test_what_a_number_is_made_of_may_be_written_to() -> None:
    """Of memory that users have it is made anew; of a copy of an element, once."""
    a = np.arange(1.0, 9.0)
    x = sc.asarray(a)
    row, angle = sc.asarray(np.arange(300.0)), sc.sin(x[2] * x[3])
    before = (row * angle).compute()
    a[2] = 0.5
    after = (row * angle).compute()
    assert_same_bits(before, np.arange(300.0) * float(sc.sin(12.0)))
    assert_same_bits(after, np.arange(300.0) * float(sc.sin(2.0)))


def test_what_is_no_such_number_is_left_to_others() -> None:
    x = sc.asarray(np.arange(5.0))
    deep = x
    for _ in range(60):
        deep = deep * 1.5 + 1
    for one in (sc.exp(x)[2], x.sum() + 1, deep[3], x[sc.asarray([1, 2])][0] + 1):
        assert not may_be_number(one._expr) or number_of(one._expr) is None
    lazy = x * 2
    with by_kernels():
        assert number_of(lazy[3]._expr) is None
    assert lazy[3].compute(on="core") == 6


def test_an_assigned_number_keeps_what_it_was() -> None:
    z = sc.zeros(3)
    z[0] = 1
    lazy = z[0] + 1
    z[1] = lazy
    z[0] = 5
    assert (float(lazy), z.tolist()) == (2.0, [5.0, 2.0, 0.0])
    given = np.arange(3.0)
    mine = sc.asarray(given)
    mine[0] = mine[2] * 4
    assert (given.tolist(), mine.tolist()) == ([0, 1, 2], [8, 1, 2])
    whole = sc.zeros(3, dtype="int64")
    whole[1] = sc.asarray(2.75) * 2
    assert whole.tolist() == [0, 5, 0]
