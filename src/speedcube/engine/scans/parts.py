"""What a worker does with a part of a scan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Scanned
from ...plan.stages import Part, Stage
from .. import cpu
from ..boxes import Stop
from ..prepare import prepare
from ..staging.late import gpu, running, trees
from ..staging.sent import sent
from . import columns, lines
from .matrices import STRAIGHT, ordered, straight

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[int, Array]


@dataclass(frozen=True, eq=False)
class ScanPart:
    """A part of a scan's stage, with what it reads; ``device``: a GPU's number, None for a CPU."""

    stage: Stage
    part: Part
    inputs: Inputs
    device: int | None
    stop: Stop

    def elements(self) -> Iterator[Array]:
        """The elements line after line, block after block."""
        part, source = self.part, self.stage.source
        assert source is not None
        turned = ordered(part, source.axes, ()).part
        whole = 0, math.prod(part.root.shape)
        start, stop = whole if part.axis is not None else (part.start, part.stop)
        there = straight(turned.root, source.arg.dtype) if self.device is None else None
        if there is not None:
            yield from self._straight(there, start, stop)
            return
        prepared = prepare(self.stage, turned, None)
        if self.device is None:
            yield from cpu.blocks(prepared, self.inputs, start, stop, self.stop)
            return
        import cupy

        with cupy.cuda.Device(self.device):
            yield from gpu.blocks(prepared, self.inputs, start, stop, self.device, self.stop)

    def _straight(self, elements: Array, start: int, stop: int) -> Iterator[Array]:
        for first in range(start, stop, STRAIGHT):
            if self.stop.is_set():
                return
            yield elements[first : min(stop, first + STRAIGHT)]

    def record(self) -> Array:
        """The record of the elements, which share a line with those of other parts."""
        stage, part = self.stage, self.part
        assert stage.source is not None
        place, count = part.start % stage.source.count, part.stop - part.start
        return lines.fold(stage.source, stage.block, place, count, self.elements())

    def products(self, out: Any) -> None:
        """The products of the lines, into ``out``, of the host or of a GPU."""
        if self.device is not None and trees.products_on_device(
            self.stage, self.part, out, self.inputs, self.device, self.stop
        ):
            return
        if isinstance(out, np.ndarray):
            self._products(out)
        else:
            products = np.empty(out.shape, out.dtype)
            self._products(products)
            out.set(products)

    def _products(self, out: Array) -> None:
        source = self.stage.source
        assert source is not None
        if source.count == 0:
            out[...] = 1
        elif self.device is not None or not out.size or not self._column_products(out):
            lines.products(self.elements(), source.count, out)

    def _column_products(self, out: Array) -> bool:
        return columns.products(self.stage, self.part, self.inputs, out, self.stop)

    def running(self, share: Any, before: Array | None = None) -> None:
        """The running results into ``share``; ``before`` is the record of the line so far."""
        if self.stage.join == "carry":
            self._line_after_line(share, 0, before)
        elif self.device is not None and running.running_on_device(
            self.stage, self.part, share, self.inputs, self.device, self.stop
        ):
            return
        elif not self._column_results(share):
            source = self.stage.source
            assert isinstance(source, Scanned)
            self._line_after_line(share, source.axis, before)

    def _column_results(self, share: Any) -> bool:
        """The results by columns, where that can be."""
        on_host = isinstance(share, np.ndarray) and self.device is None
        if not on_host or 0 in self.part.root.shape:
            return False
        return columns.running(self.stage, self.part, share, self.inputs, self.stop)

    def _line_after_line(self, share: Any, axis: int, before: Array | None) -> None:
        """The results along ``axis`` of ``share``."""
        stage, source = self.stage, self.stage.source
        assert isinstance(source, Scanned)
        turned = share.transpose((*(k for k in range(share.ndim) if k != axis), axis))
        direct = isinstance(share, np.ndarray) and turned.flags.c_contiguous
        buffer = turned if direct else np.empty(turned.shape, stage.dtype)
        if buffer.size:
            place = self.part.start % source.count if stage.join == "carry" else 0
            results = buffer.reshape(-1, buffer.shape[-1])
            lines.scan(source, stage.block, place, results, self.elements(), before)
        if not direct:
            _copy(buffer, turned)


def _copy(results: Array, share: Any) -> None:
    """``results`` into ``share``, which may lie on a GPU, and have gaps."""
    if isinstance(share, np.ndarray):
        share[...] = results
        return
    share[...] = sent(results)


def share_of(stage: Stage, part: Part, whole: Any) -> Any:
    """The elements of a stage's result that ``part`` produces."""
    if stage.join == "carry":
        return _carried_share(stage, part, whole)
    if part.axis is None:
        return whole
    kept = [k for k in range(len(stage.root.shape)) if k not in stage.axes]
    item = [slice(None)] * whole.ndim
    item[kept.index(part.axis)] = slice(part.start, part.stop)
    return whole[tuple(item)]


def _carried_share(stage: Stage, part: Part, whole: Any) -> Any:
    """The results in ``whole`` of a part that shares a line."""
    assert isinstance(stage.source, Scanned)
    line, place = divmod(part.start, stage.source.count)
    width, axis = part_width(stage, part), stage.source.axis
    end = place + part.stop - part.start + stage.source.initial
    lines_of = whole.transpose((*(k for k in range(whole.ndim) if k != axis), axis))
    at = np.unravel_index(line, lines_of.shape[:-1]) if lines_of.ndim > 1 else ()
    return lines_of[(*map(int, at), slice(end - width, end))]


def part_width(stage: Stage, part: Part) -> int:
    """Results of a part that shares a line: its elements, and what the line begins with."""
    assert isinstance(stage.source, Scanned)
    begins = part.start % stage.source.count == 0
    return part.stop - part.start + (stage.source.initial and begins)
