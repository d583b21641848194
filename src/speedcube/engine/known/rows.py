"""Stages that are made for a block of rows after the other, on each core (`plan/blocks.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ...expr.nodes import Stored
from ...plan.blocks import Blocked, RowBlock
from ..cpu import host_array
from ..results import Destination, Needs, inputs_of
from ..tasks import Worker

Array: TypeAlias = NDArray[Any]


def make_rows(
    worker: Worker,
    chain: Blocked,
    whole: Array,
    ready: Mapping[int, Any],
    share: tuple[int, int] = (0, 1),
) -> None:
    """What ``chain`` makes of what is ``ready``, into ``whole``.

    Of so many workers the one with the number that ``share`` begins with makes its blocks.
    """
    number, workers = share
    first, end = (chain.count * k // workers for k in (number, number + 1))
    arrays = [
        (id(source), host_array(source) if isinstance(source, Stored) else ready[id(source)], move)
        for source, move in chain.sources
    ]
    for k in range(first, min(end, chain.rows // chain.step)):
        if worker.stop.is_set():
            return
        start = k * chain.step
        inputs = {name: _further(array, k * move) for name, array, move in arrays}
        _make_block(worker, chain.block, whole[start : start + chain.step], inputs)
    if chain.rest is not None and end == chain.count:
        there = {name: array for name, array, _ in arrays}
        _make_block(worker, chain.rest, whole[-(chain.rows % chain.step) :], there)


def run_rows(
    worker: Worker,
    chain: Blocked,
    share: tuple[int, int],
    out: Destination,
    needs: Needs,
    *arrays: Any,
) -> None:
    """Task: the blocks of one worker, of several (`make_rows`)."""
    make_rows(worker, chain, out.array(), inputs_of(needs, arrays), share)


def _make_block(worker: Worker, block: RowBlock, share: Array, inputs: dict[int, Array]) -> None:
    """The rows of ``block`` into ``share``."""
    for stage, last in zip(block.stages, block.last, strict=True):
        is_last = stage is block.stages[-1]
        room = share if is_last else np.empty(stage.shape, stage.dtype)
        place = Destination(stage.shape, stage.dtype, _array=room)
        worker.store(stage, stage.parts[0], place, inputs)
        inputs[id(stage.result)] = room
        for name in last:
            del inputs[name]


def _further(array: Array, elements: int) -> Array:
    """An array that begins ``elements`` after ``array``, in memory."""
    flat = as_strided(array, (elements + 1,), (array.itemsize,))
    return flat[elements:]
