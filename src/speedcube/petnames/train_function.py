"""Training, as `speedcube.train.run` starts it on every rank.

What the article got wrong is right here. The ranks' shards of an epoch are disjoint: parts of one
permutation that all of them draw alike. The batch is the one of all ranks together, so more GPUs
are faster and nothing else, unless asked. The loss is the mean over all ranks and over all
characters, padding left out, of training and of validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import train
from ..errors import ParameterError
from . import fast, plain
from .model import make_model
from .names import data
from .names.alphabet import BLANK

if TYPE_CHECKING:
    import torch

RISE: Final = 0.15  # of all steps, in which the learning rate rises to its peak
ROWS_BETWEEN_REPORTS: Final = 1 << 15  # on a CPU, where an epoch takes minutes


@dataclass(frozen=True)
class Settings:
    """How to train: passes over the data, rows of a batch, Adam's learning rate, the seed."""

    epochs: int
    batch: int  # of all ranks together, or of each rank
    batch_per_rank: bool
    lr: float  # at its peak
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


@dataclass(frozen=True)
class Shares:
    """How the ranks share the batches of an epoch, and how many rows those have.

    The last batch may be smaller; it is left out where some rank would have none of it.
    """

    rows: int
    batch: int
    rank: int
    world: int

    def wholes(self) -> list[int]:
        """The rows of each batch on all ranks together."""
        sizes = (min(self.batch, self.rows - start) for start in range(0, self.rows, self.batch))
        return [size for size in sizes if size >= self.world]

    def size(self, whole: int) -> int:
        """The rows of this rank in a batch of ``whole``."""
        return len(range(self.rank, whole, self.world))

    def mine(self, order: torch.Tensor) -> torch.Tensor:
        """The rank's rows, batch after batch, in an epoch that has all rows in ``order``."""
        import torch

        batches = [batch[self.rank :: self.world] for batch in order.split(self.batch)]
        return torch.cat(batches[: len(self.wholes())])


def fit(
    settings: Settings, training: Sequence[str], held_out: Sequence[str]
) -> dict[str, Any] | None:
    """Train on the clean names ``training``; rank 0 returns the weights, as safetensors."""
    import torch
    from safetensors.torch import save

    device, rank, world = train.device(), train.rank(), train.world_size()
    learned, checked = Rows.of(training, device), Rows.of(held_out, device)
    torch.manual_seed(settings.seed)
    model = make_model().to(device)  # the same on every rank
    torch.manual_seed(_seed(settings.seed, rank))  # dropout differs
    rate = torch.zeros((), device=device)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=rate, fused=True, capturable=device.type == "cuda"
    )
    done = _resume(model, optimizer)
    batch = settings.batch * (world if settings.batch_per_rank else 1)
    shares = Shares(len(learned.codes), batch, rank, world)
    wholes = shares.wholes()
    if not wholes:
        raise ParameterError(
            f"batches of {min(batch, shares.rows)} rows are none for {world} ranks"
        )
    kind = _kind(device)
    # A batch's rows stand for as many characters as rows have on average: so the gradient, summed
    # over ranks, is the same on any number of them.
    scale = len(learned.codes) / learned.characters
    steps = kind.Steps(model, optimizer, learned.codes, scale=scale, ignore=BLANK)
    validation = kind.Validation(model, checked.codes[rank::world], ignore=BLANK)
    for epoch in range(done + 1, settings.epochs + 1):
        steps.start(shares.mine(permutation(shares.rows, settings.seed, epoch)).to(device))
        before = (epoch - 1) * len(wholes)
        for number, whole in enumerate(wholes):
            rate.fill_(rate_at(before + number, settings.epochs * len(wholes), settings.lr))
            steps.step(shares.size(whole), whole)
            _tell(steps, scale, epoch, wholes, number)
        metrics = {
            "epoch": epoch,
            "loss": _over_ranks(steps.total) * scale / sum(wholes),
            "validation_loss": _over_ranks(validation()) / checked.characters,
        }
        kept = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        train.report(metrics, checkpoint=kept)
    if rank:
        return None
    weights = save({name: value.cpu() for name, value in model.state_dict().items()})
    return {"weights": weights, "arithmetic": _arithmetic(device)}


def _resume(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Go on from the newest checkpoint; how many epochs it has behind it."""
    saved = train.latest()
    if saved is None:
        return 0
    rate = optimizer.param_groups[0]["lr"]
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    optimizer.param_groups[0]["lr"] = rate  # the tensor that is filled before each step
    return int(saved["epoch"])


def _kind(device: torch.device) -> Any:
    """The module whose steps are the fastest on ``device``."""
    if fast.why_not(device):
        return plain
    from .fast import steps

    return steps


def _arithmetic(device: torch.device) -> str:
    """What a model card says of how it was computed."""
    why = fast.why_not(device)
    if why:
        return "float32 in PyTorch" + (f" ({why})" if device.type == "cuda" else "")
    return "bfloat16 products in kernels of our own, float32 parameters"


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0])


def permutation(size: int, seed: int, epoch: int) -> torch.Tensor:
    """The order of the rows in an epoch, the same on every rank, device and world size."""
    import torch

    return torch.randperm(size, generator=torch.Generator().manual_seed(_seed(seed, epoch, size)))


def rate_at(step: int, steps: int, peak: float) -> float:
    """The learning rate of a step: it rises to its peak and falls to nothing, in straight lines."""
    return peak * min((step + 1) / (RISE * steps), (steps - step) / ((1 - RISE) * steps), 1.0)


def _tell(steps: Any, scale: float, epoch: int, wholes: Sequence[int], number: int) -> None:
    """Report within an epoch, now and then, on a CPU; the loss is this rank's."""
    if train.device().type != "cpu" or number + 1 == len(wholes):
        return
    seen = sum(wholes[: number + 1])
    if seen // ROWS_BETWEEN_REPORTS > (seen - wholes[number]) // ROWS_BETWEEN_REPORTS:
        loss = steps.total.item() * scale * train.world_size() / seen
        train.report({"epoch": epoch - 1 + seen / sum(wholes), "loss": loss})


def _over_ranks(total: torch.Tensor) -> float:
    """The sum of the ranks' ``total``."""
    import torch
    from torch import distributed

    summed = total.to(torch.float64, copy=True)
    if train.world_size() > 1:
        distributed.all_reduce(summed)
    return float(summed.item())
