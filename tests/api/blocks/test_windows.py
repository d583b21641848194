"""Windows of an array are a view of it: NumPy's values, no copy, reductions in one kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import AxisError, ParameterError, ParameterTypeError, ShapeError

RNG: Final = np.random.default_rng(3)
LINE: Final = RNG.normal(size=257)
GRID: Final = RNG.normal(size=(30, 41))
windows = sc.lib.stride_tricks.sliding_window_view
numpys = np.lib.stride_tricks.sliding_window_view

ARRAYS: Final[dict[str, tuple[Any, Any, Any]]] = {
    "a line": (LINE, 7, None),
    "a grid": (GRID, (3, 4), None),
    "rows": (GRID, 5, 1),
    "columns from the end": (GRID, (5,), (-2,)),
    "one axis twice": (GRID, (2, 3), (0, 0)),
    "axes in another order": (GRID, (3, 2), (1, 0)),
    "all of it": (LINE, 257, 0),
    "of one element": (LINE, 1, 0),
    "backwards": (LINE[::-2], 6, 0),
    "turned": (GRID.T, (2, 2), None),
    "complex": (LINE[:100] + 1j * LINE[100:200], 3, 0),
    "integers": (np.arange(20, dtype="int16"), 4, 0),
    "no axes": (np.float64(3), (), None),
    "of nothing": (LINE[:5], 0, 0),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_windows_are_numpys(name: str) -> None:
    x, sizes, axis = ARRAYS[name]
    theirs = numpys(x, sizes, axis)
    mine = windows(sc.asarray(x), sizes, axis).compute()
    assert mine.dtype == theirs.dtype
    np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(numpys(sc.asarray(x), sizes, axis).compute(), theirs)


READ: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "mean": lambda m, w, x: w(x, (3, 3)).mean(axis=(2, 3)),
    "max": lambda m, w, x: w(x, 5, axis=1).max(axis=-1),
    "std of some": lambda m, w, x: w(x, 4, axis=0)[::3].std(axis=-1),
    "argmin": lambda m, w, x: w(x, 6, axis=1).argmin(axis=-1),
    "of a map": lambda m, w, x: w(m.exp(x) * 2, (2, 2)).sum(axis=(-1, -2)),
    "weights": lambda m, w, x: (w(x, 3, axis=1) * m.asarray([0.25, 0.5, 0.25])).sum(axis=-1),
    "product with a vector": lambda m, w, x: w(x, 3, axis=1) @ m.asarray([1.0, 2.0, 3.0]),
    "of a padded grid": lambda m, w, x: w(m.pad(x, 1, mode="reflect"), (3, 3)).max(axis=(2, 3)),
    "of running sums": lambda m, w, x: w(m.cumsum(x, axis=1), 2, axis=1).sum(axis=-1),
    "of windows": lambda m, w, x: w(w(x, 3, axis=1), 2, axis=0).sum(axis=(-1, -2)),
    "median": lambda m, w, x: m.median(w(x, 5, axis=1), axis=-1),
    "all in one": lambda m, w, x: w(x, 5, axis=1).sum(),
    "a choice": lambda m, w, x: w(x, 3, axis=1)[w(x, 3, axis=1) > 1],
}


@pytest.mark.parametrize("name", READ)
def test_what_reads_windows_is_numpys(name: str) -> None:
    theirs = READ[name](np, numpys, GRID)
    for rung in ("core", "cores"):
        mine = READ[name](sc, windows, sc.asarray(GRID)).compute(on=rung)
        np.testing.assert_allclose(mine, theirs, rtol=1e-13, atol=1e-15)


def test_windows_of_a_file_are_read_block_by_block(tmp_path: Path) -> None:
    np.save(tmp_path / "grid.npy", GRID)
    mine = windows(sc.open(tmp_path / "grid.npy"), (3, 3)).mean(axis=(2, 3))
    np.testing.assert_allclose(mine.compute(), numpys(GRID, (3, 3)).mean(axis=(2, 3)), rtol=1e-13)


def test_a_reduction_of_windows_is_one_kernel_of_the_array() -> None:
    mean = windows(sc.ones(10**9), 1000).mean(axis=-1)
    assert mean.shape == (10**9 - 999,)
    assert len(mean.plan(on="core").stages) == 1
    assert float(mean[123_456_789]) == 1.0


def test_chunks_are_those_that_dask_gives() -> None:
    from dask.array.overlap import sliding_window_view

    x = sc.ones((30, 40), chunks=(10, 15))
    for sizes, axes in (((3,), (0,)), ((3, 4), (0, 1)), ((12,), (1,))):
        theirs = sliding_window_view(x.to_dask_array(), sizes, axes)
        assert windows(x, sizes, axes).chunks == theirs.chunks
    assert windows(x, 0, 0).chunks == ((31,), (40,), (0,))


def test_mistakes_are_numpys_kinds() -> None:
    x = sc.arange(4)
    with pytest.raises(ShapeError, match="a window of 6 does not fit into axis 0 of 4 elements"):
        windows(x, 6)
    with pytest.raises(ShapeError, match="of 0 elements"):
        windows(x[:0], 1)
    with pytest.raises(ParameterError, match=r"must not be negative: -1"):
        windows(x, -1)
    with pytest.raises(ParameterError, match="2 sizes for 1 axes; give one each"):
        windows(x, (1, 2))
    with pytest.raises(ParameterTypeError, match=r"must be integers, not 1\.5"):
        windows(x, 1.5)
    with pytest.raises(AxisError, match="axis 3 is out of range"):
        windows(x, 2, axis=3)


def test_writing_into_windows_leaves_the_array_alone() -> None:
    x = sc.arange(5)
    some = windows(x, 2)
    some[...] = 0
    assert x.tolist() == [0, 1, 2, 3, 4]
    assert not some.compute().any()
