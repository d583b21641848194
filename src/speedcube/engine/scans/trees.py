"""Products, and running products, of a part on a GPU: a tree fixed by places in the line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Scanned
from ...kernel.cuda.prelude import THREADS
from ...kernel.cuda.scans.layout import (
    BLOCK,
    GROUPS,
    ITEMS,
    DeviceScan,
    Lie,
    Shape,
    pieces_of,
    span_of,
    tiles_of,
)
from ...kernel.cuda.scans.products import PIECE
from ...plan.stages import Part, Stage
from ..boxes import Stop
from .device import DeviceElements, Walk, address, device_elements
from .matrices import inner_axes, ordered

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[int, Array]


def products_on_device(
    stage: Stage, part: Part, out: Any, inputs: Inputs, device: int, stop: Stop
) -> bool:
    """The products of the part's lines into ``out``, flat, of a GPU or the host; False if not."""
    import cupy

    assert stage.source is not None
    lines = stage.source.axes
    if not out.size or not stage.source.count:
        return False
    try:
        with cupy.cuda.Device(device):
            order = ordered(part, lines, inner_axes(part, lines))
            elements = device_elements(stage, order, inputs, device, stop)
            axes = tuple(k for k in order.axes if k not in lines)
            kept = tuple(sorted(axes))
            there = hasattr(type(out), "__cuda_array_interface__") and int(out.device.id) == device
            direct = there and axes == kept
            results = out if direct else cupy.empty(out.shape, out.dtype)
            multiply(elements, device, stage.dtype, int(results.data.ptr))
            cupy.cuda.get_current_stream().synchronize()
            if not direct:
                shaped = results.reshape([part.root.shape[k] for k in axes])
                shaped = shaped.transpose([axes.index(k) for k in kept])
                on_host = isinstance(out, np.ndarray) and not there
                out.reshape(shaped.shape)[...] = shaped.get() if on_host else shaped
    except MemoryError:  # block after block, it needs less
        return False
    return True


def multiply(elements: DeviceElements, device: int, dtype: str, out: int) -> None:
    """The products of lines to address ``out``, matrix by matrix."""
    import cupy

    while True:
        shape = elements.shape
        program, blocks, side, span = _spans(elements, dtype)
        each = -(-shape.length // span)
        lie = Lie(each * shape.inner, shape.inner, 1)
        memory = None if each == 1 else cupy.empty(shape.lines * each, dtype)
        to = out if memory is None else int(memory.data.ptr)
        Walk(elements, device).launch(program, blocks, to, lie, span, side)
        if memory is None:
            return
        elements = DeviceElements(Shape(shape.outer, each, shape.inner), lie, dtype, to, memory)


def _spans(elements: DeviceElements, dtype: str) -> tuple[DeviceScan, int, int, int]:
    """The kernel for products of spans, its blocks, lines side by side, elements of a span."""
    shape = elements.shape
    tiles = tiles_of(shape, 1)
    if tiles.side:
        program = DeviceScan("column products", elements.dtype, dtype, dtype)
        return program, tiles.blocks, tiles.side, BLOCK // tiles.side
    if elements.lie.row == 1 and shape.length >= BLOCK:
        program = DeviceScan("span products", elements.dtype, dtype, dtype)
        return program, shape.lines * -(-shape.length // BLOCK), 0, BLOCK
    span = span_of(shape.length)
    blocks = -(-shape.lines * -(-shape.length // span) // (BLOCK // span))
    return DeviceScan("line products", elements.dtype, dtype, dtype), blocks, 0, span


# Running products --------------------------------------------------------------------------------


def running_products(
    elements: DeviceElements, source: Scanned, device: int, out: int, lie: Lie
) -> None:
    """The running products of lines to address ``out``, as ``lie`` says."""
    shape, dtype = elements.shape, source.arg.dtype
    pieces = -(-shape.length // PIECE)
    groups = _groups(elements, device, dtype, pieces) if pieces > 1 else 0
    side, kind = THREADS, "running column products"
    if shape.inner == 1:
        side, kind = pieces_of(shape.length), "running line products"
    program = DeviceScan(kind, elements.dtype, dtype, source.dtype)
    blocks = -(-shape.lines * pieces // side)
    Walk(elements, device, 0, groups).launch(program, blocks, out, lie, 0, side)


def _groups(elements: DeviceElements, device: int, dtype: str, pieces: int) -> Any:
    """The products of pieces, and of groups of 2, 4, 8 ... of them, level after level."""
    import cupy

    shape, lengths = elements.shape, [pieces]
    while lengths[-1] > 1:
        lengths.append(-(-lengths[-1] // 2))
    groups = cupy.empty(sum(lengths) * shape.lines, dtype)
    lie = Lie(shape.inner, shape.lines, 1)
    begin = address(groups)
    if shape.inner == 1:
        program = DeviceScan("line products", elements.dtype, dtype, dtype)
        blocks, side = -(-shape.lines * pieces // (BLOCK // PIECE)), 0
    else:
        program = DeviceScan("column products", elements.dtype, dtype, dtype)
        side = THREADS * ITEMS // PIECE
        blocks = -(-shape.lines // side) * pieces
    Walk(elements, device).launch(program, blocks, begin, lie, PIECE, side)
    program = DeviceScan("groups", dtype, dtype, dtype)
    levels = GROUPS.bit_length() - 1  # that one launch makes
    for level in range(0, len(lengths) - 1, levels):
        at = begin + sum(lengths[:level]) * shape.lines * groups.itemsize
        some = Shape(shape.outer, lengths[level], shape.inner)
        walk = Walk(DeviceElements(some, lie, dtype, at, groups), device)
        walk.launch(program, shape.lines * -(-lengths[level] // GROUPS), at, lie)
    return groups
