"""Programs of lines that differ only in their lengths: what they have in common."""

from __future__ import annotations

import struct
from typing import Any, Final

from ...expr.nodes import Leaf, Map, Position, Reduced, Scanned
from ...kernel.llvm.simd import targets
from ...kernel.lower.many import LONG_LINE
from ...ops import GATHERS, SAMPLERS
from ..known.outline import Key, Outline

# Elements of the longest array, which have kernels that take any length.
MOST_LENGTH: Final = LONG_LINE - 1
# Of the constants that are arguments, what makes bytes of them.
PACKED: Final = {"float64": struct.Struct("<d").pack, "float32": struct.Struct("<f").pack}
_OTHER: Final = GATHERS.union(SAMPLERS)


def marked(extent: int, length: int) -> int:
    """``extent`` as its distance from 0, or, below 0, from ``length``: whichever is nearer."""
    return extent if 2 * extent <= length else extent - length - (1 << 20)


def extent_of(mark: int, length: int) -> int:
    """The extent that is ``mark`` of ``length``."""
    return mark if mark >= 0 else mark + length + (1 << 20)


def line_key(found: Outline) -> tuple[Key, int] | None:
    """What programs like ``found`` of any length have in common, and the length of this one.

    None where other things than lengths follow from the length: which of two places comes first,
    a stride, what a position is.
    """
    length = _length(found)
    if not 2 <= length <= MOST_LENGTH:
        return None
    entries: list[Any] = list(found.key[1:])  # type: ignore[index]
    ends = farthest = 0  # how far from an end an axis ends; and a view begins, through its sources
    begins: dict[int, int] = {}
    for k, node in enumerate(found.nodes):
        if type(node) is Leaf:
            shape, at = node.shape, node.offset
            if shape:
                ends = max(ends, min(shape[0], length - shape[0]))
                shape = (marked(shape[0], length),)
            entries[k] = entries[k][0], shape, marked(at, length), node.strides
            begin = begins.get(id(node.source), 0) + min(at, abs(length - at))
        else:
            args = node.args if type(node) is Map else (node.arg,)  # type: ignore[union-attr]
            begin = max([begins[id(arg)] for arg in args])
        begins[id(node)] = begin
        farthest = max(farthest, begin)
    if 2 * (ends + farthest) >= length:  # else what is near one end is so for all lengths
        return None
    numbers = [value for value in found.values if value[0] not in PACKED]  # type: ignore[index]
    return (targets()[0], *numbers, length.bit_length(), found.roots, *entries), length


def _length(found: Outline) -> int:
    """Of the longest axis; 0 where there are other nodes than those of lines."""
    length = 0
    for node in found.nodes:
        kind = type(node)
        if kind is Leaf:
            shape, strides = node.shape, node.strides  # type: ignore[union-attr]
            walked = len(shape) < 2 and (not strides or strides[0] in (0, 1))
            if not walked or node.offset < 0 or type(node.source) is Position:  # type: ignore[union-attr]
                return 0
            if shape and shape[0] > length:
                length = shape[0]
        elif kind is Map:
            if node.op in _OTHER:  # type: ignore[union-attr]
                return 0
        elif kind is not Reduced and not (kind is Scanned and node.lines == 1):  # type: ignore[union-attr]
            return 0
    return length
