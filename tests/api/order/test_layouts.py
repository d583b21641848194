"""All that orders, of arrays that lie in memory in every way: transposed, backwards, in columns.

And of more float16 than NumPy 2.4 sorts on processors with AVX512_ICL: float32 is the judge there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

RNG = np.random.default_rng(61)
WHOLE = RNG.integers(-9, 9, (3, 40, 66)) / 2  # not so many that NumPy leaves float16 unsorted
LAYOUTS: Final[dict[str, Callable[[Any], Any]]] = {
    "C": lambda x: x[0],
    "transposed": lambda x: x[0].T,
    "transposed and backwards": lambda x: x[0].T[::-1],
    "every other column": lambda x: x[0][:, ::2].T,
    "backwards": lambda x: x[0][::-1, ::-1],
    "columns of three": lambda x: np.asfortranarray(x[0].reshape(-1, 3)),
    "rows of three": lambda x: x[0].reshape(-1, 3),
    "three rows": lambda x: np.asfortranarray(x[0].reshape(3, -1)),
    "one row many times": lambda x: np.broadcast_to(x[0, 0], (40, 66)),
    "three axes turned": lambda x: x.transpose(2, 0, 1),
    "one of a stack": lambda x: x[:, 7],
}


def _edges(np_: Any, x: Any) -> Any:
    return np_.histogram(x, 7)[0]


ALONG: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "sort": lambda np_, x, axis: np_.sort(x, axis=axis),
    "argsort": lambda np_, x, axis: np_.argsort(x, axis=axis, kind="stable"),
    "median": lambda np_, x, axis: np_.median(x, axis=axis),
    "three quantiles": lambda np_, x, axis: np_.quantile(x, [0.1, 0.5, 1], axis=axis),
    "nanquantile": lambda np_, x, axis: np_.nanquantile(x, 0.3, axis=axis, method="lower"),
    "partition": lambda np_, x, axis: np_.sort(np_.partition(x, 2, axis=axis), axis=axis),
    "count_nonzero": lambda np_, x, axis: np_.count_nonzero(x, axis=axis),
}
ALL: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "unique": lambda np_, x: np_.unique(x),
    "unique_inverse": lambda np_, x: np_.unique(x, return_inverse=True)[1],
    "isin": lambda np_, x: np_.isin(x, [1, 2.5]),
    "searchsorted": lambda np_, x: np_.searchsorted(np.arange(9.0), x),
    "digitize": lambda np_, x: np_.digitize(x, np.arange(9.0)[::-1]),
    "histogram": _edges,
    "bincount": lambda np_, x: np_.bincount(abs(x).astype("int64").reshape(-1)),
    "lexsort": lambda np_, x: np_.lexsort((x, x[::-1])),
    "unique rows": lambda np_, x: np_.unique(x, axis=0),
    "sums of groups": lambda np_, x: _sums(np_, x),
}


def _sums(np_: Any, x: Any) -> Any:
    keys = np.arange(np.asarray(x).size).reshape(x.shape) % 3
    if np_ is sc:
        return sc.groupby(x, keys).sum()
    return np.array([x[keys == k].sum() for k in range(3)])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_are_those_of_numpy_however_they_lie(layout: str) -> None:
    dtype = ("float64", "float16", "int8")[list(LAYOUTS).index(layout) % 3]
    x = LAYOUTS[layout](WHOLE.astype(dtype))
    with sc.on("core"):
        for name, function in ALONG.items():
            for axis in (None, 0, -1):
                ours = np.asarray(function(sc, sc.asarray(x), axis))
                wanted = np.asarray(function(np, x, axis))
                assert (ours.dtype, ours.shape) == (wanted.dtype, wanted.shape), name
                np.testing.assert_array_equal(ours, wanted, err_msg=f"{name}, {axis}")
        for name, counting in ALL.items():
            ours, wanted = (np.asarray(counting(m, a)) for m, a in ((sc, sc.asarray(x)), (np, x)))
            np.testing.assert_array_equal(ours, wanted, err_msg=name)


SETS: Final = ("union1d", "intersect1d", "setxor1d", "setdiff1d")


@pytest.mark.parametrize("shape", [(40_000,), (2, 20_000), (20_000, 2)])
@pytest.mark.parametrize("rung", ["core", "cores"])
def test_many_float16_are_sorted(shape: tuple[int, ...], rung: str) -> None:
    x = np.round(np.random.default_rng(7).normal(0, 10, shape)).astype("float16")
    wide = x.astype("float32")
    with sc.on(rung):
        a = sc.asarray(x)
        for axis in (None, 0, -1):
            in_order = np.sort(wide, axis=axis)
            np.testing.assert_array_equal(sc.sort(a, axis=axis), in_order)
            low, high = (
                np.asarray(sc.quantile(a, q, axis=axis, method="lower")) for q in (0.1, 0.9)
            )
            for found, q in ((low, 0.1), (high, 0.9)):
                np.testing.assert_array_equal(
                    found, np.quantile(wide, q, axis=axis, method="lower")
                )
            both = np.asarray(sc.partition(a, 1, axis=axis)).astype("float32")
            np.testing.assert_array_equal(np.sort(both, axis=axis), in_order)
        np.testing.assert_array_equal(sc.unique(a), np.unique(wide))
        line = a.reshape(-1)
        for name in SETS:
            ours = getattr(sc, name)(line * 1000, line)
            wanted = getattr(np, name)((x * np.float16(1000)).astype("float32"), wide)
            np.testing.assert_array_equal(ours, wanted)
