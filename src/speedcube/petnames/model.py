"""The published network: four LSTM layers of 128 units, dropout 0.1, and a linear layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .names.alphabet import SYMBOLS

if TYPE_CHECKING:
    import torch

LAYERS: Final = 4
UNITS: Final = 128
DROPOUT: Final = 0.1


def make_model() -> torch.nn.Module:
    """A fresh network, its weights drawn from torch's default generator.

    Its ``forward`` takes windows, integer codes of shape (batch, WINDOW), and gives logits of
    shape (batch, WINDOW, SYMBOLS): at each place, what the next character may be. Characters go in
    as one-hot vectors, as published.
    """
    import torch

    class PetNames(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(SYMBOLS, UNITS, LAYERS, batch_first=True, dropout=DROPOUT)
            self.linear = torch.nn.Linear(UNITS, SYMBOLS)

        def forward(self, windows: torch.Tensor) -> Any:
            seen = torch.nn.functional.one_hot(windows.long(), SYMBOLS)
            hidden, _ = self.lstm(seen.to(self.linear.weight.dtype))
            return self.linear(hidden)

    return PetNames()


def losses(model: Any, rows: torch.Tensor, ignore: int) -> torch.Tensor:
    """The cross-entropy at each place of each row, in float32; 0 where a target is ``ignore``.

    ``rows`` are codes of shape (rows, WINDOW + 1).
    """
    import torch

    return torch.nn.functional.cross_entropy(
        model(rows[:, :-1]).flatten(0, 1).float(),
        rows[:, 1:].flatten().long(),
        ignore_index=ignore,
        reduction="none",
    )
