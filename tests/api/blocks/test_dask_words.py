"""Dask's keywords of reductions and running sums: how its graph is made, which decides nothing."""

from __future__ import annotations

from typing import Any, Final

import dask.array as da
import numpy as np
import pytest

import speedcube as sc

X: Final = np.arange(12.0).reshape(3, 4)
FOLDS: Final = ["sum", "mean", "std", "var", "min", "max", "prod", "any", "all", "argmin", "argmax"]
OF_NAN: Final = [f"nan{name}" for name in FOLDS if name not in ("any", "all")]


@pytest.mark.parametrize("name", FOLDS + OF_NAN)
@pytest.mark.parametrize("axis", [None, 0])
@pytest.mark.parametrize("every", [2, {0: 2}, None])
def test_split_every_decides_nothing(name: str, axis: Any, every: Any) -> None:
    known = getattr(np, name)(X, axis=axis)
    x = sc.from_array(X, chunks=2)
    found = getattr(sc, name)(x, axis=axis, split_every=every).compute()
    np.testing.assert_allclose(found, known, rtol=1e-15)
    if name in FOLDS:
        of_method = getattr(x, name)(axis=axis, split_every=every).compute()
        assert np.array_equal(of_method, found)


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "nancumsum", "nancumprod"])
def test_how_dask_runs_along_decides_nothing(name: str) -> None:
    found = getattr(sc, name)(sc.from_array(X, chunks=2), axis=0, method="blelloch").compute()
    assert np.array_equal(found, getattr(np, name)(X, axis=0))


def test_other_words_are_refused() -> None:
    with pytest.raises(TypeError, match="split_evry"):
        sc.ones(3).sum(split_evry=2)
    np.testing.assert_allclose(sc.moment(X, 2, split_every=2).compute(), X.var())


def test_a_function_of_places_takes_chunks() -> None:
    found = sc.fromfunction(lambda i, j: i * 10 + j, shape=(4, 5), chunks=2, dtype=float)
    known = np.fromfunction(lambda i, j: i * 10 + j, (4, 5), dtype=float)
    assert found.chunks == ((2, 2), (2, 2, 1))
    assert np.array_equal(found.compute(), known)


@pytest.mark.parametrize("name", ["concatenate", "stack", "hstack", "vstack", "dstack", "block"])
@pytest.mark.parametrize("word", [True, False])
def test_unknown_chunks_may_be_allowed(name: str, word: bool) -> None:
    both = [sc.from_array(X, chunks=2), X]
    found = getattr(sc, name)(both, allow_unknown_chunksizes=word).compute()
    assert np.array_equal(found, getattr(np, name)([X, X]))


def test_grids_and_triangles_take_chunks() -> None:
    grid = sc.indices((4, 3), chunks=(2, 3))
    known = da.indices((4, 3), chunks=(2, 3))
    assert grid.chunks == known.chunks
    assert np.array_equal(grid.compute(), known.compute())
    below = sc.tri(4, 3, chunks=2)
    assert below.chunks == da.tri(4, 3, chunks=2).chunks
    assert np.array_equal(below.compute(), np.tri(4, 3))
    for name in ("tril_indices", "triu_indices"):
        found = getattr(sc, name)(3, chunks=2)
        assert np.array_equal([one.compute() for one in found], getattr(np, name)(3))


@pytest.mark.filterwarnings("ignore:chunk size balancing")
@pytest.mark.parametrize("size", [1, 3, 4, 5, 7, 10, 16])
@pytest.mark.parametrize("length", [1, 17, 40, 59])
def test_chunks_are_balanced_as_dasks_are(length: int, size: int) -> None:
    line = np.arange(float(length))
    ours = sc.from_array(line, chunks=6).rechunk(size, balance=True)
    theirs = da.from_array(line, chunks=6).rechunk(size, balance=True)
    assert ours.chunks == theirs.chunks
    assert sc.rechunk(line, (size,), balance=True).chunks == theirs.chunks
    means = [one.map_blocks(lambda b: b * 0 + b.mean()).compute() for one in (ours, theirs)]
    assert np.array_equal(*means)


def test_meta_is_an_array_of_no_elements_as_dasks() -> None:
    x = sc.from_array(np.arange(12.0, dtype="float32").reshape(3, 4), chunks=2)
    theirs = da.from_array(np.arange(12.0, dtype="float32").reshape(3, 4), chunks=2)._meta
    assert (type(x._meta), x._meta.shape, x._meta.dtype) == (np.ndarray, (0, 0), theirs.dtype)
    added = x.map_blocks(lambda block: block + 1, meta=x._meta)
    np.testing.assert_array_equal(added.compute(), (x + 1).compute())
