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
