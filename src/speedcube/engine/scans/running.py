"""Running sums and products of a part on a GPU, made there by kernels of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Scanned
from ...kernel.cuda.scans.layout import DeviceScan, Lie, Shape, tiles_of, words_of
from ...kernel.cuda.scans.range import LEAST
from ...plan.stages import Part, Stage
from ..boxes import Stop
from .device import DeviceElements, Walk, device_elements
from .matrices import even_step, ordered
from .trees import running_products

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[int, Array]

LOOKING: Final = 2048  # that look at elements; each takes many


def running_on_device(
    stage: Stage, part: Part, share: Any, inputs: Inputs, device: int, stop: Stop
) -> bool:
    """The part's running results into ``share``, of a GPU or of the host; False if not done."""
    import cupy

    source = stage.source
    assert isinstance(source, Scanned)
    if not share.size or not source.count:
        return False
    try:
        with cupy.cuda.Device(device):
            there = hasattr(type(share), "__cuda_array_interface__")
            out = share if there and int(share.device.id) == device else None
            lie = None if out is None else _lie(out, source)
            if out is None or lie is None:
                out = cupy.empty(share.shape, share.dtype)
                lie = _lie(out, source)
            assert lie is not None
            last = source.axes[-1] + 1
            order = ordered(part, source.axes, tuple(range(last, len(part.root.shape))))
            # Each element is read before its result takes its place, and by nobody else after.
            elements = device_elements(stage, order, inputs, device, stop, out)
            _Running(source, elements, device).into(out, lie)
            cupy.cuda.get_current_stream().synchronize()
            if out is not share:
                share[...] = out if there else out.get()
    except MemoryError:  # block after block, it needs less
        return False
    return True


def _lie(out: Any, source: Scanned) -> Lie | None:
    """How results lie in ``out``; None where no steps say it."""
    first, last, ndim = source.axis, source.axis + 1, out.ndim
    steps = [
        even_step(out.shape[a:b], tuple(s // out.itemsize for s in out.strides[a:b]))
        for a, b in ((0, first), (first, last), (last, ndim))
    ]
    matrix, row, column = steps
    if matrix is None or row is None or column is None:
        return None
    return Lie(matrix, row, column)


class _Running:
    """The running sums or products of ``elements``, which lie on GPU ``device``."""

    def __init__(self, source: Scanned, elements: DeviceElements, device: int) -> None:
        self.source, self.elements, self.device = source, elements, device

    def into(self, out: Any, lie: Lie) -> None:
        """The results into ``out``."""
        begin, source = int(out.data.ptr), self.source
        if source.initial:
            out[(slice(None),) * source.axis + (slice(0, 1),)] = 0 if source.op == "cumsum" else 1
            begin += lie.row * out.itemsize
        if source.op == "cumsum":
            self.sums(begin, lie)
        else:
            running_products(self.elements, source, self.device, begin, lie)

    def sums(self, out: int, lie: Lie) -> None:
        import cupy

        program, unit = self.program()
        elements = self.elements
        tiles = tiles_of(elements.shape, program.size)
        width = tiles.across * max(1, tiles.side)
        told = cupy.zeros(tiles.blocks + 1, np.uint64)
        rows = 0 if tiles.side and tiles.along == 1 else tiles.along  # such tell nobody anything
        kept = cupy.empty(2 * rows * program.size * width, np.uint64)
        begun = int(told.data.ptr) + 8 * tiles.blocks
        walk = Walk(elements, self.device, told, kept, begun)
        walk.launch(program, tiles.blocks, out, lie, unit, tiles.side)

    def program(self) -> tuple[DeviceScan, int]:
        """The kernel for these elements, and the unit of its sums."""
        import cupy

        source, elements = self.source, self.elements
        program = DeviceScan("columns", elements.dtype, source.arg.dtype, source.dtype)
        unit = 0
        if program.exact:
            told = cupy.zeros(3, np.uint64)
            _look(elements, self.device, told)
            words, unit, special = unit_of(told.get().tolist(), source.count)
            # What is rounded to float32 afterwards is rounded to odd before.
            odd = source.odd or source.dtype == "float32"
            program = DeviceScan(
                "columns", program.read, program.dtype, program.out, words, special, odd
            )
        if not tiles_of(elements.shape, program.size).side:
            program = program.of_kind("lines")
        return program, unit


def _look(elements: DeviceElements, device: int, told: Any) -> None:
    """What running sums depend on, into ``told``."""
    if elements.step is not None:  # of which matrix elements are does not matter
        shape, lie = Shape(1, elements.shape.size, 1), Lie(0, elements.step, 0)
        elements = DeviceElements(shape, lie, elements.dtype, elements.address, elements.owner)
    blocks = min(LOOKING, -(-elements.shape.size // 1024))
    program = DeviceScan("range", elements.dtype, "float64", "float64")
    Walk(elements, device, told).launch(program, blocks, 0, Lie(0, 0, 0))


def unit_of(found: list[int], length: int) -> tuple[int, int, bool]:
    """Words and unit (2**unit) of sums of ``length`` elements, and whether some are special."""
    return (*needed(span_of_bits(found, length)), bool(found[2]))


def span_of_bits(found: list[int], length: int) -> tuple[int, int] | None:
    """The bits of sums of ``length`` elements, the sign among them, in steps of 2**-1074.

    The first one, and the one after the last; None where all elements are zeros.
    """
    exponent, least, _ = found
    if not exponent:
        return None
    return LEAST - least, exponent - 1 + 53 + (length - 1).bit_length() + 1


def needed(bits: tuple[int, int] | None) -> tuple[int, int]:
    """Words and unit of sums with these bits."""
    return (1, 0) if bits is None else (words_of(bits[1] - bits[0]), bits[0] - 1074)
