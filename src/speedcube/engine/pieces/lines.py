"""Whole lines of memory at indices, as ``x[rows]``: copied, not gathered by a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Const, Expr, Leaf, Map, Position, Stored, c_strides
from ..boxes import Stop

Array: TypeAlias = NDArray[Any]

_AT_ONCE: Final = 1 << 22  # elements between two looks whether to stop
_LINE: Final = 16  # elements from which on a line is copied sooner than gathered


def lines_taken(root: Expr, inputs: Mapping[int, Array], out: Any, stop: Stop) -> bool:
    """Whether ``root`` is lines of an array in memory at indices, and so was copied to ``out``."""
    if type(root) is not Map or root.op != "gather" or not isinstance(out, np.ndarray):
        return False
    found = _index_and_width(root)
    memory = _in_memory(root.args[1], inputs)
    if found is None or memory is None or not out.flags.c_contiguous:
        return False
    index, width = found
    places = _in_memory(index, inputs)
    if places is None or memory.size % width:
        return False
    lines = memory.reshape(-1, width)
    here = places.reshape(-1)[index.offset :: index.strides[0]][: root.shape[0]]
    if here.size and (here.min() < 0 or here.max() >= len(lines)):
        return False  # a kernel holds them within bounds
    into = out.reshape(-1, width)
    step = max(1, _AT_ONCE // width)
    for first in range(0, len(into), step):
        if not stop.is_set():
            part = slice(first, first + step)
            np.take(lines, here[part], axis=0, out=into[part], mode="clip")
    return True


def _index_and_width(root: Map) -> tuple[Leaf, int] | None:
    """The leaf of indices along the first axis, and the elements of a whole line; None otherwise.

    The position is ``index * width``, and that within the line.
    """
    shape, at = root.shape, root.args[0]
    if len(shape) < 2 or type(at) is not Map or at.op != "add":
        return None
    within, line = at.args
    lengths = c_strides(shape)
    if type(within) is not Leaf or type(within.source) is not Position or within.offset:
        return None
    if within.strides != (0, *lengths[1:]) or type(line) is not Map or line.op != "multiply":
        return None
    index, width = line.args
    while type(index) is Map and index.op == "cast":
        (index,) = index.args
    if type(index) is not Leaf or type(width) is not Leaf or type(width.source) is not Const:
        return None
    along = index.strides[0] > 0 and not any(index.strides[1:]) and index.dtype[0] in "iu"
    whole = width.source.value == lengths[0] >= _LINE
    return (index, lengths[0]) if along and whole else None


def _in_memory(leaf: Expr, inputs: Mapping[int, Array]) -> Array | None:
    """All elements of what ``leaf`` reads, in C order."""
    assert type(leaf) is Leaf
    memory = inputs.get(id(leaf.source))
    if memory is None and isinstance(leaf.source, Stored):
        memory = leaf.source.buffer
    return memory if isinstance(memory, np.ndarray) and memory.flags.c_contiguous else None
