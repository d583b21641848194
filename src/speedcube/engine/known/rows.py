"""Stages that are made for a block of rows after the other, on one core (`plan/blocks.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ...expr.nodes import Stored
from ...plan.blocks import Blocked, RowBlock
from ..cpu import host_array
from ..results import Destination
from ..tasks import Worker

Array: TypeAlias = NDArray[Any]


def make_rows(worker: Worker, chain: Blocked, whole: Array, ready: Mapping[int, Any]) -> None:
    """What ``chain`` makes of what is ``ready``, into ``whole``."""
    arrays = [
        (id(source), host_array(source) if isinstance(source, Stored) else ready[id(source)], move)
        for source, move in chain.sources
    ]
    for number in range(chain.rows // chain.step):
        start = number * chain.step
        inputs = {name: _further(array, number * move) for name, array, move in arrays}
        _make_block(worker, chain.block, whole[start : start + chain.step], inputs)
    if chain.rest is not None:
        there = {name: array for name, array, _ in arrays}
        _make_block(worker, chain.rest, whole[-(chain.rows % chain.step) :], there)


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
