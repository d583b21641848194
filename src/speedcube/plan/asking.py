"""Where a library's way reads all elements again and again: how often, and what to keep for that.

What is selected is found by asking about all elements: a sample says between which two values the
wanted ones lie, and one more pass is most often enough. Where many elements are nearly alike there
are as many passes as `shares.rounds` says.
"""

from __future__ import annotations

import math
from typing import Final

from .. import dtypes
from ..expr.nodes import Expr, Leaf, Through
from ..expr.through.table import OPERATIONS
from . import costs
from .streams import tiled

WAYS: Final = frozenset(("selection", "partition"))
DEAR: Final = 4.0  # times what keeping takes: one pass in vain then costs a quarter more


def is_asked_again(source: Through, root: Expr) -> bool:
    """Whether to keep the elements ``root`` of the one line that ``source`` selects from.

    What is read from a file a box at a time is not: that has a bound of its own for its memory.
    """
    one_line = source.line == source.count
    if isinstance(root, Leaf) or not one_line or OPERATIONS[source.op].way not in WAYS:
        return False
    size, itemsize = math.prod(root.shape), dtypes.itemsize(root.dtype)
    keeping = costs.of_keeping(size, itemsize, size)
    return not tiled(root) and size * costs.of_element(root) > DEAR * keeping
