"""Drawn numbers that are kept from the second computation on: the same bits, within a bound."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import machine
from speedcube.engine.known import drawn
from speedcube.errors import MemoryLimitError, ParameterError

SIZE = drawn.LEAST + 5


@pytest.fixture(autouse=True)
def kept() -> Iterator[None]:
    drawn.drop()
    with dask.config.set({drawn.SETTING: "100 MB"}):
        yield
    drawn.drop()


def normals(**given: Any) -> sc.Array:
    return sc.random.default_rng(3).normal(1.0, 2.0, size=SIZE, **given)


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_second_computation_keeps_what_the_third_reads(on: str, dtype: str) -> None:
    x = normals(dtype=dtype)
    y = (x[::-1] * 2 + x)[3:].cumsum()
    with dask.config.set({drawn.SETTING: 0}):
        wanted = y.compute(on=on)
    assert drawn.held() == 0
    for held in (0, x.nbytes, x.nbytes):
        assert (y.compute(on=on) == wanted).all()
        assert drawn.held() == held
    assert "drawn: kept" in y.plan(on=on).reason
    assert "Random" not in repr(y.plan(on=on))
    assert float(x.sum()) == float(normals(dtype=dtype).sum())


def test_what_is_kept_goes_with_the_array() -> None:
    x = normals()
    y = x * 2
    for _ in range(2):
        y.sum().compute(on="core")
    assert drawn.held() == x.nbytes
    del x
    gc.collect()
    assert drawn.held() == y.nbytes
    del y
    gc.collect()
    assert drawn.held() == 0


@pytest.mark.parametrize(
    "part",
    [
        lambda x: x[: SIZE // 4],
        lambda x: x[::3],
        lambda x: (x * 2)[5:9],
        lambda x: sc.take(x, np.array([3, 5])),
        lambda x: sc.random.default_rng(1).uniform(size=SIZE) + 1,
    ],
)
def test_parts_and_what_is_cheap_are_drawn(part: Any) -> None:
    x = normals()
    first = part(x).compute(on="core")
    for _ in range(3):
        assert (part(x).compute(on="core") == first).all()
    assert drawn.held() == 0


def test_what_does_not_fit_is_drawn() -> None:
    x, y = normals(), sc.random.default_rng(4).normal(size=SIZE)
    with dask.config.set({drawn.SETTING: x.nbytes + 8}):
        for _ in range(3):
            float((x + y).max())
        assert drawn.held() == x.nbytes
    with (
        dask.config.set({drawn.SETTING: "much"}),
        pytest.raises(ParameterError, match="keep-drawn"),
    ):
        (x + 1).sum().compute(on="core")


def test_a_part_of_free_memory_is_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: drawn.SHARE * 1000)
    assert drawn.limit() == 1000


def test_memory_is_given_back_to_what_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A computation that does not fit beside what is kept is done without it."""
    from speedcube.engine import compute

    x = normals()
    wanted = float((x + 1).sum())
    assert float((x + 1).sum()) == wanted
    assert drawn.held()
    values, asked = compute._values, []

    def tight(*given: Any) -> Any:
        asked.append(drawn.held())
        if asked[-1]:
            raise MemoryLimitError("no room")
        return values(*given)

    monkeypatch.setattr(compute, "_values", tight)
    assert float((x + 1).sum()) == wanted
    assert asked[0]
    assert asked[1:] == [0]


def test_several_results_and_assignment_read_what_is_kept() -> None:
    x = normals()
    pairs = [sc.compute(x.mean(), x.std(), on="core") for _ in range(3)]
    assert pairs[0] == pairs[1] == pairs[2]
    assert drawn.held() == x.nbytes
    before = float(x.sum())
    values = x.compute(on="core")
    values[:] = 0  # a result of its own: what is kept stays
    y = x.copy()
    y[0] = 5.0
    assert float(x.sum()) == before
    assert float(y[0]) == 5.0
