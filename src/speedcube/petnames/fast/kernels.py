"""The recurrence of one LSTM layer as two Triton kernels: forward, and backward through time.

A block takes a few rows through all steps. The recurrent weights stay in shared memory, the
hidden and cell states in registers; no block waits for another. Per step and row, with the gates
in PyTorch's order::

    i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of (what comes in + recurrent weights @ h)
    c = f * c + i * g
    h = o * tanh(c)

What comes in is a product with the inputs of all steps, made before, or, in the first layer,
where inputs are characters, a row of a table. ``gates`` has shape (steps, rows, 4 * SIZE) and
holds first what comes in, then the gates' values, at last their gradients; ``hidden``, ``cell``,
``output`` and ``gradient`` have shape (steps, rows, SIZE), ``weight`` (4 * SIZE, SIZE).
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def mixed(bits):
    """A bijection of 32 bits in which each bit of ``bits`` changes half of the others."""
    # The constants are Chris Wellons's "lowbias32" (nullprogram.com/blog/2018/07/31).
    bits = (bits ^ (bits >> 16)) * 0x7FEB352D
    bits = (bits ^ (bits >> 15)) * 0x846CA68B
    return bits ^ (bits >> 16)


@triton.jit
def stream(seed, layer):
    """The key of one layer's dropout in one training step."""
    return mixed(mixed(tl.load(seed).to(tl.uint32)) + layer)


@triton.jit
def dropped(values, key, place, dropout):
    """Zero with probability ``dropout``, else the values scaled up: alike in both directions."""
    chance = (mixed(place.to(tl.uint32) ^ key) >> 8).to(tl.float32) * (1 / 16777216)
    return tl.where(chance < dropout, 0.0, values / (1 - dropout))


