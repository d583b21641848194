"""Random expressions have the bits of one thread on a cluster, of arrays in memory and of files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

from . import routes
from .routes import LARGE, Case, case, differences

pytestmark = pytest.mark.cluster
distributed = pytest.importorskip("distributed")

# Results of 1 MiB and more stay in blocks, one with each worker.
BLOCKS: Final = ((300_003,), (700, 500), (100_001, 3), (3, 200_000), (40, 80, 90))
SAMPLE: Final = 20
MANY: Final = 150

# Texts that had other bits on a cluster, or failed there, each with its shape.
FOUND: Final = (
    # What is gathered was taken for the first element of what lies in blocks.
    ("np.roll(x, 2)[x > 0]", (300_003,)),
    ("np.concatenate([x, x], axis=2)[np.array([*range(39, -1, -1)]) // 2]", (40, 80, 90)),
    ("np.take_along_axis(np.pad(x, 1), np.argsort(np.pad(x, 1), axis=-1), axis=-1)", (40, 80, 90)),
    # Sums of parts of a line took a file for what is read a block at a time, and got it whole.
    ("np.cumsum(x[::-1], axis=0)", (300_003,)),
    ("np.mean(np.cumsum(x[::-1], axis=0), axis=None)", (300_003,)),
    ("np.mean(np.nancumsum(y, axis=0), axis=None)", (300_003,)),
)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **where) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


@pytest.fixture(autouse=True)
def _only_the_cluster(client: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def held(one: Case, _: Path) -> tuple[Any, ...]:
        return routes.computed(one.text, sc.asarray(one.x), sc.asarray(one.y), client)

    def of_files(one: Case, folder: Path) -> tuple[Any, ...]:
        np.save(folder / "x.npy", one.x)
        np.save(folder / "y.npy", one.y)
        x, y = (sc.open(folder / name) for name in ("x.npy", "y.npy"))
        return routes.computed(one.text, x, y, client)

    monkeypatch.setattr(routes, "ROUTES", {"a cluster": held, "a cluster, of files": of_files})
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _check(cases: list[Case], folder: Path) -> None:
    wrong = [f"{one!r}\n   {said}" for one in cases for said in differences(one, folder) or ()]
    assert not wrong, f"{len(wrong)} of {len(cases)} texts\n" + "\n".join(wrong[:9])


def test_a_sample(tmp_path: Path) -> None:
    _check([case(seed, BLOCKS) for seed in range(SAMPLE)], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many(part: int, tmp_path: Path) -> None:
    seeds = range(1000 + part * MANY, 1000 + (part + 1) * MANY)
    _check([case(seed, (*LARGE, *BLOCKS)) for seed in seeds], tmp_path)


@pytest.mark.parametrize(("text", "shape"), FOUND)
def test_those_once_wrong(text: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    _check([Case(0, text, *rng.normal(size=(2, *shape)))], tmp_path)
