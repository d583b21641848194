"""Reductions and running sums of arrays that views have emptied, as NumPy has them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import ShapeError

NOTHING: tuple[slice, ...] = (slice(9, None), slice(1, 1), slice(1, 1, -1))
SHAPES = ((3, 4), (0, 4), (0, 0), (2, 3, 4), (1, 0, 3))
REDUCTIONS = ("sum", "mean", "std", "var", "prod", "any", "all", "count_nonzero")
EXTREMES = ("min", "max", "argmin", "argmax")
SOURCES: dict[str, Callable[[tuple[int, ...]], sc.Array]] = {
    "stored": lambda shape: sc.asarray(np.ones(shape)),
    "integers": lambda shape: sc.asarray(np.ones(shape, np.int32)),
    "generated": lambda shape: sc.arange(math.prod(shape)).reshape(shape) + 1.5,
    "random": lambda shape: sc.random.default_rng(3).normal(size=shape),
}


def emptied(shape: tuple[int, ...]) -> list[tuple[slice, ...]]:
    """Indices that leave an axis of ``shape`` empty, or two, or all."""
    whole = slice(None)
    each = itertools.product((whole, *NOTHING[:2]), repeat=len(shape))
    return [index for index in each if 0 in np.empty(shape)[index].shape]


def axes(ndim: int) -> list[Any]:
    """All, each, and the first with the last."""
    return [None, *range(ndim), (0, ndim - 1)]


@pytest.mark.filterwarnings("ignore:Mean of empty", "ignore:Degrees of freedom", "ignore:invalid")
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_what_views_emptied_reduces_as_in_numpy(shape: tuple[int, ...], source: str) -> None:
    array = SOURCES[source](shape)
    values = array.compute(on="core")
    for index, axis in itertools.product(emptied(shape), axes(len(shape))):
        for op in REDUCTIONS:
            wanted = getattr(np, op)(values[index], axis=axis)
            result = getattr(sc, op)(array[index], axis=axis).compute(on="core")
            np.testing.assert_array_equal(result, wanted, str((op, index, axis)), strict=False)
            assert np.shape(result) == np.shape(wanted)


@pytest.mark.parametrize("op", EXTREMES)
def test_an_extreme_of_nothing_is_refused_when_it_is_asked_for(op: str) -> None:
    """Also where there are no results, which need no element."""
    for shape, axis in (((0,), None), ((3, 0), 1), ((0, 0), 0), ((0, 0), None)):
        with pytest.raises(ValueError, match=r"empty|no identity"):
            getattr(np, op)(np.ones(shape), axis=axis)
        with pytest.raises(ShapeError, match=f"{op} of no elements"):
            getattr(sc, op)(sc.ones(shape), axis=axis)
    assert getattr(sc, op)(sc.ones((3, 0)), axis=0).compute(on="core").shape == (0,)


@pytest.mark.parametrize("index", NOTHING, ids=str)
def test_nothing_on_every_rung_and_in_every_text(index: slice) -> None:
    empty = sc.asarray(np.ones((3, 4)))[index, 4:]
    total, mean = empty.sum(), empty.mean()
    for rung in ("core", "cores", "cores:3"):
        assert total.compute(on=rung) == 0.0
        assert np.isnan(mean.compute(on=rung))
        assert empty.cumsum().compute(on=rung).shape == (0,)
    assert "0 elements in 0 tiles" in repr(mean.plan(on="core"))
    assert "exact-sum law" in repr(mean.explain())
    for one, text in itertools.product((total, mean), ("ir", "cpu", "cuda")):
        assert one.source(text)


@pytest.mark.gpu
def test_nothing_on_a_gpu() -> None:
    for shape, source in itertools.product(SHAPES, SOURCES):
        array = SOURCES[source](shape)
        for index, op in itertools.product(emptied(shape), REDUCTIONS):
            reduced = getattr(sc, op)(array[index])
            np.testing.assert_array_equal(reduced.compute(on="gpu"), reduced.compute(on="core"))
