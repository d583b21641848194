"""Training, as `speedcube.train.run` starts it on every rank.

What the article got wrong is right here. The ranks' shards of an epoch are disjoint: parts of
batches that all of them agree on (`epochs`). The batch is the one of all ranks together, so more
GPUs are faster and nothing else, unless asked. The loss is the mean over all ranks and over all
characters, padding left out, of training and of validation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from .. import train
from ..dataclass import dataclass
from . import fast
from .epochs import Epochs
from .model import make_model
from .names import data
from .names.alphabet import BLANK
from .plain_steps import PlainSteps, PlainValidation

if TYPE_CHECKING:
    import torch

RISE: Final = 0.15  # of all steps, in which the learning rate rises to its peak
ROWS_BETWEEN_REPORTS: Final = 1 << 15  # on a CPU, where an epoch takes minutes


@dataclass(frozen=True)
class Hyperparameters:
    """How to train: passes over the data, rows of a batch, Adam's learning rate, the seed."""

    epochs: int
    batch: int  # of all ranks together, or of each rank
    batch_per_rank: bool
    lr: float  # at its peak
    seed: int


class TrainingSteps(Protocol):
    """Training steps on one kind of device: `plain_steps` and `fast.steps` have them."""

    total: torch.Tensor  # of the losses since `start`

    def start(self) -> None:
        """Begin an epoch."""

    def step(self, numbers: torch.Tensor, whole: int) -> None:
        """Train on the rows of these ``numbers``, of ``whole`` rows of all ranks."""


def fit(
    hyperparameters: Hyperparameters, training: Sequence[str], held_out: Sequence[str]
) -> dict[str, Any] | None:
    """Train on the clean names ``training``; rank 0 returns the weights, as safetensors."""
    import torch
    from safetensors.torch import save

    device, rank, world_size = train.device(), train.rank(), train.world_size()
    learned, checked = data.rows(training), data.rows(held_out)
    seed, last = hyperparameters.seed, hyperparameters.epochs
    torch.manual_seed(seed)
    model = make_model().to(device)  # the same on every rank
    torch.manual_seed(_seed(seed, rank))  # dropout differs
    rate = torch.zeros((), device=device)
    optimizer = torch.optim.Adam(
        model.parameters(), lr=rate, fused=True, capturable=device.type == "cuda"
    )
    done = _resume(model, optimizer)
    batch = hyperparameters.batch * (world_size if hyperparameters.batch_per_rank else 1)
    epochs = Epochs(len(learned), batch, seed)
    # A batch's rows stand for as many characters as rows have on average: so the gradient, summed
    # over ranks, is the same on any number of them.
    scale = len(learned) / data.characters(learned)
    rows = torch.from_numpy(learned).to(device)
    held_out_rows = torch.from_numpy(checked[rank::world_size]).to(device)
    steps, validation = _steps(model, optimizer, rows, held_out_rows, scale)
    wholes, batches = epochs.wholes, epochs.begin(done + 1)
    for epoch in range(done + 1, last + 1):
        steps.start()
        before = (epoch - 1) * len(wholes)
        for number, (numbers, whole) in enumerate(batches):
            rate.fill_(rate_at(before + number, last * len(wholes), hyperparameters.lr))
            steps.step(numbers, whole)
            _report_within(steps, scale, epoch, wholes, number)
        batches = epochs.begin(epoch + 1)
        metrics = {
            "epoch": epoch,
            "loss": _over_ranks(steps.total) * scale / sum(wholes),
            "validation_loss": _over_ranks(validation()) / data.characters(checked),
        }
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        train.report(metrics, checkpoint=state)
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


def _steps(
    model: Any, optimizer: Any, rows: torch.Tensor, held_out: torch.Tensor, scale: float
) -> tuple[TrainingSteps, Callable[[], torch.Tensor]]:
    """The training steps and the validation that are the fastest where ``rows`` are."""
    if fast.why_not(rows.device):
        return (
            PlainSteps(model, optimizer, rows, scale=scale, ignore=BLANK),
            PlainValidation(model, held_out, ignore=BLANK),
        )
    from .fast import steps

    return (
        steps.GraphSteps(model, optimizer, rows, scale=scale, ignore=BLANK),
        steps.GraphValidation(model, held_out, ignore=BLANK),
    )


def _arithmetic(device: torch.device) -> str:
    """What a model card says of how it was computed."""
    why = fast.why_not(device)
    if why:
        return "float32 in PyTorch" + (f" ({why})" if device.type == "cuda" else "")
    return "bfloat16 products in kernels of our own, float32 parameters"


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0])


def rate_at(step: int, steps: int, peak: float) -> float:
    """The learning rate of a step: it rises to its peak and falls to nothing, in straight lines."""
    return peak * min((step + 1) / (RISE * steps), (steps - step) / ((1 - RISE) * steps), 1.0)


def _report_within(
    steps: TrainingSteps, scale: float, epoch: int, wholes: Sequence[int], number: int
) -> None:
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
