"""What plain Dask gets on a GPU, as far as it shows without one: NumPy takes CuPy's place.

With CuPy itself: interop/test_gpu_on.py.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import ParameterError
from speedcube.interop import cupy_backend
from speedcube.interop.cupy_backend import BitGenerator

da = pytest.importorskip("dask.array")


@pytest.fixture(autouse=True)
def cupy(monkeypatch: pytest.MonkeyPatch) -> Any:
    def random_state(seed: int) -> Any:
        return np.random.RandomState([seed % 2**32, seed >> 32])

    moved: list[Any] = []

    def asarray(value: Any) -> Any:
        moved.append(value)
        return np.asarray(value)

    module = SimpleNamespace(
        random=SimpleNamespace(RandomState=random_state),
        ndarray=np.ndarray,
        asarray=asarray,
        asnumpy=np.asarray,
        empty=np.empty,
        moved=moved,
    )
    monkeypatch.setitem(sys.modules, "cupy", module)  # type: ignore[arg-type]
    return module


def generator(seed: int = 7) -> Any:
    return da.random.Generator(BitGenerator(seed))


def test_permutation_of_a_number_and_of_rows() -> None:
    shuffled = generator().permutation(1000).compute()
    assert sorted(shuffled) == list(range(1000))
    assert list(shuffled) != list(range(1000))
    np.testing.assert_array_equal(generator().permutation(1000).compute(), shuffled)
    assert list(generator(8).permutation(1000).compute()) != list(shuffled)
    rows = da.arange(60, chunks=60).reshape(20, 3).rechunk((6, 3))
    moved = generator().permutation(rows).compute()
    assert sorted(map(tuple, moved)) == [(k, k + 1, k + 2) for k in range(0, 60, 3)]


def test_chunks_draw_different_numbers_and_repeat() -> None:
    x = generator().normal(10, 2, size=(400, 300), chunks=(100, 300))
    values = x.compute()
    assert abs(values.mean() - 10) < 5 * 2 / np.sqrt(values.size)
    assert abs(values.std() - 2) < 0.03
    assert len(np.unique(values)) == values.size
    np.testing.assert_array_equal(
        generator().normal(10, 2, size=(400, 300), chunks=(100, 300)).compute(), values
    )
    rng = generator()
    assert not np.array_equal(*(rng.exponential(size=5).compute() for _ in "12"))


def test_parameters_can_be_arrays() -> None:
    low = np.arange(0, 1000, 10.0)
    values = generator().uniform(low, low + 5, size=(50, 100), chunks=(25, 30)).compute()
    assert ((values >= low) & (values < low + 5)).all()
    lazy = da.from_array(low, chunks=40)
    values = generator().normal(lazy, 0.0, size=(100,), chunks=40).compute()
    np.testing.assert_array_equal(values, low)
    assert generator().integers(lazy.astype("i8"), 2000, size=(100,), chunks=40).dtype == "int64"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((3,), {0, 1, 2}),
        ((-1, 2), {-1, 0, 1}),
        ((-1, 2, "endpoint"), {-1, 0, 1, 2}),
    ],
)
def test_integers(arguments: Any, expected: set[int]) -> None:
    endpoint = arguments[-1] == "endpoint"
    drawn = generator().integers(*arguments[:2], size=500, chunks=100, endpoint=endpoint)
    assert drawn.dtype == "int64"
    assert set(drawn.compute().tolist()) == expected


def test_booleans_and_small_integers() -> None:
    coins = generator().integers(0, 2, size=100, dtype=bool).compute()
    assert coins.dtype == bool
    assert 20 < coins.sum() < 80
    assert generator().integers(0, 9, size=9, dtype="uint8").compute().dtype == "uint8"


def test_choice() -> None:
    drawn = generator().choice(10, size=(40, 50), chunks=(20, 50))
    assert (drawn.dtype, drawn._meta.ndim) == (np.int64, 2)
    assert set(np.unique(drawn.compute())) == set(range(10))
    values = generator().choice([2.5, 7.5], size=200, p=[0.0, 1.0], chunks=100).compute()
    assert set(values) == {7.5}
    distinct = generator().choice(np.arange(30), size=30, replace=False).compute()
    assert sorted(distinct) == list(range(30))
    with pytest.raises(ParameterError, match=r"with p= or with replace=False, not with both"):
        generator().choice([1, 2], size=2, replace=False, p=[0.5, 0.5]).compute()


def test_an_unknown_distribution() -> None:
    with pytest.raises(AttributeError, match=r"draws no 'multivariate_hypergeometric'; make the"):
        generator().multivariate_hypergeometric([3, 4], 2, size=3)


def test_what_the_plugin_moves(cupy: Any) -> None:
    def moved(make: Any) -> int:
        with dask.config.set(array_plugins=(cupy_backend.plugin,)):
            x = make()
        before = len(cupy.moved)
        x.compute(scheduler="synchronous")
        return len(cupy.moved) - before

    data = np.arange(12.0)
    outside = da.ones(12, chunks=6)
    assert moved(lambda: da.from_array(data, chunks=4)) == 3
    assert moved(lambda: da.linspace(0, 1, 12, chunks=6)) == 2
    assert moved(lambda: da.from_array(data, chunks=4) + 1) == 3  # the source only
    assert moved(lambda: outside + data) == 1  # the NumPy operand
    assert moved(lambda: outside.map_blocks(np.asarray)) == 0
    assert moved(lambda: da.from_array(data.astype("M8[s]"), chunks=4)) == 0
    assert moved(lambda: da.from_array(data.astype(np.longdouble), chunks=4)) == 0
    assert moved(lambda: da.from_array(data.astype(object), chunks=4)) == 0


class Strict(np.ndarray):
    """An array that, like CuPy's, works with its like and with scalars only."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(type(one) is np.ndarray for one in inputs):
            return NotImplemented
        plain = (one.view(np.ndarray) if isinstance(one, Strict) else one for one in inputs)
        return np.asarray(getattr(ufunc, method)(*plain, **options)).view(Strict)


