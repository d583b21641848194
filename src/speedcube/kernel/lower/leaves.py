"""How the elements of each leaf are fetched along a kernel's loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ... import dtypes
from ...expr.nodes import Leaf, Position, Random
from ...expr.space import Space, Tiling, is_packed
from ..math.positions import SEGMENT
from ..program import LeafCode
from .parameters import Parameters, stream_of

_LANES: Final = 16  # a segment must give at least this many blocks to be worth generating whole
_APART: Final = 8  # elements from one to the next


def leaf_codes(
    space: Space, tiling: Tiling, parameters: Parameters, memories: frozenset[int]
) -> tuple[LeafCode, ...]:
    codes: list[LeafCode] = []
    seen: dict[object, int] = {}
    for leaf, offset, strides in zip(space.leaves, space.offsets, space.strides, strict=True):
        if id(leaf) in memories:
            codes.append(LeafCode("memory", dtypes.stored(leaf.dtype), "splat"))
            continue
        code = _leaf_code(leaf, strides, space, tiling, parameters)
        if code.mode == "segment" and code.stream is not None:
            where = (offset, strides, code.stream.per_block)
            code = replace(code, twin=seen.setdefault(where, len(codes)))
        codes.append(code)
    return tuple(codes)


def _leaf_code(
    leaf: Leaf, strides: tuple[int, ...], space: Space, tiling: Tiling, parameters: Parameters
) -> LeafCode:
    source, stride, extent = leaf.source, strides[-1], space.extents[-1]
    still = all(s == 0 for s in strides[tiling.first :])
    if isinstance(source, Random):
        return _random_code(source, stride, extent, still, tiling, parameters)
    kind = "position" if isinstance(source, Position) else "stored"
    if still:
        mode = "splat"
    elif tiling.table:
        # Where rows are stored; what reductions read of a table is not worth a second kind.
        packed = kind == "stored" and not any(space.reduced) and is_packed(strides, space, tiling)
        mode = "unit" if packed else "table"
    else:
        mode = "unit" if stride == 1 else "strided"
    found = LeafCode(kind, dtypes.stored(source.dtype), mode)
    if (kind, mode) == ("stored", "strided") and _from_whole_vectors(found.dtype, strides, space):
        found = replace(found, apart=stride)
    return found


def _from_whole_vectors(dtype: str, strides: tuple[int, ...], space: Space) -> bool:
    """Whether vectors of a leaf are best put together from whole ones, not element by element.

    That is a third of the work, but single columns of doubles come from far no sooner than memory
    gives them: of (3e6, 3) one and a number take 3.3 ms, and would take 5. So those are that are
    short, that lie close, or whose lines are read again soon.
    """
    stride = strides[-1]
    if not 2 <= stride <= _APART:
        return False
    down = (s for s, reduced in zip(strides, space.reduced, strict=True) if reduced)
    again = any(0 < abs(s) < stride for s in down)
    beside = sum(other[-1] == stride for other in space.strides) > 1
    return stride == 2 or dtypes.itemsize(dtype) < 8 or again or beside


def _random_code(
    source: Random, stride: int, extent: int, still: bool, tiling: Tiling, parameters: Parameters
) -> LeafCode:
    stream = stream_of(source, parameters)
    lg = max(0, abs(stride).bit_length() - 1)
    whole_segments = (
        stride == 1 << lg
        and stream.per_block > 1
        and stream.segment_blocks >> lg >= _LANES
        and stride * extent > SEGMENT
    )
    mode = "splat" if still else "segment" if whole_segments and not tiling.table else "single"
    return LeafCode("random", source.dtype, mode, lg if mode == "segment" else 0, stream)
