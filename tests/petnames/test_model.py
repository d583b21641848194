"""The network is the published one, and its loss leaves padding out."""

from __future__ import annotations

import math

import torch

from speedcube.petnames.model import losses, make_model
from speedcube.petnames.names import data
from speedcube.petnames.names.alphabet import BLANK, SYMBOLS


def test_the_network_has_the_published_shape() -> None:
    shapes = {name: tuple(value.shape) for name, value in make_model().state_dict().items()}
    assert shapes["lstm.weight_ih_l0"] == (4 * 128, 31)
    assert shapes["lstm.weight_ih_l3"] == (4 * 128, 128)
    assert shapes["linear.weight"] == (31, 128)
    assert len(shapes) == 4 * 4 + 2
    assert sum(math.prod(shape) for shape in shapes.values()) == 482_719


def test_windows_go_in_and_logits_come_out() -> None:
    rows = torch.from_numpy(data.rows(["rex", "tobermory"]))
    torch.manual_seed(0)
    model = make_model().eval()
    logits = model(rows[:, :-1])
    assert logits.shape == (14, 8, SYMBOLS)
    # Causal: what stands at the right cannot change what is said at the left.
    changed = rows[:, :-1].clone()
    changed[:, 5] = 7
    assert torch.equal(model(changed)[:, :5], logits[:, :5])
    assert not torch.equal(model(changed)[:, 5], logits[:, 5])


def test_padding_costs_nothing() -> None:
    rows = torch.from_numpy(data.rows(["rex"]))

    def even(windows: torch.Tensor) -> torch.Tensor:
        return torch.zeros(*windows.shape, SYMBOLS)

    costs = losses(even, rows, ignore=BLANK).reshape(4, 8)
    characters = [[place >= 8 - count for place in range(8)] for count in (1, 2, 3, 4)]
    assert torch.allclose(costs, torch.tensor(characters) * math.log(SYMBOLS))
    assert torch.allclose(losses(even, rows, ignore=-100), torch.full((32,), math.log(SYMBOLS)))
