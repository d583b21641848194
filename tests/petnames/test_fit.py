"""Training: shards, losses without padding, an exact resume. One rank, in this process."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from safetensors.torch import load

from speedcube import train
from speedcube.petnames.model import make_model
from speedcube.petnames.names import data
from speedcube.petnames.train_function import Hyperparameters, fit, rate_at

NAMES = [f"{first}{middle}{last}" for first in "bdlmr" for middle in "aeo" for last in ("x", "lly")]
TRAINING, HELD_OUT = NAMES[3:], NAMES[:3]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Alone:
    """What `speedcube.train` is to a job of one rank."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.saved: dict[str, Any] | None = None
        self.states: list[dict[str, Any]] = []

    def report(self, metrics: dict[str, Any], checkpoint: Any = None) -> None:
        self.rows.append(metrics)
        if checkpoint is not None:
            self.states.append(copy.deepcopy(checkpoint) | {"rng": torch.get_rng_state()})

    def latest(self) -> dict[str, Any] | None:
        if self.saved is not None:
            torch.set_rng_state(self.saved["rng"])
        return self.saved


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Alone:
    job = Alone()
    monkeypatch.setattr(train, "device", lambda: torch.device("cpu"), raising=False)
    monkeypatch.setattr(train, "rank", lambda: 0, raising=False)
    monkeypatch.setattr(train, "world_size", lambda: 1, raising=False)
    monkeypatch.setattr(train, "report", job.report, raising=False)
    monkeypatch.setattr(train, "latest", job.latest, raising=False)
    return job


def trained(epochs: int, batch: int = 32, seed: int = 0) -> dict[str, torch.Tensor]:
    value = fit(Hyperparameters(epochs, batch, False, 1e-2, seed), TRAINING, HELD_OUT)
    assert value is not None
    return load(value["weights"])


def loss_by_hand(weights: dict[str, torch.Tensor], names: list[str]) -> float:
    """The mean over characters, each read off its own softmax."""
    model = make_model().eval()
    model.load_state_dict(weights)
    costs = []
    with torch.no_grad():
        for row in torch.from_numpy(data.rows(names)):
            chances = model(row[None, :-1])[0].double().softmax(1)
            costs += [
                -math.log(chances[place, int(row[place + 1])])
                for place in range(8)
                if row[place + 1]
            ]
    return math.fsum(costs) / len(costs)


def test_the_losses_are_means_over_characters(alone: Alone) -> None:
    weights = trained(epochs=2)
    assert [row["epoch"] for row in alone.rows] == [1, 2]
    assert alone.rows[1]["loss"] < alone.rows[0]["loss"] < math.log(31)
    assert math.isclose(
        alone.rows[1]["validation_loss"], loss_by_hand(weights, HELD_OUT), rel_tol=1e-5
    )


def test_the_training_loss_is_that_of_the_weights_it_saw(
    alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one batch and no dropout an epoch's loss is that of the first weights."""
    monkeypatch.setattr("speedcube.petnames.model.DROPOUT", 0.0)
    torch.manual_seed(5)
    first = loss_by_hand(dict(make_model().state_dict()), TRAINING)
    trained(epochs=1, batch=10_000, seed=5)
    assert math.isclose(alone.rows[0]["loss"], first, rel_tol=1e-5)


def test_a_resumed_training_has_the_weights_of_one_that_was_not_interrupted(alone: Alone) -> None:
    whole = trained(epochs=3)
    alone.saved = alone.states[0]
    assert alone.saved["epoch"] == 1
    resumed = trained(epochs=3)
    assert [row["epoch"] for row in alone.rows] == [1, 2, 3, 2, 3]
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    alone.saved = None
    other = trained(epochs=3, seed=1)
    assert not torch.equal(whole["linear.bias"], other["linear.bias"])


def test_the_learning_rate_rises_and_falls() -> None:
    rates = [rate_at(step, 100, 2.0) for step in range(100)]
    assert rates[0] == pytest.approx(2.0 / 15)
    assert rates.index(max(rates)) in (14, 15)
    assert max(rates) == pytest.approx(2.0)
    assert rates[-1] == pytest.approx(2.0 / 85)
    assert 0 < rate_at(0, 1, 1.0) <= 1.0


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA GPU")
def test_a_gpu_trains_as_a_cpu_does_and_resumes(
    alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(epochs=3)
    monkeypatch.setattr(train, "device", lambda: torch.device("cuda", 0))
    weights = trained(epochs=3)
    cpu, gpu = alone.rows[:3], alone.rows[3:]
    for one, other in zip(cpu, gpu, strict=True):  # other dropout, and half precision
        assert one["loss"] == pytest.approx(other["loss"], rel=0.03)
        assert one["validation_loss"] == pytest.approx(other["validation_loss"], rel=0.03)
    assert gpu[-1]["validation_loss"] == pytest.approx(loss_by_hand(weights, HELD_OUT), rel=0.01)
    alone.saved = alone.states[4]
    trained(epochs=3)
    assert [row["epoch"] for row in alone.rows[6:]] == [3]
    assert alone.rows[6]["loss"] == pytest.approx(gpu[-1]["loss"], rel=0.03)


def test_within_an_epoch_a_cpu_tells_now_and_then(
    alone: Alone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speedcube.petnames.train_function.ROWS_BETWEEN_REPORTS", 50)
    trained(epochs=1, batch=20)
    rows = len(data.rows(TRAINING))
    within = [row["epoch"] * rows for row in alone.rows[:-1]]
    assert within == pytest.approx([60, 100])
    assert all("validation_loss" not in row for row in alone.rows[:-1])
    assert alone.rows[-1]["epoch"] == 1
    assert 1 < alone.rows[0]["loss"] < 4
