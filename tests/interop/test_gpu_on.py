"""`sc.on` with real GPUs: unmodified ``dask.array`` code in the block works on CuPy chunks.

CPU rungs and what is restored: test_on.py. The cluster's life without GPUs: test_named_clusters.py.
"""

from __future__ import annotations

import importlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import machine, rungs
from speedcube.engine.clusters import named
from speedcube.errors import ParameterError, RungError

da = pytest.importorskip("dask.array")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif("gpu" not in rungs.available(), reason="no GPU is visible here"),
]

_DATA = np.random.default_rng(7).normal(size=(60, 50))
_KEYS = ("scheduler", "array.backend", "array_plugins", "array.rechunk.method", "num_workers")


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    import cupy

    def state() -> Any:
        settings = [dask.config.get(key, None) for key in _KEYS]
        return settings, rungs._current.get(), rungs.active_client(), cupy.cuda.Device().id

    before = state()
    yield
    assert state() == before
    assert type(da.ones(3)._meta) is np.ndarray


def chunks(x: Any) -> list[Any]:
    """The computed chunks of ``x``, as they are."""
    return list(dask.compute(*x.to_delayed().ravel().tolist()))


def on_gpu(x: Any) -> Any:
    """The values of ``x`` as a NumPy array; its chunks have to be CuPy arrays of its dtype."""
    import cupy

    assert type(x._meta) is cupy.ndarray
    for chunk in chunks(x):
        assert type(chunk) is cupy.ndarray
        assert chunk.dtype == x.dtype
    computed = x.compute()
    assert type(computed) is cupy.ndarray
    return cupy.asnumpy(computed)


# Arrays ------------------------------------------------------------------------------------

