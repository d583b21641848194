"""Elements that are only carried from memory to memory: nothing else has to be looked for.

What lies in memory is neither kept for later nor drawn, no law is needed for it, and no kernel. So
a program of a few copies is made before anybody looks what else it may be: that takes longer than
the copies of 100,000 elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from numpy.typing import NDArray

from ...expr.nodes import Const, Expr, Leaf, Map, Piecewise, Stored
from .lines import lines_at_once
from .moves import is_reversed, put_in_place, rearranged

Array: TypeAlias = NDArray[Any]
Carry: TypeAlias = Callable[[Any], Array | None]

_FEW: Final = 16  # pieces: more are as long to look at as a plan is to be made
_IN_MEMORY: Final = frozenset((Const, Stored))


def carrier_of(root: Expr) -> Carry | None:
    """What copies ``root`` to its place, if it may be no more than copied; None of most others.

    That gives None where it is more, or a kernel is as quick.
    """
    if type(root) is Map:
        return lines_at_once if root.op == "gather" else None
    source: Any = root.source  # type: ignore[union-attr]
    kind = type(source)
    if kind is Piecewise:
        return put_in_place if _is_in_memory(source) else None
    if kind is Leaf:
        return rearranged if type(source.source) in _IN_MEMORY else None
    return rearranged if kind is Stored and is_reversed(root) else None  # type: ignore[arg-type]


def _is_in_memory(source: Piecewise) -> bool:
    """Whether a few pieces of ``source`` are views of arrays, or of numbers."""
    boxes = source.boxes
    if type(boxes) is not tuple or len(boxes) > _FEW:
        return False
    for piece in boxes:
        expr = piece.expr
        if type(expr) is not Leaf or type(expr.source) not in _IN_MEMORY:
            return False
    return True
