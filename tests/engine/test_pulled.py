"""Dask arrays whose blocks are made as they are needed: each once, few at a time, same bits."""

from __future__ import annotations

import pickle
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.engine.foreign import pulled

da = pytest.importorskip("dask.array")
MADE: Counter[int] = Counter()
_LOCK = threading.Lock()


def block(x: Any, block_info: Any = None) -> Any:
    """A block with numbers of its own, which is counted."""
    first = block_info[None]["array-location"][0][0] if block_info else 0
    with _LOCK:
        MADE[first] += 1
    return x + np.sqrt(np.arange(x.shape[0])[:, None] + first)


def made(chunks: Any = (10, 50), shape: Any = (100, 100)) -> Any:
    MADE.clear()
    return da.ones(shape, chunks=chunks).map_blocks(block, dtype="f8", meta=np.empty((0, 0)))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    from speedcube.plan import streams

    monkeypatch.setattr(pulled, "LEAST", 1)
    monkeypatch.setattr(streams, "BLOCK", 1 << 10)


PROGRAMS: dict[str, Any] = {
    "sum": lambda x: x.sum(),
    "columns": lambda x: x.mean(axis=0),
    "rows": lambda x: x.max(axis=1),
    "map": lambda x: sc.sqrt(x) * 2,
    "slices": lambda x: x[5:95:7, ::3].sum(axis=0),
    "turned": lambda x: x[::-1].T + 1,
    "stencil": lambda x: x[1:] - x[:-1],
    "spread": lambda x: x.std(),
    "together": lambda x: (x + sc.roll(x, 3, axis=1)).sum(axis=1),
}


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("chunks", [(10, 50), (16, 30), ((31, 28, 31, 10), (100,)), (100, 100)])
def test_bits_are_those_of_memory(program: str, chunks: Any, on: str) -> None:
    d = made(chunks)
    run, here = PROGRAMS[program], sc.asarray(d.compute(scheduler="sync"))
    got = run(sc.asarray(d)).compute(on=on)
    assert np.asarray(got).tobytes() == np.asarray(run(here).compute()).tobytes()


@pytest.mark.parametrize("chunks", [(10, 50), (10, 100), ((31, 28, 31, 10), (100,))])
def test_each_block_is_made_once_a_pass(chunks: Any) -> None:
    d = made(chunks)
    x, blocks = sc.asarray(d), len(d.chunks[1])
    starts = np.cumsum((0, *d.chunks[0]))[:-1]
    MADE.clear()
    sc.compute(x.sum(), x.max(), on="core")
    assert dict.fromkeys(starts.tolist(), blocks) == MADE
    MADE.clear()
    x[:7].mean().compute(on="core")
    assert {0: blocks} == MADE


