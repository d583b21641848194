"""Training steps and validation in PyTorch's own words, for every device; `fast.steps` is alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .model import losses

if TYPE_CHECKING:
    import torch


class PlainSteps:
    """One training step after the other, over rows that stay on the device.

    A step averages the gradients over all ranks and lets ``optimizer`` change ``model``.

    Parameters
    ----------
    model
        One of `speedcube.petnames.model.make_model`, alike on all ranks.
    optimizer
        Of the parameters of ``model``.
    rows
        All rows, codes of shape (rows, WINDOW + 1), uint8.
    scale
        A step minimises ``scale / whole`` times the sum of its losses, where ``whole`` is the
        number of rows of all ranks in that step.
    ignore
        The target that counts for nothing.
    """

    def __init__(
        self, model: Any, optimizer: Any, rows: torch.Tensor, *, scale: float, ignore: int
    ) -> None:
        import torch
        from torch import distributed
        from torch.nn.parallel import DistributedDataParallel

        self.total = torch.zeros((), dtype=torch.float64, device=rows.device)  # since `start`
        self._world = distributed.get_world_size() if distributed.is_initialized() else 1
        self._model = DistributedDataParallel(model) if self._world > 1 else model
        self._optimizer, self._rows = optimizer, rows
        self._scale, self._ignore = scale, ignore

    def start(self) -> None:
        """Begin an epoch."""
        self._model.train()
        self.total.zero_()

    def step(self, numbers: torch.Tensor, whole: int) -> None:
        """Train on the rows of these ``numbers``, of ``whole`` rows of all ranks."""
        if self._rows.is_cuda:
            numbers = numbers.pin_memory().to(self._rows.device, non_blocking=True)
        loss = losses(self._model, self._rows[numbers], self._ignore).sum()
        self._optimizer.zero_grad()
        # DistributedDataParallel takes the mean of the ranks' gradients.
        (loss * (self._scale * self._world / whole)).backward()
        self._optimizer.step()
        self.total += loss.detach()


class PlainValidation:
    """The sum of the losses of all ``rows``, dropout off."""

    AT_ONCE = 1 << 14  # rows

    def __init__(self, model: torch.nn.Module, rows: torch.Tensor, *, ignore: int) -> None:
        self._model, self._rows, self._ignore = model, rows, ignore

    def __call__(self) -> torch.Tensor:
        """The sum, a float64 scalar."""
        import torch

        self._model.eval()
        total = torch.zeros((), dtype=torch.float64, device=self._rows.device)
        with torch.no_grad():
            for begin in range(0, len(self._rows), self.AT_ONCE):
                rows = self._rows[begin : begin + self.AT_ONCE]
                total += losses(self._model, rows, self._ignore).sum()
        return total
