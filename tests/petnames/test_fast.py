"""The kernels of the pet names' network: PyTorch's own LSTM is the oracle.

On a host the kernels' text runs in NumPy (`triton_shim`), in float32; on a GPU Triton compiles it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch
import triton_shim
from torch.nn import functional

from speedcube.petnames import fast
from speedcube.petnames.model import make_model
from speedcube.petnames.names.alphabet import BLANK, SYMBOLS

GPU = torch.device("cuda")
NO_GPU = fast.why_not(GPU) if torch.cuda.is_available() else "no GPU is visible here"
on_gpu = pytest.mark.skipif(bool(NO_GPU), reason=NO_GPU)


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`speedcube.petnames.fast.network` with kernels that run on the host."""
    triton_shim.install(monkeypatch)
    names = [f"speedcube.petnames.fast.{name}" for name in ("kernels", "network")]
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module(names[1])
    for name in names:
        sys.modules.pop(name, None)


def _model(seed: int) -> Any:
    torch.manual_seed(seed)
    model = make_model()
    with torch.no_grad():
        for parameter in model.lstm.parameters():
            parameter.mul_(2)  # far enough from 0 that every nonlinearity counts
    return model


def _rows(count: int) -> torch.Tensor:
    return torch.randint(SYMBOLS, (count, 9), dtype=torch.uint8)


def _plain(model: Any, rows: torch.Tensor, ignore: int) -> torch.Tensor:
    """The mean loss as PyTorch computes it, without dropout."""
    model.lstm.dropout = 0.0  # .eval() would take cuDNN's way back
    logits = model(rows[:, :-1]).transpose(1, 2)
    return functional.cross_entropy(logits, rows[:, 1:].long(), ignore_index=ignore)


