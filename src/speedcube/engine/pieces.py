"""What regions need besides a kernel each: elements that are only moved, records put together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..expr.nodes import Const, Expr, Leaf, Reduced, StageResult, Stored
from ..plan.regions import Region
from ..plan.stages import Part, Stage
from .cpu import initial_records
from .prepare import prepare
from .results import is_exact_sum, merge

Array: TypeAlias = NDArray[Any]

# Elements up to which NumPy copies: to prepare a kernel takes as long. More of them are a kernel's,
# which leaves when it is told to.
_FEW: Final = 1 << 16


def moved(root: Expr, inputs: Mapping[int, Array], out: Any) -> bool:
    """Whether ``root`` is a constant or a few elements in memory, and so was copied to ``out``."""
    if not isinstance(root, Leaf) or not isinstance(out, np.ndarray) or out.size > _FEW:
        return False
    source = root.source
    if isinstance(source, Const):
        with np.errstate(over="ignore"):
            out[...] = np.array(source.value, root.dtype)
        return True
    memory = inputs.get(id(source))
    if memory is None and isinstance(source, Stored):
        memory = source.buffer
    if not isinstance(source, StageResult | Stored) or not isinstance(memory, np.ndarray):
        return False
    if out.size:
        out[...] = _window(root, memory)
    return True


def _window(leaf: Leaf, memory: Array) -> Array:
    """The elements that ``leaf`` reads, where they lie: position 0 is the first of ``memory``."""
    size = memory.itemsize
    interface = {
        "version": 3,
        "typestr": memory.dtype.str,
        "shape": leaf.shape,
        "strides": tuple(step * size for step in leaf.strides),
        "data": (memory.ctypes.data + leaf.offset * size, True),
    }
    return np.asarray(type("Window", (), {"__array_interface__": interface, "base": memory})())


def merged_regions(
    stage: Stage, part: Part, regions: Sequence[Region], each: Sequence[Array]
) -> Array:
    """The records of a part, from those of ``each`` of its regions."""
    source, program = stage.source, prepare(regions[0].stage, regions[0].part, None).program
    assert isinstance(source, Reduced)
    kept = tuple(n for k, n in enumerate(part.root.shape) if k not in stage.axes)
    words = program.sink.words
    whole = initial_records(program, math.prod(kept)).reshape(*kept, words)
    for region, records in zip(regions, each, strict=True):
        share = whole[region.kept]
        both = [share.reshape(records.shape), records]
        share[...] = merge(source.op, is_exact_sum(source), both).reshape(share.shape)
    return whole.reshape(math.prod(kept), words)