@triton.jit(do_not_specialize=["rows", "layer"])
def forward(
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
    STEPS: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
    TABLE: tl.constexpr,
    SAVE: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    """Fill ``hidden``; ``output`` too where DROPOUT; ``gates`` and ``cell`` where SAVE."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    unit = tl.arange(0, SIZE)[None, :]
    inside = row < rows
    transposed = weight + unit * SIZE + tl.arange(0, SIZE)[:, None]
    weight_i = tl.load(transposed)
    weight_f = tl.load(transposed + SIZE * SIZE)
    weight_g = tl.load(transposed + 2 * SIZE * SIZE)
    weight_o = tl.load(transposed + 3 * SIZE * SIZE)
    half = hidden.dtype.element_ty
    h = tl.zeros([BLOCK, SIZE], half)
    c = tl.zeros([BLOCK, SIZE], tl.float32)
    if DROPOUT:
        key = stream(seed, layer)
    for step in tl.range(STEPS, num_stages=2):  # the next step's gates load during this one
        line = step * rows + row
        place = line * SIZE + unit
        gate = gates + line * (4 * SIZE) + unit
        if TABLE:
            character = tl.load(characters + line, mask=inside, other=0).to(tl.int32)
            source = table + character * (4 * SIZE) + unit
        else:
            source = gate
        i = tl.load(source, mask=inside, other=0).to(tl.float32)
        f = tl.load(source + SIZE, mask=inside, other=0).to(tl.float32)
        g = tl.load(source + 2 * SIZE, mask=inside, other=0).to(tl.float32)
        o = tl.load(source + 3 * SIZE, mask=inside, other=0).to(tl.float32)
        i = tl.sigmoid(tl.dot(h, weight_i, i))
        f = tl.sigmoid(tl.dot(h, weight_f, f))
        g = tanh(tl.dot(h, weight_g, g))
        o = tl.sigmoid(tl.dot(h, weight_o, o))
        c = f * c + i * g
        value = o * tanh(c)
        h = value.to(half)
        tl.store(hidden + place, h, mask=inside)
        if SAVE:
            tl.store(gate, i.to(half), mask=inside)
            tl.store(gate + SIZE, f.to(half), mask=inside)
            tl.store(gate + 2 * SIZE, g.to(half), mask=inside)
            tl.store(gate + 3 * SIZE, o.to(half), mask=inside)
            tl.store(cell + place, c.to(half), mask=inside)
        if DROPOUT:
            passed = dropped(value, key, place, dropout)
            tl.store(output + place, passed.to(half), mask=inside)


@triton.jit(do_not_specialize=["rows", "layer"])
def backward(
    gates,
    weight,
    cell,
    gradient,
    sums,
    rows,
    seed,
    layer,
    dropout,
    STEPS: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
    DROPOUT: tl.constexpr,
):
    """Replace the values in ``gates`` by their gradients, given that of the layer's output.

    ``sums``, (blocks, 4 * SIZE) in float32, gets the gradients' sum over steps and rows by block.
    """
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    unit = tl.arange(0, SIZE)[None, :]
    inside = row < rows
    square = weight + tl.arange(0, SIZE)[:, None] * SIZE + unit
    weight_i = tl.load(square)
    weight_f = tl.load(square + SIZE * SIZE)
    weight_g = tl.load(square + 2 * SIZE * SIZE)
    weight_o = tl.load(square + 3 * SIZE * SIZE)
    half = gates.dtype.element_ty
    dh = tl.zeros([BLOCK, SIZE], tl.float32)
    dc = tl.zeros([BLOCK, SIZE], tl.float32)
    sum_i = tl.zeros([SIZE], tl.float32)
    sum_f = tl.zeros([SIZE], tl.float32)
    sum_g = tl.zeros([SIZE], tl.float32)
    sum_o = tl.zeros([SIZE], tl.float32)
    if DROPOUT:
        key = stream(seed, layer)
    for back in tl.range(STEPS, num_stages=2):
        step = STEPS - 1 - back
        line = step * rows + row
        place = line * SIZE + unit
        gate = gates + line * (4 * SIZE) + unit
        o = tl.load(gate + 3 * SIZE, mask=inside, other=0).to(tl.float32)
        c = tanh(tl.load(cell + place, mask=inside, other=0).to(tl.float32))
        dy = tl.load(gradient + place, mask=inside, other=0).to(tl.float32)
        if DROPOUT:
            dy = dropped(dy, key, place, dropout)
        dh += dy
        dc += dh * o * (1 - c * c)
        do = dh * c * o * (1 - o)
        sum_o += tl.sum(do, axis=0)
        do = do.to(half)
        tl.store(gate + 3 * SIZE, do, mask=inside)
        dh = tl.dot(do, weight_o)
        # One gate after the other: all four at once would not fit in the registers.
        f = tl.load(gate + SIZE, mask=inside, other=0).to(tl.float32)
        earlier = inside & (step > 0)
        before = tl.load(cell + place - rows * SIZE, mask=earlier, other=0).to(tl.float32)
        df = dc * before * f * (1 - f)
        sum_f += tl.sum(df, axis=0)
        df = df.to(half)
        tl.store(gate + SIZE, df, mask=inside)
        dh = tl.dot(df, weight_f, dh)
        i = tl.load(gate, mask=inside, other=0).to(tl.float32)
        g = tl.load(gate + 2 * SIZE, mask=inside, other=0).to(tl.float32)
        di = dc * g * i * (1 - i)
        sum_i += tl.sum(di, axis=0)
        di = di.to(half)
        tl.store(gate, di, mask=inside)
        dh = tl.dot(di, weight_i, dh)
        dg = dc * i * (1 - g * g)
        sum_g += tl.sum(dg, axis=0)
        dg = dg.to(half)
        tl.store(gate + 2 * SIZE, dg, mask=inside)
        dh = tl.dot(dg, weight_g, dh)
        dc *= f
    total = sums + tl.program_id(0) * (4 * SIZE) + tl.arange(0, SIZE)
    tl.store(total, sum_i)
    tl.store(total + SIZE, sum_f)
    tl.store(total + 2 * SIZE, sum_g)
    tl.store(total + 3 * SIZE, sum_o)
