"""Chunks with borders, made in both ways: side by side of few, at positions of many."""

from __future__ import annotations

from typing import Any, Final

import dask.array as da
import numpy as np
import pytest

import speedcube as sc
from speedcube.api.blocks import neighbours
from speedcube.expr.graph import below

X: Final = np.arange(70.0).reshape(7, 10)
BOUNDARIES: Final = ["reflect", "periodic", "nearest", "none", 5.0, {0: "reflect", 1: "none"}]


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
@pytest.mark.parametrize("depth", [2, {0: 1, 1: 0}, {0: 0, 1: 3}], ids=str)
@pytest.mark.parametrize("chunks", [(4, 5), (7, 10), ((3, 4), (3, 3, 4))], ids=str)
def test_both_ways_are_dasks(
    monkeypatch: pytest.MonkeyPatch, boundary: Any, depth: Any, chunks: Any
) -> None:
    known = da.overlap.overlap(da.from_array(X, chunks=chunks), depth, boundary)
    for regions in (neighbours._REGIONS, 0):
        monkeypatch.setattr(neighbours, "_REGIONS", regions)
        found = sc.overlap.overlap(sc.from_array(X, chunks=chunks), depth, boundary)
        assert found.chunks == known.chunks
        assert np.array_equal(found.compute(), known.compute())
        block = found.blocks[-1, 0]
        assert np.array_equal(block.compute(), known.blocks[-1, 0].compute())


def test_few_chunks_are_read_along_their_lines() -> None:
    """No element of theirs is read at a position that is computed."""

    def gathers(chunks: int) -> bool:
        x = sc.overlap.overlap(sc.from_array(X, chunks=chunks), 1, "reflect")
        return any(getattr(node, "op", "") == "gather" for node in below(x._expr))

    assert not gathers(5)
    assert gathers(1)


@pytest.mark.parametrize("boundary", BOUNDARIES, ids=str)
@pytest.mark.parametrize("depth", [0, 1, {0: 1, 1: 2}, {0: 0, 1: 3}], ids=str)
def test_borders_that_are_not_trimmed_stay(boundary: Any, depth: Any) -> None:
    """As Dask's values have them; its shape is then that without borders."""

    def cumulated(block: Any) -> Any:
        return block.cumsum(axis=0)

    for function in (cumulated, np.sqrt, lambda block: block * 2):
        known, found = (
            m.map_overlap(function, m.from_array(X, chunks=(4, 5)), depth=depth,
                          boundary=boundary, trim=False)
            for m in (da, sc)
        )  # fmt: skip
        assert np.array_equal(found.compute(), known.compute())
        assert found.shape == known.compute().shape
        assert np.array_equal((found + 1)[-1].compute(), (known.compute() + 1)[-1])


def test_who_trims_has_the_chunks_of_the_array() -> None:
    def trimmed(block: Any) -> Any:
        return (block * 2)[1:-1, 1:-1]

    def of_two(one: Any, other: Any) -> Any:
        return one + other

    def choosy(block: Any) -> Any:
        if not block.any():
            raise RuntimeError("zeros")
        return block[1:-1, 1:-1]

    x = sc.from_array(X, chunks=(4, 5))
    how = {"depth": 1, "boundary": "reflect", "trim": False, "dtype": float}
    for function in (trimmed, choosy):
        y = sc.map_overlap(function, x, **how)
        assert y.chunks == x.chunks
        assert np.array_equal(y.compute(), X * (2 if function is trimmed else 1))
    both = sc.map_overlap(of_two, x, x * 3, **how)
    assert both.chunks == ((6, 5), (7, 7))
    wide = sc.overlap.overlap(x, 1, "reflect")
    assert np.array_equal(both.compute(), wide.compute() * 4)
    said = sc.map_overlap(np.negative, x, chunks=((6, 5), (7, 7)), **how)
    assert np.array_equal(said.compute(), -wide.compute())
