"""The published network's loss, forward and backward, on the kernels of `kernels`.

The parameters stay those of `speedcube.petnames.model`, in float32; products read a copy of them
in half precision and sum in float32. Activations are in half precision, time first.
"""

from __future__ import annotations

import math
from typing import Any, Final

import torch
from torch.nn import functional

from . import kernels

PAD: Final = 32  # the alphabet with empty places: rows that matrix units read at full speed
NEVER: Final = -1e4  # a logit that no softmax sees
WARPS: Final = 8  # of a block
# Rows of a block: the fewest for which all blocks run at once, up to what the registers hold.
FORWARD_BLOCKS: Final = (16, 32, 64)
BACKWARD_BLOCKS: Final = (16, 32)


def losses(
    model: Any,
    rows: torch.Tensor,
    *,
    dropout: float,
    ignore: int = -100,
    dtype: torch.dtype = torch.bfloat16,
) -> torch.Tensor:
    """The cross-entropy at each place of each row, in float32; 0 where a target is ``ignore``.

    ``model`` is one of `speedcube.petnames.model.make_model`, ``rows`` codes of shape
    (rows, WINDOW + 1), uint8. Gradients reach the parameters of ``model``.
    """
    codes = rows.t().contiguous()
    hidden = _hidden(model.lstm, codes[:-1], dropout, dtype)
    empty = PAD - model.linear.out_features
    weight = functional.pad(model.linear.weight, (0, 0, 0, empty)).to(dtype)
    bias = functional.pad(model.linear.bias, (0, empty), value=NEVER).to(dtype)
    logits = functional.linear(hidden.flatten(0, 1), weight, bias)
    return functional.cross_entropy(
        logits.float(), codes[1:].flatten().long(), ignore_index=ignore, reduction="none"
    )


def _hidden(
    lstm: torch.nn.LSTM, characters: torch.Tensor, dropout: float, dtype: torch.dtype
) -> torch.Tensor:
    """The last layer's hidden states, (steps, rows, size); ``characters`` is (steps, rows)."""
    named = {
        kind: [getattr(lstm, f"{kind}_l{layer}") for layer in range(lstm.num_layers)]
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }
    biases = torch._foreach_add(named["bias_ih"], named["bias_hh"])
    # A one-hot input picks a column of the first layer's weights.
    table = (named["weight_ih"][0].t() + biases[0]).to(dtype)
    seed = torch.empty(1, dtype=torch.int64, device=characters.device)
    if dropout:
        seed.random_()  # of torch's own generator: a replayed graph draws a new one each time
    return _Layers.apply(
        characters, table, dropout, seed, *named["weight_hh"], *named["weight_ih"][1:], *biases[1:]
    )


class _Layers(torch.autograd.Function):
    """All LSTM layers; dropout after each but the last, as in `torch.nn.LSTM`.

    Of n layers, ``weights`` are the n recurrent ones, then the input weights of all but the first
    layer, then the biases of all but the first layer, in float32.
    """

    @staticmethod
    def forward(
        ctx: Any,
        characters: torch.Tensor,
        table: torch.Tensor,
        dropout: float,
        seed: torch.Tensor,
        *weights: torch.Tensor,
    ) -> torch.Tensor:
        steps, rows = characters.shape
        size = weights[0].shape[1]
        table = table.contiguous()
        copies = [torch.empty_like(weight, dtype=table.dtype) for weight in weights]
        torch._foreach_copy_(copies, list(weights))
        recurrent, inputs, biases = _thirds(copies)
        block = _block(rows, characters.device, FORWARD_BLOCKS)
        output, activations = table, []
        for layer, weight in enumerate(recurrent):
            if layer:
                gates = torch.addmm(biases[layer], output.view(-1, size), inputs[layer].t())
            else:
                gates = table.new_empty(steps * rows, 4 * size)
            hidden, cell = table.new_empty(2, steps, rows, size)
            drops = dropout > 0 and weight is not recurrent[-1]
            output = torch.empty_like(hidden) if drops else hidden
            kernels.forward[(math.ceil(rows / block),)](
                table,
                characters,
                gates,
                weight,
                hidden,
                cell,
                output,
                rows,
                seed,
                layer,
                dropout,
                STEPS=steps,
                SIZE=size,
                BLOCK=block,
                TABLE=layer == 0,
                SAVE=any(ctx.needs_input_grad),
                DROPOUT=drops,
                num_warps=WARPS,
            )
            activations += [gates, hidden, cell, output]
        ctx.save_for_backward(characters, seed, *copies, *activations)
        ctx.dropout, ctx.symbols = dropout, len(table)
        return output

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        characters, seed, *saved = ctx.saved_tensors
        steps, rows = characters.shape
        size = gradient.shape[-1]
        layers = (len(saved) + 2) // 7  # 3 weights and 4 activations each, 2 fewer in the first
        recurrent, inputs, _ = _thirds(saved[: 3 * layers - 2])
        activations = saved[3 * layers - 2 :]
        block = _block(rows, characters.device, BACKWARD_BLOCKS)
        gradient = gradient.contiguous()
        by_recurrent: list[torch.Tensor] = []
        by_inputs: list[torch.Tensor] = []
        by_biases: list[torch.Tensor] = []
        for layer in reversed(range(layers)):
            gates, hidden, cell, _ = activations[4 * layer : 4 * layer + 4]
            blocks = math.ceil(rows / block)
            sums = torch.empty(blocks, 4 * size, device=gates.device)
            kernels.backward[(blocks,)](
                gates,
                recurrent[layer],
                cell,
                gradient,
                sums,
                rows,
                seed,
                layer,
                ctx.dropout,
                STEPS=steps,
                SIZE=size,
                BLOCK=block,
                DROPOUT=ctx.dropout > 0 and layer < layers - 1,
                num_warps=WARPS,
            )
            by_recurrent.insert(0, gates[rows:].t() @ hidden[:-1].view(-1, size))
            if layer:
                below = activations[4 * layer - 1]
                by_inputs.insert(0, gates.t() @ below.view(-1, size))
                by_biases.insert(0, sums.sum(0))
                gradient = (gates @ inputs[layer]).view(steps, rows, size)
        places = torch.arange(PAD, device=characters.device)
        one_hot = (characters.flatten()[:, None] == places).to(gates.dtype)
        by_table = (one_hot.t() @ gates)[: ctx.symbols]
        by_weights = [*by_recurrent, *by_inputs]
        exact = [torch.empty_like(each, dtype=torch.float32) for each in by_weights]
        torch._foreach_copy_(exact, by_weights)
        return None, by_table, None, None, *exact, *by_biases


def _thirds(weights: list[torch.Tensor]) -> tuple[list[Any], list[Any], list[Any]]:
    """Recurrent weights, input weights and biases by layer; the first layer has only the first."""
    layers = (len(weights) + 2) // 3
    return (
        weights[:layers],
        [None, *weights[layers : 2 * layers - 1]],
        [None, *weights[2 * layers - 1 :]],
    )


def _block(rows: int, device: torch.device, blocks: tuple[int, ...]) -> int:
    if device.type != "cuda":
        return blocks[0]
    at_once = torch.cuda.get_device_properties(device).multi_processor_count
    return next((block for block in blocks if rows <= block * at_once), blocks[-1])
