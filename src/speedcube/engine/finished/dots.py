"""The dot product of long arrays, in pieces: between which integers it lies.

As of sums and spreads (`near.py`), but an element is a product of two, which may be rounded.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr import views
from ...expr.nodes import Reduced
from ...expr.push import push
from ...expr.space import build
from ...kernel.lower.lanes import Layout
from ...kernel.lower.many import LONG_LINE, MOST_IN_LONG_LOOPS, dot_layout, lower_many
from ...kernel.many import NEAR
from ...plan.stages import Part
from ..boxes import Stop
from ..prepare import Prepared, prepared_of, remembered
from .cpu import run_together
from .ends import PIECE, End, all_of, ends_of

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class _DotPiece:
    """A piece of a part, its dot, and the loops of the kernel."""

    part: Part
    source: Reduced
    layout: Layout

    def prepared(self) -> Prepared:
        layout = self.layout

        def make() -> Prepared:
            lowered = lower_many(self.part.root, layout, self.source, near=True)
            return prepared_of(layout.space, layout.tiling, lowered)

        return remembered(self.part, "near", make)


_known: weakref.WeakKeyDictionary[Part, list[_DotPiece]] = weakref.WeakKeyDictionary()


def dot_ends(part: Part, source: Reduced, inputs: Mapping[int, Array], stop: Stop) -> End | None:
    """The least and the most that the dot ``source`` of ``part`` may be; None: nothing is known."""
    if part not in _known:
        _known[part] = _pieces(part, source)
    ends: list[list[End]] = []
    for piece in _known[part]:
        if stop.is_set():
            return None
        made = run_together(piece.prepared(), inputs, stop, [None] * len(NEAR))
        found = [one for one, _ in made]
        if not all(np.isfinite(one).all() for one in found):
            return None
        ends.append([ends_of(*found)])
    return all_of(ends)[0] if ends else None


def _pieces(part: Part, source: Reduced) -> list[_DotPiece]:
    """``part`` in pieces; none where it has no kernel that says what it knows of a dot."""
    root, axes = part.root, tuple(range(len(part.root.shape)))
    size = math.prod(root.shape)
    if size < LONG_LINE:
        return []
    axis = max(axes, key=lambda k: root.shape[k])
    extent, pieces = root.shape[axis], []
    most = PIECE if len(axes) == 1 else MOST_IN_LONG_LOOPS
    count = min(extent, -(-size // most))
    for start, stop in pairwise(extent * k // count for k in range(count + 1)):
        item = (slice(None),) * axis + (slice(start, stop),)
        here = push(root, views.indexed(root.shape, item))
        own = replace(source, arg=here, axes=axes, keepdims=False, dtype="float64")
        layout = dot_layout(build(here, axes, (), None, reduction=True), own)
        if layout is None:
            return []
        pieces.append(_DotPiece(Part(here, (), axis, start, stop), own, layout))
    return pieces