EXPRESSIONS: dict[str, Callable[[], Any]] = {
    "ones": lambda: da.ones((7, 5), chunks=3),
    "full float32": lambda: da.full((7, 5), 2.5, dtype="f4", chunks=(3, 5)),
    "arange": lambda: da.arange(3, 50, 2, chunks=10),
    "linspace": lambda: da.linspace(0, 1, 33, chunks=10),
    "eye": lambda: da.eye(9, chunks=4, k=1),
    "fromfunction": lambda: da.fromfunction(lambda i, j: i * 2 + j, shape=(6, 4), chunks=3),
    "indices": lambda: da.indices((6, 4), chunks=3),
    "from_array": lambda: da.from_array(_DATA, chunks=(20, 30)),
    "from_array of booleans": lambda: da.from_array(_DATA > 0, chunks=(20, 30)),
    "NumPy operand": lambda: da.ones((60, 50), chunks=25) * _DATA + _DATA[0],
    "NumPy operand first": lambda: _DATA[:, 0] - da.ones((60, 60), chunks=25),
    "NumPy operand, then a mean": lambda: (da.ones((60, 50), chunks=25) > _DATA).mean(axis=0),
    "function of NumPy operands": lambda: da.maximum(da.ones((60, 50), chunks=25), _DATA),
    "where": lambda: da.where(da.from_array(_DATA, chunks=20) > 0, _DATA, -1.0),
    "concatenate": lambda: da.concatenate([da.zeros((4, 50), chunks=4), _DATA]),
    "product": lambda: da.from_array(_DATA, chunks=20) @ _DATA.T,
    "rechunked mean": lambda: da.from_array(_DATA, chunks=20).rechunk((60, 7)).mean(axis=0),
    "deviation": lambda: da.from_array(_DATA, chunks=20).std(axis=1),
    "minimum": lambda: da.from_array(_DATA, chunks=20).min(axis=0),
    "steps": lambda: da.from_array(_DATA, chunks=20)[::-2, 3::7],
    "chosen rows": lambda: da.from_array(_DATA, chunks=20)[[5, 40, 3]],
    "running sum": lambda: da.from_array(_DATA, chunks=20).cumsum(axis=0),
    "overlap": lambda: da.from_array(_DATA, chunks=20).map_overlap(lambda c: c + 1, depth=1),
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_unmodified_dask_code_gives_cupy_chunks(name: str) -> None:
    expected = EXPRESSIONS[name]().compute()
    with sc.on("gpu"):
        computed = on_gpu(EXPRESSIONS[name]())
    assert computed.dtype == expected.dtype
    np.testing.assert_allclose(computed, expected, rtol=1e-13, atol=1e-13)


def test_arrays_made_outside_move_when_asked() -> None:
    import cupy

    x = da.from_array(_DATA, chunks=20)
    with sc.on("gpu"):
        assert type(x.sum().compute()) is np.float64
        moved = x.to_backend()
        np.testing.assert_array_equal(on_gpu(moved), _DATA)
        assert type(moved.to_backend("numpy").compute()) is np.ndarray
        assert type(moved.map_blocks(cupy.asnumpy).compute()) is np.ndarray
        assert type(on_gpu(moved.persist())) is np.ndarray
    later = moved + 1
    assert type(later.compute()) is cupy.ndarray  # an array stays what it was made as
    assert type(x.to_backend("cupy").compute()) is cupy.ndarray


def test_it_runs_in_the_thread_that_computes() -> None:
    def seen(chunk: Any) -> Any:
        threads.append(threading.get_ident())
        return chunk

    threads: list[int] = []
    with sc.on("gpu"):
        da.ones(8, chunks=1).map_blocks(seen, meta=da.ones(1)._meta).compute()
    assert set(threads) == {threading.get_ident()}


# Random numbers ----------------------------------------------------------------------------

# (name, parameters, mean, standard deviation)
DISTRIBUTIONS: list[tuple[str, tuple[Any, ...], float, float]] = [
    ("normal", (10, 2), 10, 2),
    ("standard_normal", (), 0, 1),
    ("uniform", (-1, 3), 1, 4 / 12**0.5),
    ("random", (), 0.5, 1 / 12**0.5),
    ("integers", (0, 11), 5, 10**0.5),
    ("exponential", (3.0,), 3, 3),
    ("standard_exponential", (), 1, 1),
    ("gamma", (4.0, 0.5), 2, 1),
    ("poisson", (9.0,), 9, 3),
    ("binomial", (100, 0.5), 50, 5),
    ("lognormal", (0.0, 0.5), np.exp(0.125), 0.604),
    ("chisquare", (8,), 8, 4),
    ("laplace", (1.0, 2.0), 1, 8**0.5),
]


@pytest.mark.parametrize(
    ("name", "parameters", "mean", "deviation"), DISTRIBUTIONS, ids=[d[0] for d in DISTRIBUTIONS]
)
def test_generators(name: str, parameters: Any, mean: float, deviation: float) -> None:
    def draw(seed: int) -> Any:
        rng = da.random.default_rng(seed)
        return getattr(rng, name)(*parameters, size=(400, 250), chunks=(200, 250))

    with sc.on("gpu"):
        values = on_gpu(draw(3))
        assert values.dtype == ("int64" if name in ("integers", "poisson", "binomial") else "f8")
        assert abs(values.mean() - mean) < 6 * deviation / values.size**0.5
        assert abs(values.std() - deviation) < 0.02 * deviation
        assert not np.array_equal(values[:200], values[200:])
        np.testing.assert_array_equal(on_gpu(draw(3)), values)
        assert not np.array_equal(on_gpu(draw(4)), values)


def test_parameters_that_are_arrays() -> None:
    low = np.arange(0, 1000, 10.0)
    with sc.on("gpu"):
        rng = da.random.default_rng(1)
        values = on_gpu(rng.uniform(low, low + 5, size=(50, 100), chunks=(25, 30)))
        assert ((values >= low) & (values < low + 5)).all()
        lazy = da.arange(100, chunks=30).astype("f8")
        values = on_gpu(rng.normal(lazy, 0.0, size=100, chunks=30))
    np.testing.assert_array_equal(values, np.arange(100.0))


def test_dtypes_of_random_numbers() -> None:
    with sc.on("gpu"):
        rng = da.random.default_rng(1)
        assert on_gpu(rng.random(size=9, dtype="f4", chunks=5)).dtype == "f4"
        assert on_gpu(rng.integers(0, 9, size=9, dtype="uint8", chunks=5)).dtype == "u1"
        dice = on_gpu(rng.integers(1, 6, size=600, endpoint=True, chunks=100))
        assert set(dice) == {1, 2, 3, 4, 5, 6}
        assert on_gpu(rng.integers(0, 2, size=9, dtype=bool, chunks=5)).dtype == bool


def test_permutation() -> None:
    with sc.on("gpu"):
        shuffled = on_gpu(da.random.default_rng(5).permutation(1000))
        assert sorted(shuffled) == list(range(1000))
        assert list(shuffled) != list(range(1000))
        np.testing.assert_array_equal(on_gpu(da.random.default_rng(5).permutation(1000)), shuffled)
        rows = da.from_array(_DATA, chunks=(20, 50))
        moved = on_gpu(da.random.default_rng(5).permutation(rows))
    assert not np.array_equal(moved, _DATA)
    np.testing.assert_array_equal(np.sort(moved[:, 0]), np.sort(_DATA[:, 0]))


def test_choice() -> None:
    with sc.on("gpu"):
        rng = da.random.default_rng(5)
        assert set(on_gpu(rng.choice(10, size=(40, 50), chunks=(20, 50))).ravel()) == set(range(10))
        picked = on_gpu(rng.choice(np.array([2.5, 7.5, 9.5]), size=500, chunks=100))
        assert set(picked) == {2.5, 7.5, 9.5}
        assert set(on_gpu(rng.choice(2, size=50, p=[0.0, 1.0], chunks=25))) == {1}
        assert sorted(on_gpu(rng.choice(30, size=30, replace=False))) == list(range(30))
        with pytest.raises(ParameterError, match="not with both"):
            rng.choice(2, size=2, replace=False, p=[0.5, 0.5]).compute()


def test_what_cupy_cannot_draw_says_so() -> None:
    with sc.on("gpu"), pytest.raises(AttributeError, match="draws no 'multivariate_hyper"):
        da.random.default_rng(5).multivariate_hypergeometric([3, 4], 2, size=3)


def test_the_older_interface_draws_on_the_gpu_as_well() -> None:
    with sc.on("gpu"):
        for normal in (da.random.RandomState(3).normal, da.random.normal):
            values = on_gpu(normal(10, 1, size=(300, 300), chunks=(100, 300)))
            assert abs(values.mean() - 10) < 6 / 300


# Nested, other threads, frames -------------------------------------------------------------


def test_nested_blocks_and_exceptions() -> None:
    import cupy

    def kind() -> Any:
        return type(da.random.default_rng(1).normal(size=3).compute())

    with sc.on("gpu"):
        with sc.on("cores:2"):
            assert kind() is np.ndarray
            with pytest.raises(ZeroDivisionError), sc.on("gpu"):
                da.ones(3).map_blocks(lambda c: 1 // 0, dtype="f8", meta=da.ones(1)._meta).compute()
            assert kind() is np.ndarray
        assert kind() is cupy.ndarray
        assert sc.ones(3).plan().rung == "gpu"
    assert kind() is np.ndarray


def test_another_thread_computes_on_the_gpu_too() -> None:
    import cupy

    def compute() -> None:
        seen.append(type(da.ones(3).sum().compute()))
        seen.append(sc.ones(3).plan().rung)

    seen: list[Any] = []
    with sc.on("gpu"):
        thread = threading.Thread(target=compute)
        thread.start()
        thread.join()
    assert seen == [cupy.ndarray, "gpu"]


def test_frames_follow_where_they_can() -> None:
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe needs pandas and pyarrow")
    from importlib.util import find_spec

    cudf = bool(find_spec("cudf") and find_spec("dask_cudf"))
    with sc.on("gpu"):
        assert dask.config.get("dataframe.backend") == ("cudf" if cudf else "pandas")
        frame = dd.from_dict({"k": [1, 2, 1, 2], "v": [0.0, 1, 2, 3]}, npartitions=2)
        assert type(frame._meta).__module__.split(".")[0] == ("cudf" if cudf else "pandas")
        assert float(frame.groupby("k").v.sum().compute()[2]) == 4.0


def test_a_gpu_that_is_not_there() -> None:
    count = machine.gpu_count()
    with (
        pytest.raises(RungError, match=rf"GPUs \[{count}\]; this machine has"),
        sc.on(f"gpu:{count}"),
    ):
        pytest.fail("the block was entered")


# One cluster -------------------------------------------------------------------------------


@pytest.fixture
def no_cluster() -> Iterator[None]:
    """Needs dask-cuda; no cluster before and after."""
    pytest.importorskip("dask_cuda", reason="dask-cuda is not installed")
    with warnings.catch_warnings():  # it imports numba, which warns of the newest NumPy
        warnings.simplefilter("ignore")
        importlib.import_module("distributed.protocol.cupy")
    assert not named._clients
    yield
    assert not named._clients


@pytest.mark.cluster
@pytest.mark.usefixtures("no_cluster")
def test_gpus_is_one_cluster_for_the_block() -> None:
    import cupy
    import distributed

    def place(chunk: Any) -> Any:  # on a worker
        return cupy.array([[os.getpid(), type(chunk) is cupy.ndarray, int(chunk.sum() > 0)]])

    with sc.on("gpus"):
        x = da.random.default_rng(0).normal(10, 1, size=(2000, 2000), chunks=(500, 1000))
        assert float(sc.ones(3).sum()) == 3.0
        assert not named._clients  # neither is a computation of plain Dask
        mean = (x + 1)[::2, ::2].mean().compute()
        assert type(mean) is cupy.ndarray
        assert abs(float(mean) - 11) < 6 / 1000
        (client,) = named._clients.values()
        workers = client.scheduler_info(n_workers=-1)["workers"]
        assert len(workers) == machine.gpu_count()
        places = x.map_blocks(place, dtype="i8", chunks=(1, 3), meta=x._meta.astype("i8"))
        pids, kinds, positive = cupy.asnumpy(places.compute().reshape(-1, 3)).T
        assert set(pids) <= set(client.run(os.getpid).values())
        assert kinds.all()
        assert positive.all()
        persisted = x.persist()
        distributed.wait(persisted)
        assert all(isinstance(value, distributed.Future) for value in persisted.dask.values())
        assert sorted(cupy.asnumpy(da.random.default_rng(2).permutation(50).compute())) == list(
            range(50)
        )
        assert on_gpu(da.from_array(_DATA, chunks=20)).tobytes() == _DATA.tobytes()
        with sc.on("core"):
            assert type(da.ones(3).sum().compute()) is np.float64
        with pytest.raises(ZeroDivisionError), sc.on("gpus"):
            dask.delayed(lambda: 1 // 0)().compute()
        assert list(named._clients.values()) == [client]
    assert client.status == "closed"


@pytest.mark.cluster
@pytest.mark.usefixtures("no_cluster")
def test_cuda_cluster_is_shared_by_both_and_an_exception_closes_it() -> None:
    expression = sc.random.default_rng(5).normal(10, 1, size=(3000, 2000))[::2].sum()
    expected = expression.compute(on="core")

    def compute() -> Any:
        with sc.on("cuda-cluster"):
            assert float(da.ones((40, 40), chunks=20).sum().compute()) == 1600.0
            (client,) = named._clients.values()
            assert expression.compute().tobytes() == expected.tobytes()
            assert list(named._clients.values()) == [client]
            raise KeyError(expression.plan().rung, client)

    with pytest.raises(KeyError) as caught:
        compute()
    rung, client = caught.value.args
    assert rung == "cuda-cluster"
    assert client.status == "closed"


# Two GPUs ----------------------------------------------------------------------------------

two_gpus = pytest.mark.skipif(machine.gpu_count() < 2, reason="needs two GPUs")


@two_gpus
@pytest.mark.multigpu
def test_the_second_gpu() -> None:
    with sc.on("gpu:1"):
        x = da.random.default_rng(1).normal(size=(400, 400), chunks=100)
        assert {chunk.device.id for chunk in chunks(x)} == {1}
        assert x.sum().compute().device.id == 1
        with sc.on("gpu:0"):
            assert da.ones(3).sum().compute().device.id == 0
        assert da.ones(3).sum().compute().device.id == 1


@two_gpus
@pytest.mark.multigpu
@pytest.mark.cluster
@pytest.mark.usefixtures("no_cluster")
@pytest.mark.parametrize("rung", ["gpus:0,1", "cuda-cluster:2"])
def test_every_worker_has_a_gpu_of_its_own(rung: str) -> None:
    def gpu() -> str:
        import cupy

        return str(cupy.cuda.runtime.getDeviceProperties(0)["uuid"])

    with sc.on(rung):
        x = da.random.default_rng(0).normal(10, 1, size=(4000, 4000), chunks=1000)
        assert abs(float(x.mean().compute()) - 10) < 6 / 4000
        (client,) = named._clients.values()
        assert len(set(client.run(gpu).values())) == 2