def _gradients(model: Any, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    loss.backward()
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def _worst(computed: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> float:
    """The largest relative error of a parameter's gradient."""
    assert computed.keys() == right.keys()
    return max(float((computed[name] - right[name]).norm() / right[name].norm()) for name in right)


@pytest.mark.parametrize("ignore", [-100, BLANK])
def test_loss_and_gradients_are_pytorchs(network: Any, ignore: int) -> None:
    model, rows = _model(0), _rows(21)  # a whole block of 16 rows, and a part of one
    right = _plain(model, rows, ignore)
    expected = _gradients(model, right)
    each = network.losses(model, rows, dropout=0.0, ignore=ignore, dtype=torch.float32)
    loss = each.sum() / (rows[:, 1:] != ignore).sum()
    assert loss.item() == pytest.approx(right.item(), rel=1e-6)
    assert _worst(_gradients(model, loss), expected) < 1e-5


def test_dropout_is_the_same_backward_as_forward(network: Any) -> None:
    model, rows = _model(1), _rows(21)

    def loss() -> torch.Tensor:
        torch.manual_seed(3)
        return network.losses(model, rows, dropout=0.4, dtype=torch.float32).double().mean()

    slopes = _gradients(model, loss())
    direction = {name: slope / slope.norm() for name, slope in slopes.items()}
    step = 3e-3
    sides = []
    with torch.no_grad():
        for sign in (1, -2):
            for name, parameter in model.named_parameters():
                parameter.add_(direction[name], alpha=sign * step)
            sides.append(loss().item())
    slope = sum(float((slopes[name] * direction[name]).sum()) for name in slopes)
    assert (sides[0] - sides[1]) / (2 * step) == pytest.approx(slope, rel=1e-3)


def test_dropout_zeroes_its_share_in_each_layer_and_step_anew(network: Any) -> None:
    import numpy as np

    kernels = network.kernels
    place = np.arange(40_000, dtype=np.int32).view(triton_shim.Block)
    ones = np.ones(40_000, np.float32).view(triton_shim.Block)
    zeros = []
    for seed, layer in ((7, 0), (7, 1), (8, 0)):
        memory = triton_shim.Pointer(np.array([seed]))
        key = kernels.stream(memory, layer)
        out = kernels.dropped(ones, key, place, 0.1)
        assert set(out.tolist()) == {0.0, float(np.float32(1 / 0.9))}
        zeros.append(out == 0)
        assert zeros[-1].mean() == pytest.approx(0.1, abs=0.006)  # 4 standard deviations
    for one in range(3):
        both = zeros[one] & zeros[one - 1]
        assert both.mean() == pytest.approx(0.01, abs=0.002)


def test_validation_needs_no_activations_of_earlier_layers(network: Any) -> None:
    model, rows = _model(2), _rows(5)
    with torch.no_grad():
        before = torch.get_rng_state()
        each = network.losses(model, rows, dropout=0.0, dtype=torch.float32)
        assert torch.equal(torch.get_rng_state(), before)  # nothing random is drawn
    assert each.mean().item() == pytest.approx(_plain(model, rows, -100).item(), rel=1e-6)


def test_a_device_that_cannot_is_told_why() -> None:
    assert fast.why_not(torch.device("cpu")) == "the device is not a CUDA GPU"


@pytest.mark.gpu
@on_gpu
@pytest.mark.parametrize("count", [16_384, 3_375, 4_096, 2_048, 1])
def test_bfloat16_on_a_gpu_is_near_float32(count: int) -> None:
    from speedcube.petnames.fast.network import losses

    model, rows = _model(0).to(GPU), _rows(count).to(GPU)
    right = _plain(model, rows, -100)
    expected = _gradients(model, right)
    loss = losses(model, rows, dropout=0.0).mean()
    assert loss.item() == pytest.approx(right.item(), rel=1e-3)
    assert _worst(_gradients(model, loss), expected) < 0.05


@pytest.mark.gpu
@on_gpu
def test_captured_steps_are_the_steps_one_by_one() -> None:
    from speedcube.petnames.fast import steps

    rows = _rows(3_000).to(GPU)
    order = torch.randperm(len(rows))

    def trained(captured: bool) -> tuple[list[float], list[torch.Tensor]]:
        model = _model(4).to(GPU)
        optimizer = torch.optim.Adam(model.parameters(), fused=True, capturable=True)
        training = steps.GraphSteps(model, optimizer, rows, scale=1 / 8)
        torch.manual_seed(9)
        totals = []
        for _ in range(2):
            training.start()
            for batch in order.split(1_024):  # two whole ones and a smaller one
                if captured:
                    training.step(batch, len(batch))
                else:
                    training._step(batch.to(GPU), len(batch))
            totals.append(float(training.total))
        return totals, [parameter.detach().clone() for parameter in model.parameters()]

    one_by_one, replayed = trained(False), trained(True)
    assert replayed[0] == pytest.approx(one_by_one[0], rel=1e-4)
    assert replayed[0][1] < replayed[0][0]
    for left, right in zip(one_by_one[1], replayed[1], strict=True):
        torch.testing.assert_close(left, right, atol=2e-3, rtol=2e-2)


@pytest.mark.gpu
@on_gpu
def test_a_replayed_step_drops_others_each_time() -> None:
    from speedcube.petnames.fast import steps

    rows = _rows(64).to(GPU)
    model = _model(5).to(GPU)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, fused=True, capturable=True)
    training = steps.GraphSteps(model, optimizer, rows, scale=1.0)
    totals = []
    for _ in range(3):
        training.start()
        training.step(torch.arange(64), 64)
        totals.append(float(training.total))
    assert len(set(totals)) == 3
    assert steps.GraphValidation(model, rows)().item() == pytest.approx(totals[0], rel=0.05)


@pytest.mark.gpu
@on_gpu
def test_steps_that_wait_for_the_gpu_keep_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The GPU has read them before others take their place, however far ahead the host is."""
    from speedcube.petnames.fast import steps

    monkeypatch.setattr(steps, "DROPOUT", 0.0)
    model = _model(6).to(GPU)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, fused=True, capturable=True)
    letters = torch.arange(SYMBOLS, dtype=torch.uint8).repeat_interleave(256)
    training = steps.GraphSteps(
        model, optimizer, letters[:, None].expand(-1, 9).contiguous().to(GPU), scale=1.0
    )
    training.prepare(256, 256)
    batches = list(torch.arange(len(letters)).split(256))  # each of one letter
    epochs = []
    for order in (batches, batches[::-1]):
        training.start()
        totals = [training.total.clone()]
        for batch in order:
            training.step(batch.clone(), 256)
            totals.append(training.total.clone())
        epochs.append(torch.stack(totals).diff())
    forward, backward = (epoch.tolist() for epoch in epochs)
    assert forward == pytest.approx(backward[::-1], rel=1e-3)
    assert max(forward) > 1.05 * min(forward)  # a letter has a loss of its own
