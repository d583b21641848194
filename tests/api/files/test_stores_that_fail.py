"""Stores that answer slowly, fail once, or always; and addresses with secrets in them."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.interop.readers import again

zarr = pytest.importorskip("zarr", reason='needs pip install "speedcube[io]"')
DATA: Any = np.arange(240.0).reshape(12, 20)
SECRET = "https://me:secret@host/x?token=hidden"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "PAUSES", (0.0, 0.0, 0.0))


def opened(kind: type[BaseException] | None, times: int = 1, only: str = "c/", **how: Any) -> Any:
    """An array whose store fails so many times for each chunk, and how often it was asked."""
    asked: Counter[str] = Counter()

    class Store(zarr.storage.MemoryStore):
        async def get(self, key: str, *args: Any, **kwargs: Any) -> Any:
            if key.startswith(only):
                asked[key] += 1
                await asyncio.sleep(0.001)
                if kind is not None and asked[key] <= times:
                    raise kind(f"{SECRET} did not answer")
            return await super().get(key, *args, **kwargs)

    store = Store()
    zarr.create_array(store=store, data=DATA, chunks=(5, 6), **how)
    return sc.from_zarr(zarr.open_array(store, mode="r")), asked


@pytest.mark.parametrize("kind", [ConnectionResetError, TimeoutError, OSError])
@pytest.mark.parametrize("item", [..., np.s_[1:, ::3], np.s_[::-2, 4]])
def test_a_store_that_fails_once_for_each_chunk(kind: Any, item: Any) -> None:
    x, _ = opened(kind)
    assert np.array_equal(x[item].compute(), DATA[item])
    y, asked = opened(kind)
    assert y.mean(axis=0).compute().tobytes() == sc.asarray(DATA).mean(axis=0).compute().tobytes()
    assert len(asked) == 12
    assert max(asked.values()) <= 4


def test_a_store_that_answers_slowly() -> None:
    x, asked = opened(None)
    assert np.array_equal(x.compute(on="core"), DATA)
    assert set(asked.values()) == {1}


def test_a_store_that_always_fails_is_given_up_and_the_chunk_named() -> None:
    x, asked = opened(ConnectionResetError, times=10**9, only="c/1/2")
    assert np.array_equal(x[:5].compute(), DATA[:5])
    with pytest.raises(
        OSError, match=r"zarr /, chunk \(1, 2\), cannot be read, tried 4 times: C"
    ) as e:
        x.sum().compute()
    assert asked["c/1/2"] <= 5
    assert e.value.__cause__ is None
    for hidden in ("secret", "hidden"):
        assert hidden not in str(e.value)


def test_what_lasts_is_not_tried_again() -> None:
    x, asked = opened(PermissionError, times=10**9)
    with pytest.raises(PermissionError):
        x.compute(on="core")
    assert set(asked.values()) == {1}


class Lib(Exception):
    """An error of a library of stores, which is no OSError."""


def test_errors_of_libraries_that_are_no_oserrors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Lib, "__module__", "obstore.exceptions")
    x, _ = opened(Lib)
    assert np.array_equal(x.compute(), DATA)
    monkeypatch.setattr(Lib, "__module__", "of_nobody")
    x, _ = opened(Lib)
    with pytest.raises(sc.errors.DataFileError) as caught:
        x.compute()
    assert "secret" not in f"{caught.value} {caught.value.__cause__}"
    assert "hidden" not in f"{caught.value} {caught.value.__cause__}"


def test_secrets_are_in_no_repr_and_no_plan() -> None:
    pytest.importorskip("fsspec")
    url = "memory://me:secret@place/x.zarr"
    zarr.create_array(store=url, data=DATA, chunks=(5, 6))
    x = sc.open(url)
    shown = f"{x!r} {x.sum().plan()} {(x + 1).explain()} {x.sum().source('ir')}"
    assert "secret" not in shown