def test_few_blocks_are_there_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that live, seen by what is called when one goes."""
    import weakref

    live, most = set[int](), [0]

    def held(x: Any) -> Any:
        own = x * 1.0
        live.add(id(own))
        weakref.finalize(own, live.discard, id(own))
        most[0] = max(most[0], len(live))
        return own

    d = da.ones((40, 500), chunks=(1, 500)).map_blocks(held, dtype="f8", meta=np.empty((0, 0)))
    x = sc.asarray(d)
    most[0] = 0
    assert x.sum().compute(on="core") == 40 * 500
    assert 0 < most[0] <= 3


def test_the_plan_says_which_blocks_are_read_and_promises_little() -> None:
    d = da.ones((1000, 1000, 100), chunks=(10, 1000, 100))
    x = sc.asarray(d)
    plan = x.sum().plan(on="core")
    assert f"reads 800 MB of 800 MB of dask {d.name}, 100 of 100 blocks" in repr(plan)
    assert plan.peak_bytes < 120_000_000
    assert "2 of 100 blocks" in repr(x[5:15].mean().plan(on="core"))


def test_what_blocks_share_is_made_once() -> None:
    calls = []

    @dask.delayed
    def opened() -> Any:
        calls.append(1)
        return np.arange(20.0)

    one = opened()
    parts = [da.from_delayed(one[k : k + 5], (5,), "f8") for k in range(0, 20, 5)]
    assert sc.asarray(da.concatenate(parts)).sum().compute(on="core") == 190.0
    assert len(calls) == 1


@pytest.mark.parametrize(
    "change",
    [lambda d: d - d.mean(), lambda d: d.rechunk((100, 10)), lambda d: d.cumsum(axis=0)],
    ids=["less its mean", "rechunked", "running sums"],
)
def test_blocks_that_need_each_other_are_made_by_dask(change: Any) -> None:
    d = change(made())
    x = sc.asarray(d)
    assert "blocks" not in repr((x * 2).sum(axis=0).plan(on="core"))
    MADE.clear()
    got = (x * 2).sum(axis=0).compute(on="core")
    assert set(MADE.values()) == {2}
    here = sc.asarray(d.compute(scheduler="sync"))
    assert got.tobytes() == (here * 2).sum(axis=0).compute().tobytes()


def test_what_is_sorted_lies_in_memory() -> None:
    d = made()
    MADE.clear()
    got = sc.sort(sc.asarray(d) * 1, axis=0).compute()
    assert set(MADE.values()) == {2}
    assert np.array_equal(got, np.sort(d.compute(scheduler="sync"), axis=0))


def test_complex_numbers() -> None:
    data = np.arange(12.0).reshape(4, 3) + 1j
    x = sc.asarray(da.from_array(data, chunks=(1, 3)))
    assert np.array_equal((x * 2).sum(axis=0).compute(on="core"), (data * 2).sum(axis=0))


def test_tasks_that_fail_or_lie() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("from the block")

    d = da.ones((40, 5), chunks=(10, 5)).map_blocks(fails, dtype="f8", meta=np.empty((0, 0)))
    with pytest.raises(KeyError, match="from the block"):
        sc.asarray(d).sum().compute()
    d = da.ones((40, 5), chunks=(10, 5)).map_blocks(lambda x: x[:1], dtype="f8")
    with pytest.raises(errors.ShapeError, match=r"a block of shape \(1, 5\), and \(10, 5\) was"):
        sc.asarray(d).sum().compute()


def test_blocks_are_written_without_being_together(tmp_path: Path) -> None:
    d = made((10, 100))
    want = d.compute(scheduler="sync")
    for on in ("core", "cores:2"):
        MADE.clear()
        sc.save(tmp_path / "x.npy", sc.asarray(d) * 2, on=on)
        assert np.array_equal(np.load(tmp_path / "x.npy"), want * 2)
        assert sum(MADE.values()) == 10
    zarr = pytest.importorskip("zarr")
    MADE.clear()
    sc.asarray(d).to_zarr(tmp_path / "x.zarr", chunks=(20, 50))
    assert np.array_equal(zarr.open_array(tmp_path / "x.zarr")[:], want)
    assert sum(MADE.values()) == 10


def test_they_travel() -> None:
    x = sc.asarray(made())
    (found,) = pulled.pulling([x._expr])
    tiles = pickle.loads(pickle.dumps(found.source.tiles))
    out = np.empty((3, 100))
    tiles.read((slice(8, 11, 1), slice(0, 100, 1)), out)
    assert np.array_equal(out, np.asarray(x[8:11]))


@pytest.mark.cluster
def test_on_a_cluster_each_worker_makes_its_own() -> None:
    distributed = pytest.importorskip("distributed")
    d = da.ones((100, 100), chunks=(10, 100)).map_blocks(lambda x: x + 1, dtype="f8")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        y = sc.asarray(d).sum(axis=0)
        assert "10 of 10 blocks" in repr(y.plan(on=client))
        assert np.array_equal(y.compute(on=client), np.full(100, 200.0))
        kept = client.persist(d)
        assert np.array_equal(
            (sc.asarray(kept) * 1).sum(axis=0).compute(on=client), np.full(100, 200.0)
        )
