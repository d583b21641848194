"""Loops that write into arrays on a GPU's rung: bits of a core, and where the arrays lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.indexing.assigning import home
from speedcube.engine import rungs
from speedcube.engine.stepwise import choice

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif("gpu" not in rungs.available(), reason="no GPU is visible here"),
]

DATA = np.random.default_rng(11).normal(size=(90, 70))


@pytest.fixture(autouse=True)
def as_users_have_it() -> Iterator[None]:
    with choice.limited_to(choice.MOST, choice.FIRST):
        yield


@pytest.fixture(params=["host", "device"])
def kind(request: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Where arrays that are written lie."""
    if request.param == "device":
        monkeypatch.setattr(home, "HOST", 0)
        choice.Limits.several = 256  # arrays of more elements are a GPU's
    return request.param


def rows(x: Any, np_: Any) -> None:
    for i in range(1, 60):
        w = 0.5 / (2 + abs(x[i - 1]))
        x[i] += w * x[i - 1]
        x[i, 3] = i


def columns(x: Any, np_: Any) -> None:
    for j in range(1, 60):
        x[:, j] = x[:, j - 1] * 0.25 + np_.sin(x[:, j])


def triangles(x: Any, np_: Any) -> None:
    for k in range(60):
        x[k + 1 :, k + 1 :] -= x[k + 1 :, k, None] * x[k, k + 1 :] / 50


def colours(x: Any, np_: Any) -> None:
    for _ in range(12):
        for k in (1, 2):
            beside = x[k - 1 : -2 : 2] + x[k + 1 :: 2][: len(x[k - 1 : -2 : 2])]
            x[k:-1:2] += 0.2 * (beside - 2 * x[k:-1:2])


def numbers(x: Any, np_: Any) -> None:
    for i in range(60):
        x[i % 7] = 3
        x[2:40, i] = np.arange(38) * 0.5
        x[i, 5] = x[i, 4] * 2


def steps_of_time(x: Any, np_: Any) -> None:
    for _ in range(30):
        x[1:-1] += 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2])
        x[0] = 1


PROGRAMS = (rows, columns, triangles, colours, numbers, steps_of_time)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_bits_are_those_of_a_core(
    program: Callable[[Any, Any], None], dtype: str, kind: str
) -> None:
    found = []
    for rung in ("gpu", "core"):
        x = sc.array(DATA.astype(dtype))
        with sc.on(rung):
            program(x, sc)
            found.append((x.compute(), float(x.sum())))
    assert found[0][0].tobytes() == found[1][0].tobytes()
    assert found[0][1] == found[1][1]


def test_what_was_made_before_and_named_views_keep_what_they_had(kind: str) -> None:
    x, wanted = sc.array(DATA), DATA.copy()
    with sc.on("gpu"):
        for i in range(1, 60):
            x[i] = x[i - 1] + 1
            wanted[i] = wanted[i - 1] + 1
        row, view, made = x[5], x[10:], x * 2
        had = wanted.copy()
        for i in range(1, 60):
            x[i] = x[i - 1] * 0.5
            wanted[i] = wanted[i - 1] * 0.5
        np.testing.assert_array_equal(x.compute(), wanted)
        np.testing.assert_array_equal(row.compute(), had[5])
        np.testing.assert_array_equal(view.compute(), had[10:])
        np.testing.assert_array_equal(made.compute(), had * 2)


def test_memory_of_the_users_on_a_gpu_is_not_written() -> None:
    import cupy

    given = cupy.asarray(DATA)
    x, wanted = sc.asarray(given), DATA.copy()
    for i in range(1, 70):
        x[i] = x[i - 1] * 0.5
        wanted[i] = wanted[i - 1] * 0.5
    np.testing.assert_array_equal(x.compute(), wanted)
    np.testing.assert_array_equal(given.get(), DATA)


def test_large_arrays_are_written_where_the_gpu_has_them() -> None:
    import cupy

    with sc.on("gpu"):
        x = sc.zeros((1200, 1000))
        assert x.size > home.HOST
        for i in range(1, 90):
            x[i] = x[i - 1] + i
        assert type(x._expr.source.buffer) is cupy.ndarray
        place = x._expr.source.buffer.data.ptr
        for i in range(90, 190):
            x[i] = x[i - 1] + i
            x[i, 0] = 0.5
        assert x._expr.source.buffer.data.ptr == place
        assert float(x[189, 5]) == sum(range(190))
        with pytest.raises(sc.errors.ShapeError, match="could not broadcast"):
            x[3] = cupy.zeros(7)
