"""Indices and masks that lie on a GPU, as CuPy has them, on arrays wherever they lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import rungs
from speedcube.errors import AxisError, DTypeError

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif("gpu" not in rungs.available(), reason="no GPU is visible here"),
]

N = np.arange(42.0).reshape(6, 7) * 1.5
PLACES = np.array([4, -1, 0, 2, 2])
MASK = N % 2 < 1


@pytest.fixture(params=["numpy", "cupy"])
def x(request: Any) -> Any:
    cupy = pytest.importorskip("cupy")
    return sc.asarray(N if request.param == "numpy" else cupy.asarray(N))


@pytest.mark.parametrize("rung", [None, "gpu"])
def test_reading(x: Any, rung: str | None) -> None:
    import cupy

    i = cupy.asarray(PLACES)
    along = np.argsort(-N % 5, axis=1)
    for ours, wanted in (
        (x[i], N[PLACES]),
        (x[:, i], N[:, PLACES]),
        (x[i, i[::-1]], N[PLACES, PLACES[::-1]]),
        (x[cupy.asarray(MASK)], N[MASK]),
        (x[cupy.asarray(MASK[:, 0])], N[MASK[:, 0]]),
        (sc.take(x, i, axis=1), N[:, PLACES]),
        (sc.take(x, i), N.reshape(-1)[PLACES]),
        (sc.take(x, i + 50, mode="wrap"), N.take(PLACES + 50, mode="wrap")),
        (sc.take_along_axis(x, cupy.asarray(along), axis=1), np.take_along_axis(N, along, 1)),
    ):
        np.testing.assert_array_equal(ours.compute(on=rung), wanted)


def test_what_is_out_of_bounds_or_no_integer_is_refused_at_once(x: Any) -> None:
    import cupy

    with pytest.raises(AxisError, match="index 6 is out of bounds for axis 0 with size 6"):
        sc.take(x, cupy.asarray([0, 6]), axis=0)
    with pytest.raises(DTypeError, match="indices must be integers, not float64"):
        sc.take(x, cupy.asarray([0.0]))
    assert sc.take(x, cupy.asarray([], "int64"), axis=1).compute().shape == (6, 0)


def test_indices_are_those_of_when_they_were_checked(x: Any) -> None:
    import cupy

    i = cupy.asarray(PLACES)
    taken = sc.take(x, i, axis=0)
    i[:] = 10**9
    np.testing.assert_array_equal(taken.compute(on="gpu"), N[PLACES])


def test_assigning() -> None:
    import cupy

    ours, wanted = sc.asarray(N.copy()), N.copy()
    ours[cupy.asarray(PLACES[:3])] = 7
    wanted[PLACES[:3]] = 7
    ours[cupy.asarray(MASK)] += 1
    wanted[MASK] += 1
    sc.put(ours, cupy.asarray([3, -2]), cupy.asarray([5.0, 6.0]))
    np.put(wanted, [3, -2], [5.0, 6.0])
    sc.put_along_axis(ours, cupy.asarray(PLACES[:, None][:1].repeat(6, 0)), 9.0, axis=1)
    np.put_along_axis(wanted, PLACES[:, None][:1].repeat(6, 0), 9.0, axis=1)
    np.testing.assert_array_equal(ours.compute(on="gpu"), wanted)