Strict.__module__, Strict.__name__ = "cupy", "ndarray"


def test_the_type_of_a_mixed_operation(cupy: Any) -> None:
    cupy.ndarray = Strict
    cupy.asarray = lambda value: np.asarray(value).view(Strict)
    cupy.empty = lambda *args: np.empty(*args).view(Strict)
    data = np.arange(6.0)
    with dask.config.set(array_plugins=(cupy_backend.plugin,), scheduler="synchronous"):
        x = da.from_array(data, chunks=3)
        assert type(x._meta) is Strict
        for mixed in (x * data, data - x, np.maximum(x, data), da.add(x, data, dtype="f4")):
            assert type(mixed._meta) is Strict
            assert {type(chunk) for chunk in dask.compute(*mixed.to_delayed())} == {Strict}
        assert type(x.map_blocks(lambda c: c.view(np.ndarray))._meta) is np.ndarray


def test_the_generator_of_a_chunk_is_ours_and_others_are_speedcubes() -> None:
    assert isinstance(sc.random.default_rng(BitGenerator(1)), cupy_backend.CupyGenerator)
    assert isinstance(sc.random.default_rng(1), sc.random.Generator)


def test_the_type_of_what_is_chosen(cupy: Any) -> None:
    """Dask takes NumPy's type for whole numbers that are chosen, with probabilities, too."""
    cupy.ndarray = Strict
    cupy.asarray = lambda value: np.asarray(value)
    cupy.empty = lambda *args: np.empty(*args).view(Strict)
    with dask.config.set(array_plugins=(cupy_backend.plugin,), scheduler="synchronous"):
        for drawn in (
            generator().choice(10, size=6, chunks=3),
            generator().choice(2, size=6, p=[0.0, 1.0], chunks=3),
            generator().choice(da.ones(3, chunks=3), size=6, chunks=3),
        ):
            assert type(drawn._meta) is Strict  # not speedcube's, whose package Dask asked
        named = da.Array(drawn.dask, "another", drawn.chunks, drawn.dtype)
        assert type(named._meta) is Strict  # of a graph that has no such layer: it is moved
        before = da.random.default_rng(5).choice(2, size=6, p=[0.0, 1.0])
        assert type(before._meta) is np.ndarray  # a generator from outside draws with NumPy
