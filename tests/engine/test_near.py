"""Long arrays reduced to numbers in pieces: from what is known of their sums, or by records."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import tasks
from speedcube.engine.finished import dots, near
from speedcube.expr.nodes import Reduced
from speedcube.kernel.lower.certificates import COUNTED

SIZE: Final = 200_001
DRAW: Final = np.random.default_rng(5)
DATA: Final[dict[str, Any]] = {
    "normals": DRAW.normal(size=SIZE),
    "an offset": DRAW.normal(size=SIZE) + 1e9,
    "wide": DRAW.normal(size=SIZE) * 10.0 ** DRAW.integers(-25, 8, SIZE),
    "one number": np.full(SIZE, 0.1),
    "small integers": DRAW.integers(-4, 5, SIZE).astype(float),
    "with a NaN": np.where(np.arange(SIZE) == 150_000, np.nan, 1.5),
    "with an infinity": np.where(np.arange(SIZE) == 150_000, -np.inf, 1.5),
    "huge": DRAW.normal(size=SIZE) * 1e200,
    "tiny": DRAW.normal(size=SIZE) * 1e-200,
    "squares that underflow": DRAW.normal(size=SIZE) * 2.0**-70,
    "squares that overflow": np.where(np.arange(SIZE) == 150_000, 2.0**66, 1.5),
    "less than a number": DRAW.normal(size=SIZE) * 2.0**-140,
    "spikes": np.where(np.arange(SIZE) % 5000 == 4000, 1e7, 0.3),
    "zeros of both signs": np.where(np.arange(SIZE) % 3 == 0, -0.0, 0.0),
}


def results(x: sc.Array) -> list[sc.Array]:
    """Reductions of one pass, whose squares share what they can."""
    return [x.sum(), (x * x).sum(), x.max(), x.min(), x.std(), x.mean(), x.var(ddof=1)]


def by_records(arrays: list[sc.Array], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The same, where nothing is known of sums: each alone."""
    with monkeypatch.context() as patch:
        patch.setattr(near, "_partials", lambda *_: ())
        patch.setattr(near, "dot_ends", lambda *_: None)
        patch.setattr("speedcube.engine.prepare._finished", lambda *_: None)
        return [one.compute(on="cores:3") for one in arrays]


@pytest.fixture
def pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small arrays are made in pieces, too."""
    monkeypatch.setattr(near, "PIECE", 70_000)
    monkeypatch.setattr(dots, "PIECE", 70_000)
    monkeypatch.setattr("speedcube.engine.finished.along.PIECE", 70_000)


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", DATA)
def test_the_bits_of_records(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with np.errstate(over="ignore"):
        data = DATA[name].astype(dtype)
    x = sc.asarray(data)
    wanted = by_records(results(x), monkeypatch)
    for rung in ("core", "cores:2"):
        for got, want in zip(sc.compute(*results(x), on=rung), wanted, strict=True):
            assert_same_bits(np.asarray(got), np.asarray(want))
        for got, want in zip(results(x)[-3:], wanted[-3:], strict=True):
            assert_same_bits(np.asarray(got.compute(on=rung)), np.asarray(want))


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("dtype", COUNTED)
def test_integers_are_known_exactly(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any size: no record is made, and the bits are those of exact fractions."""
    info = np.iinfo(dtype)
    data = DRAW.integers(info.min, info.max, SIZE, dtype, endpoint=True)
    data[:1000] = info.min
    x = sc.asarray(data)
    wanted = by_records(results(x), monkeypatch)
    monkeypatch.setattr(tasks.Worker, "partial", lambda *_: pytest.fail("a record"))
    for rung in ("core", "cores:2"):
        found = sc.compute(*results(x), on=rung)
        for got, want in zip(found, wanted, strict=True):
            assert_same_bits(np.asarray(got), np.asarray(want))
    numbers = data.tolist()
    total, squares = sum(numbers), sum(one * one for one in numbers)
    spread = Fraction(SIZE * squares - total * total, SIZE * (SIZE - 1))
    assert float(found[-1]) == float(spread)


