"""What ranks train on: disjoint parts of the same batches, each row once an epoch."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from speedcube import train
from speedcube.errors import ParameterError
from speedcube.petnames.epochs import Epochs


def epochs_of(monkeypatch: pytest.MonkeyPatch, rank: int, world: int, *asked: Any) -> Epochs:
    monkeypatch.setattr(train, "rank", lambda: rank)
    monkeypatch.setattr(train, "world_size", lambda: world)
    return Epochs(*asked)


def numbers(epochs: Epochs, epoch: int) -> list[list[int]]:
    """Which rows each batch of an epoch has."""
    return [batch.tolist() for batch, _ in epochs.begin(epoch)]


@pytest.mark.parametrize("world", [1, 2, 5])
@pytest.mark.parametrize("batch", [7, 20, 200])
@pytest.mark.parametrize("size", [1, 40, 101])
def test_the_ranks_share_each_batch(
    monkeypatch: pytest.MonkeyPatch, size: int, batch: int, world: int
) -> None:
    asked = size, batch, 3
    (alone,) = [numbers(epochs_of(monkeypatch, 0, 1, *asked), 4)]
    assert sorted(itertools.chain(*alone)) == list(range(size))
    whole = [numbers for numbers in alone if len(numbers) >= world]
    if not whole:
        with pytest.raises(
            ParameterError, match=f"batches of {size} rows are too small for {world}"
        ):
            epochs_of(monkeypatch, 0, world, *asked)
        return
    ranks = [epochs_of(monkeypatch, rank, world, *asked) for rank in range(world)]
    assert [rank.wholes for rank in ranks] == [list(map(len, whole))] * world
    assert [pair[1] for pair in ranks[0].begin(4)] == ranks[0].wholes
    for together, *parts in zip(whole, *(numbers(rank, 4) for rank in ranks), strict=True):
        assert sorted(itertools.chain(*parts)) == sorted(together)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_epochs_and_seeds_have_orders_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    orders = {
        tuple(*numbers(epochs_of(monkeypatch, 0, 1, 50, 50, seed), epoch))
        for seed in (0, 1, 0)
        for epoch in (1, 2, 1)
    }
    assert len(orders) == 4


def test_the_first_batch_of_an_epoch_is_there_when_it_begins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    epochs = epochs_of(monkeypatch, 0, 1, 40, 20, 0)
    begun: list[train.Batches] = []
    monkeypatch.setattr(
        train, "batches", lambda *a, f=train.batches, **k: begun.append(f(*a, **k)) or begun[-1]
    )
    batches = epochs.begin(1)
    assert begun[0].next_batch == 1
    first, whole = next(batches)
    assert len(set(first.tolist())) == 20
    assert (whole, begun[0].next_batch) == (20, 1)
    next(batches)
    assert begun[0].next_batch == 2
