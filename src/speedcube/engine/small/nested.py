"""Few elements that read reductions which read others, as a softmax does: how deep, and how many.

Each is a call of a kernel, and what two of them read is made for each. Softmax of 1,000 takes 60 us
so, planned 135; a spread without NaN 170 and 660. What reads too many is planned, or made by
arrays, from the second time on without a try.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Final

from ...expr.nodes import Expr, Leaf, Reduced
from .structure import Structure

NESTS: Final = 8  # reductions, in all, that may read others
_DEPTH: Final = 2
_ELEMENTS: Final = 1 << 16  # of each of them
_MOST: Final = 512  # structures that are remembered

_vain: set[Hashable] = set()


def deep(few: Structure | None) -> int:
    """How deep such reductions may be in what has these ``few`` words."""
    return 0 if few is not None and few.key in _vain else _DEPTH


def in_vain(few: Structure) -> None:
    """Remember that they were too many, or too deep."""
    if len(_vain) < _MOST:
        _vain.add(few.key)


def is_few(root: Expr) -> bool:
    """Whether ``root`` has so few elements that it may read others."""
    inner = root.source if type(root) is Leaf else root
    return math.prod(inner.arg.shape if type(inner) is Reduced else root.shape) <= _ELEMENTS
