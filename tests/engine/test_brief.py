"""Programs of several stages that one thread makes sooner than two begin; memory between stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.cpu import address_of
from speedcube.engine.known import by_plan, memory
from speedcube.engine.streams import reading

X = np.random.default_rng(5).normal(size=(700, 900))
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "standardised": lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    "between its ends": lambda x: (x - x.min(axis=0)) / (x.max(axis=0) - x.min(axis=0)),
    "softmax": lambda x: np.exp(x[:300] - x[:300].max(axis=1, keepdims=True)),
    "ranges of rows": lambda x: np.ptp(x, axis=1) * 2,
    "turned": lambda x: x.T.ravel() * 2 + 1,
    "turned rows": lambda x: (x.T.reshape(-1, 7) - 0.5).sum(axis=1),
}


HAS_FEW = memory._has_few


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Of each plan that is run, how many threads it is dealt out to."""
    told: list[int] = []
    run = by_plan._told

    def counted(plan: Any, *args: Any) -> Any:
        told.append(plan.workers)
        return run(plan, *args)

    monkeypatch.setattr(by_plan, "_told", counted)
    monkeypatch.setattr(memory, "_has_few", HAS_FEW)
    memory._known.clear()
    yield told
    memory._known.clear()


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_thread_has_the_bits_of_two(
    name: str, workers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PROGRAMS[name]
    ours = [np.asarray(text(sc.asarray(X)).compute(on="cores:2")) for _ in range(3)]
    assert set(workers) == {1}
    memory._known.clear()
    monkeypatch.setattr(memory, "_has_few", lambda found: False)
    two = np.asarray(text(sc.asarray(X)).compute(on="cores:2"))
    assert workers[-1] == 2
    for one in ours:
        assert_same_bits(one, two)
    np.testing.assert_allclose(ours[0], text(X), rtol=1e-12, atol=1e-14)


def test_what_takes_long_is_dealt_out(workers: list[int]) -> None:
    large = sc.asarray(np.ones((2000, 1100)))
    PROGRAMS["standardised"](large).compute(on="cores:2")
    few = sc.asarray(X)
    (np.sin(few) - np.sin(few).mean(axis=0) + np.exp(few)).compute(on="cores:2")
    np.cumsum(few - few.mean(axis=0), axis=0).compute(on="cores:2")
    assert set(workers) == {2}


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("on", ["core", "cores:2"])
def test_what_lies_between_stages_is_used_again_and_no_result(on: str) -> None:
    """Each result has memory of its own: the next computation does not write over it."""
    reading._KEPT.clear()
    reading._LARGE.clear()
    turned, first = PROGRAMS["turned"], X * 3
    one = turned(sc.asarray(first)).compute(on=on)
    kept = [*reading._KEPT, *reading._LARGE]
    assert [memory.size for memory in kept] == [X.nbytes]
    assert not any(np.may_share_memory(one, memory) for memory in kept)
    for step in range(4):
        other = turned(sc.asarray(X + step)).compute(on=on)
        np.testing.assert_array_equal(other, turned(X + step))
        assert not np.may_share_memory(one, other)
    np.testing.assert_array_equal(one, turned(first))
    again = [*reading._KEPT, *reading._LARGE]
    assert [*map(address_of, again)] == [*map(address_of, kept)]


def test_a_large_one_is_kept_alone() -> None:
    reading._KEPT.clear()
    reading._LARGE.clear()
    for size in (1 << 26, 1 << 20, 1 << 24):
        with reading.buffers_kept() as buffers:
            some = [buffers.take((size,), "uint8") for _ in range(2)]
            for one in some:
                buffers.give(one)
    assert [one.size for one in reading._LARGE] == [1 << 24]
    assert all(one.size <= reading.BLOCK for one in reading._KEPT)
