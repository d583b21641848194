"""Elements of a scan in a GPU's memory, and the launches that make its results there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import dataclass
from ...expr.nodes import Expr, Leaf, Map, Stored
from ...kernel.cuda.scans.layout import DeviceScan, Lie, Shape
from ...plan.stages import Stage
from ...plan.working import DEVICE_ROOM
from .. import gpu
from ..boxes import Stop
from ..prepare import prepare
from ..staging.packed import Packed
from .matrices import AxisOrder, even_step

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[int, Array]

# What kernels read as it lies in memory, and make wider.
_NARROW: Final = {
    "float64": ("float32",),
    "int64": ("int32", "int16", "int8", "uint32", "uint16", "uint8", "bool"),
    "uint64": ("uint32", "uint16", "uint8", "bool"),
}


@dataclass(frozen=True, eq=False)
class DeviceElements:
    """Elements in the memory of a GPU, of which ``owner`` keeps some of it alive."""

    shape: Shape
    lie: Lie
    dtype: str
    address: int
    owner: Any

    @property
    def step(self) -> int | None:
        """The one step that walks all of them in C order; None if there is none."""
        shape, lie = self.shape, self.lie
        extents = (shape.outer, shape.length, shape.inner)
        return even_step(extents, (lie.matrix, lie.row, lie.column))


def device_elements(
    stage: Stage, order: AxisOrder, inputs: Inputs, device: int, stop: Stop, place: Any = None
) -> DeviceElements:
    """The elements of ``order`` on the current device: where they lie, or made by their kernel.

    They are made in ``place`` if they fit there. `MemoryError` where they would need much memory.
    """
    assert stage.source is not None
    root = order.part.root
    cuts = (0, order.first, order.last, len(root.shape))
    shape = Shape(*(math.prod(root.shape[a:b]) for a, b in pairwise(cuts)))
    there = _in_memory(root, stage.source.arg.dtype, inputs, cuts)
    if there is not None:
        return replace(there, shape=shape)
    return _made(stage, order, shape, inputs, device, stop, place)


def _in_memory(
    root: Expr, dtype: str, inputs: Inputs, cuts: tuple[int, ...]
) -> DeviceElements | None:
    leaf = root
    if isinstance(root, Map) and root.op == "cast" and root.args[0].dtype in _NARROW[dtype]:
        leaf, dtype = root.args[0], root.args[0].dtype
    if not isinstance(leaf, Leaf) or leaf.dtype != dtype or leaf.shape != root.shape:
        return None
    array = inputs.get(id(leaf.source))
    if array is None and isinstance(leaf.source, Stored):
        array = leaf.source.buffer
    steps = [even_step(leaf.shape[a:b], leaf.strides[a:b]) for a, b in pairwise(cuts)]
    matrix, row, column = steps
    if array is None or matrix is None or row is None or column is None:
        return None
    owner, address = gpu.to_device(array)
    size = dtypes.itemsize(dtype)
    address += leaf.offset * size
    if address % size:
        return None
    return DeviceElements(Shape(0, 0, 0), Lie(matrix, row, column), dtype, address, owner)


def _made(
    stage: Stage,
    order: AxisOrder,
    shape: Shape,
    inputs: Inputs,
    device: int,
    stop: Stop,
    place: Any,
) -> DeviceElements:
    import cupy

    prepared = prepare(stage, order.part, None, gpu=True)
    dtype = prepared.program.element.output_type("x")
    memory = place
    if place is None or not (
        place.dtype == dtype and place.flags.c_contiguous and place.size == shape.size
    ):
        if shape.size * dtypes.itemsize(dtype) > DEVICE_ROOM:
            raise MemoryError
        memory = cupy.empty(shape.size, dtype)
    gpu.run_store(prepared, inputs, memory, device, stop, wait=False)
    lie = Lie(shape.length * shape.inner, shape.inner, 1)
    return DeviceElements(shape, lie, dtype, int(memory.data.ptr), memory)


@dataclass(frozen=True, eq=False)
class Walk:
    """A launch over elements; what blocks tell each other is in ``told``, ``kept``, ``begun``."""

    elements: DeviceElements
    device: int
    told: Any = 0
    kept: Any = 0
    begun: Any = 0

    def launch(
        self, program: DeviceScan, blocks: int, out: int, lie: Lie, unit: int = 0, side: int = 0
    ) -> None:
        """Launch ``program``; its results go to address ``out`` as ``lie`` says."""
        import cupy

        shape, own = self.elements.shape, self.elements.lie
        flat = shape.flat(own) + 2 * shape.flat(lie)
        words = [shape.lines, shape.length, shape.inner, flat, unit, side]
        words += [own.matrix, own.row, own.column, lie.matrix, lie.row, lie.column]
        places = self.elements.address, out
        memory = (address(x) for x in (self.told, self.kept, self.begun))
        kernel, _ = gpu.gpu_kernel(program, self.device)
        arguments = np.array([*places, *words, *memory], np.int64)
        stream = int(cupy.cuda.get_current_stream().ptr)
        Packed(kernel, len(arguments), arguments).launch(blocks, stream)


def address(memory: Any) -> int:
    """Where ``memory`` is, an array of a GPU or an address."""
    return memory if isinstance(memory, int) else int(memory.data.ptr)
