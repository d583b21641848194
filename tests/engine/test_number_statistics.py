"""Quantiles of files without NaN: selected from lines that are turned in a cache, never sorted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.order.quantiles import METHODS
from speedcube.engine.boxes import Stop
from speedcube.engine.foreign import planned
from speedcube.engine.ordering.by_line import gathered
from speedcube.engine.ordering.by_line.gathered import blocks_of_lines
from speedcube.engine.ordering.elements import AllElements
from speedcube.engine.streams import boxwise
from speedcube.engine.streams.made import cells
from speedcube.engine.streams.ordered import lines
from speedcube.expr.interpret import interpret
from speedcube.plan import streams

RNG = np.random.default_rng(18)
SHAPE = 700, 5, 8
SOME = [0.9, 0.0, 0.5]


def _holes(dtype: str, kind: str) -> Any:
    """Lines along the first axis: with ties, and NaN, and zeros of both signs."""
    x = np.rint(RNG.normal(size=SHAPE) * 8).astype(dtype) / 4
    x[RNG.random(SHAPE) < 0.1] = -0.0
    if kind != "whole":
        x[RNG.random(SHAPE) < 0.2] = np.nan
    if kind == "nothing":
        x[:, 2] = np.nan
        x[:-1, 3, :4] = np.nan
    return x


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(cells, "BLOCK", 0)  # small files, as if they were large
    monkeypatch.setattr(gathered, "_LEAST", 0)
    monkeypatch.setattr(gathered, "_CALL", 0)

    def open_(data: Any) -> Any:
        sc.asarray(data).to_zarr(tmp_path / "x.zarr", chunks=(90, 5, 8), mode="w")
        return sc.open(tmp_path / "x.zarr")

    return open_


def _same(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


@pytest.mark.parametrize("on", ["core", "cores"])
@pytest.mark.parametrize("kind", ["whole", "holes", "nothing"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_bits_of_memory(opened: Any, dtype: str, kind: str, on: str) -> None:
    data = _holes(dtype, kind)
    x = opened(data)
    for axis in (0, 1, 2, (0, 2)):
        for method in METHODS:
            y = sc.nanquantile(x, SOME, axis=axis, method=method)
            _same(y.compute(on=on), sc.nanquantile(data, SOME, axis=axis, method=method).compute())
        _same(sc.nanmedian(x, axis).compute(on=on), sc.nanmedian(data, axis).compute())
    many = np.linspace(0, 1, 13)
    y = sc.nanpercentile(x, 100 * many, axis=0, keepdims=True)
    _same(y.compute(on=on), sc.nanpercentile(data, 100 * many, axis=0, keepdims=True).compute())
    whole = sc.nanquantile(x, [0, 1], axis=0)
    _same(whole.compute(on=on), sc.nanquantile(data, [0, 1], axis=0).compute())


def test_the_plan_reads_once_and_sorts_nothing(opened: Any) -> None:
    x = opened(_holes("float32", "holes"))
    for y in (sc.nanquantile(x, 0.9, axis=0), sc.nanmedian(x, axis=0)):
        plan = str(y.plan(on="cores"))
        assert "of_numbers of (5, 8, 700) -> (5, 8, 3) float64" in plan
        assert "8 of 8 chunks" in plan
        assert "sort" not in plan


def test_others_are_sorted_as_they_were(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _holes("float32", "holes")
    assert "sort of" in str(sc.nanquantile(data, 0.9, axis=0).plan(on="cores"))
    x = opened(data)
    monkeypatch.setattr(cells, "BLOCK", 1 << 30)
    assert "sort of" in str(sc.nanquantile(x, 0.9, axis=0).plan(on="cores"))


def test_lines_that_memory_does_not_hold(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = _holes("float32", "nothing")
    y = sc.nanquantile(opened(data), SOME, axis=0)

    def little(roots: Any, make: Any, weigh: Any, room: Any = None, threads: int = 1) -> Any:
        return boxwise.made_boxwise(roots, make, weigh, boxwise.SortRoom(0, 2, 0))

    monkeypatch.setattr(planned, "made_boxwise", little)
    monkeypatch.setattr(streams, "MOST_WALKED", 0)
    monkeypatch.setattr(lines, "MOST", 1 << 14)
    monkeypatch.setattr(lines, "BLOCK", 1 << 14)
    assert "of_numbers of zarr /, " in str(y.plan(on="core"))
    _same(y.compute(on="core"), sc.nanquantile(data, SOME, axis=0).compute())


def test_what_it_is(opened: Any) -> None:
    data = _holes("float32", "nothing")
    y = sc.nanquantile(opened(data), SOME, axis=0)
    _same(interpret(y._expr, lambda _: None), sc.nanquantile(data, SOME, axis=0).compute())
    law = "counted, and elements by their place among what is no NaN"
    assert law in " ".join(str(y.explain()).split())


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
def test_lines_are_turned(axis: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gathered, "BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(gathered, "_LEAST", 0)
    monkeypatch.setattr(gathered, "_CALL", 0)
    data = (RNG.normal(size=(300, 250, 20)) * 50).astype(dtype)
    turned = sc.moveaxis(sc.asarray(data)[::-1], axis, -1)
    line = turned.shape[-1]
    elements = AllElements(turned._expr, {}, None, Stop(), lambda *_: None, 1)
    assert gathered._lying_far_apart(elements, line) is not None
    want = np.moveaxis(data[::-1], axis, -1).reshape(-1, line)
    span = 3 * line, (len(want) - 5) * line
    found = [(first, block.copy()) for first, block in blocks_of_lines(elements, span, line)]
    assert [first for first, _ in found] == list(
        np.cumsum([3, *(len(block) for _, block in found)])[:-1]
    )
    np.testing.assert_array_equal(np.concatenate([block for _, block in found]), want[3:-5])


@pytest.mark.parametrize("axis", [0, 1])
def test_quantiles_of_columns(axis: int) -> None:
    data = RNG.integers(-99, 99, (300, 250, 20)).astype("float32")
    for q in (0.3, [0.1, 0.5]):
        want = np.quantile(data.astype("float64"), q, axis=axis)
        np.testing.assert_allclose(sc.quantile(data, q, axis=axis).compute(), want, rtol=1e-6)
    _same(sc.median(data, axis=axis).compute(), np.median(data, axis=axis))