@pytest.mark.usefixtures("pieces")
def test_the_exact_numbers() -> None:
    data = DATA["normals"][:70_001]
    x = sc.asarray(data)
    total, squares, _, _, deviation, mean, variance = sc.compute(*results(x), on="cores:2")
    assert float(total) == math.fsum(data)
    assert float(squares) == math.fsum(data * data)
    exact = sum(map(Fraction, data.tolist()))
    of_squares = sum(Fraction(one) ** 2 for one in data.tolist())
    assert float(mean) == float(exact / len(data))
    spread = of_squares - exact * exact / len(data)
    assert float(variance) == float(spread / (len(data) - 1))
    assert float(deviation) == math.sqrt(spread / len(data))


@pytest.mark.usefixtures("pieces")
def test_what_is_not_certain_is_made_by_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is certain takes none."""
    made = []
    partial = tasks.Worker.partial

    def counted(*args: Any) -> Any:
        made.append(args)
        return partial(*args)

    monkeypatch.setattr(tasks.Worker, "partial", counted)
    x = sc.asarray(DATA["normals"])
    wanted = sc.compute(x.std(), x.max(), on="cores:2")
    assert made == []
    monkeypatch.setitem(near.NEAREST, "std", lambda *_: None)
    assert sc.compute(x.std(), x.max(), on="cores:2") == wanted
    assert len(made) == 2  # of two parts


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is a call of its own."""
    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)


@pytest.mark.usefixtures("pieces", "planned")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", DATA)
def test_dots_have_the_bits_of_records(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with np.errstate(over="ignore"):
        x, y = (sc.asarray(DATA[one].astype(dtype)[:-1]) for one in (name, "wide"))
    tall = x.reshape(-1, 10), y.reshape(-1, 10)[:, ::-1]
    each = [sc.vecdot(x, y), sc.vecdot(x, x[::-1]), sc.vdot(*tall)]
    wanted = by_records(each, monkeypatch)
    for got, want in zip(each, wanted, strict=True):
        assert_same_bits(np.asarray(got.compute(on="cores:2")), np.asarray(want))


@pytest.mark.usefixtures("pieces", "planned")
def test_a_dot_of_several_parts_takes_no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 2**23 numbers on two cores they took eight times as long as one core's kernel."""
    made = []
    partial = tasks.Worker.partial

    def counted(*args: Any) -> Any:
        made.append(args)
        return partial(*args)

    monkeypatch.setattr(tasks.Worker, "partial", counted)
    x, y = DATA["normals"], DATA["an offset"]
    dot = sc.vecdot(sc.asarray(x), sc.asarray(y))
    assert len(dot.plan(on="cores:2").stages[0].parts) == 2
    exact = sum(Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True))
    assert float(dot.compute(on="cores:2")) == float(exact)
    assert made == []


SHAPES: Final[dict[str, Callable[[Any], Any]]] = {
    "rows": lambda x: x[:-1].reshape(2000, 100),
    "columns": lambda x: x[:-1].reshape(2000, 100).T,
    "strided": lambda x: x[:-1].reshape(1000, 200)[:, ::2],
    "backwards": lambda x: x[::-1],
    "a product": lambda x: x[1:] * x[:-1] + 3,
}


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("shape", SHAPES)
def test_views(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = SHAPES[shape](sc.asarray(DATA["normals"]))
    wanted = by_records(results(x), monkeypatch)
    for rung in ("core", "cores:2"):
        for got, want in zip(sc.compute(*results(x), on=rung), wanted, strict=True):
            assert_same_bits(np.asarray(got), np.asarray(want))


def test_squares_share_the_sums_of_a_spread() -> None:
    """Of float32, too, whose squares are rounded before they are added."""
    for dtype, sinks in (("float64", 1), ("float32", 1), ("int32", 2)):
        x = sc.asarray(DATA["normals"].astype(dtype))
        one = (x * x).sum().plan(on="core", together=[x.std()]).passes[0]
        sources = [stage.source for stage in one.stages if isinstance(stage.source, Reduced)]
        found = near._pieces(one.visited.parts[0], one.places, sources)
        assert len(found[0].sinks) == sinks


def test_counts_of_several_threads_in_one_pass() -> None:
    data = np.where(np.random.default_rng(1).random(400_000) < 0.01, np.nan, 1.5)
    for on in ("core", "cores"):
        assert sc.nanmean(sc.asarray(data)).compute(on=on) == 1.5
