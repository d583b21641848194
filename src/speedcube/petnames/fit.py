"""Training, as `speedcube.train.run` starts it on every rank.

What the article got wrong is right here. The ranks' shards of an epoch are disjoint: parts of one
permutation that all of them draw alike. The batch is the one of all ranks together, so more GPUs
are faster and nothing else, unless asked. The loss is the mean over all ranks and over all
characters, padding left out, of training and of validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import train
from ..errors import ParameterError
from . import data
from .model import loss_sum, make_model

if TYPE_CHECKING:
    import torch

ROWS_BETWEEN_REPORTS: Final = 1 << 15  # on a CPU, where an epoch takes minutes
_CHECKED: Final = 1 << 14  # rows of validation at once


@dataclass(frozen=True)
class Settings:
    """How to train: passes over the data, rows of a batch, Adam's learning rate, the seed."""

    epochs: int
    batch: int  # of all ranks together, or of each rank
    batch_per_rank: bool
    lr: float
    seed: int


@dataclass(frozen=True)
class Rows:
    """Rows on a device: codes of shape (rows, WINDOW + 1), and how many of the targets count."""

    codes: torch.Tensor
    characters: int

    @classmethod
    def of(cls, names: Sequence[str], device: torch.device) -> Rows:
        import torch

        codes = data.rows(names)
        return cls(torch.from_numpy(codes).to(device), data.characters(codes))


def fit(
    settings: Settings, training: Sequence[str], held_out: Sequence[str]
) -> dict[str, Any] | None:
    """Train on the clean names ``training``; rank 0 returns the weights, as safetensors."""
    import torch
    from safetensors.torch import save

    device, world = train.device(), train.world_size()
    learned, checked = Rows.of(training, device), Rows.of(held_out, device)
    torch.manual_seed(settings.seed)
    model = make_model().to(device)  # the same on every rank
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.lr)
    torch.manual_seed(_seed(settings.seed, train.rank()))  # dropout differs
    done = _resume(model, optimizer)
    replica = torch.nn.parallel.DistributedDataParallel(model) if world > 1 else model
    batch = settings.batch * (world if settings.batch_per_rank else 1)
    if batch < world:
        raise ParameterError(f"a batch of {batch} rows cannot be shared by {world} ranks")
    for epoch in range(done + 1, settings.epochs + 1):
        order = permutation(len(learned.codes), settings.seed, epoch)
        loss = _epoch(replica, optimizer, learned, shares(order, batch, train.rank(), world), epoch)
        train.report(
            {"epoch": epoch, "loss": loss, "validation_loss": validation_loss(model, checked)},
            checkpoint={
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "epoch": epoch,
            },
        )
    if train.rank():
        return None
    return {"weights": save({name: value.cpu() for name, value in model.state_dict().items()})}


def _resume(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Go on from the newest checkpoint; how many epochs it has behind it."""
    saved = train.latest()
    if saved is None:
        return 0
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return int(saved["epoch"])


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0])


def permutation(size: int, seed: int, epoch: int) -> torch.Tensor:
    """The order of the rows in an epoch, the same on every rank, device and world size."""
    import torch

    return torch.randperm(size, generator=torch.Generator().manual_seed(_seed(seed, epoch, size)))


def shares(
    order: torch.Tensor, batch: int, rank: int, world: int
) -> Iterator[tuple[torch.Tensor, int]]:
    """The rank's rows of each batch of ``order``, and how many all ranks have together.

    The last batch may be smaller; it is left out where some rank would have none of it.
    """
    for start in range(0, len(order), batch):
        whole = order[start : start + batch]
        if len(whole) >= world:
            yield whole[rank::world], len(whole)


def _epoch(
    replica: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    rows: Rows,
    batches: Iterator[tuple[torch.Tensor, int]],
    epoch: int,
) -> float:
    """One pass over the rows; the loss per character, over all ranks."""
    import torch

    replica.train()
    device = rows.codes.device
    # A batch's loss is a sum over its share of the characters, which its rows stand for: the
    # gradient's expectation is that of the loss over all characters, on any number of ranks.
    scale = len(rows.codes) / rows.characters * train.world_size()
    total = torch.zeros((), dtype=torch.float64, device=device)
    seen, told = 0, 0
    for mine, size in batches:
        codes = rows.codes[mine.to(device)]
        summed = loss_sum(replica(codes[:, :-1]), codes[:, 1:])
        optimizer.zero_grad()
        (summed * (scale / size)).backward()
        optimizer.step()
        total += summed.detach()
        seen += size
        if device.type == "cpu" and seen - told >= ROWS_BETWEEN_REPORTS and seen < len(rows.codes):
            told = seen
            so_far = total.item() * scale / seen
            train.report({"epoch": epoch - 1 + seen / len(rows.codes), "loss": so_far})
    return _over_ranks(total) / rows.characters


def validation_loss(model: torch.nn.Module, rows: Rows) -> float:
    """The loss per character of all ``rows``, each rank reading its share; dropout off."""
    import torch

    model.eval()
    mine = rows.codes[train.rank() :: train.world_size()]
    total = torch.zeros((), dtype=torch.float64, device=mine.device)
    with torch.no_grad():
        for begin in range(0, len(mine), _CHECKED):
            codes = mine[begin : begin + _CHECKED]
            total += loss_sum(model(codes[:, :-1]), codes[:, 1:])
    return _over_ranks(total) / rows.characters


def _over_ranks(total: torch.Tensor) -> float:
    from torch import distributed

    if train.world_size() > 1:
        distributed.all_reduce(total)
    return float(total.item())
