"""How an array shows itself: its expression in one line, or its values as NumPy writes them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...expr.graph import below
from ...expr.nodes import Expr, Through
from ...expr.routines.table import ROUTINES
from ...expr.written import written


def summary(root: Expr) -> str:
    """One line: shape, dtype, expression."""
    return f"<speedcube.Array {root.shape} {root.dtype}: {written(root)}{law_warnings(root)}>"


def shown(array: Any) -> str:
    """`summary` of ``array``, of one that was computed as it was read: of what it was made of."""
    now, text = getattr(array, "_shown", None) or (None, "")
    return text if now is array._expr else summary(array._expr)


def law_warnings(root: Expr) -> str:
    """Which libraries' routines are in ``root``, whose bits no law covers."""
    names = (node.op for node in below(root) if isinstance(node, Through))
    found = dict.fromkeys(ROUTINES[name].warning for name in names if name in ROUTINES)
    return "".join(f"; no law: {warning}" for warning in found if warning)


def values(array: Any) -> str:
    """The values of ``array`` as text; of many only those are computed that NumPy would write."""
    options = np.get_printoptions()
    if math.prod(array.shape) <= options["threshold"]:
        return str(array.compute())
    edge = options["edgeitems"]
    for axis, length in enumerate(array.shape):
        if length > 2 * edge:
            ends = slice(0, edge + 1), slice(length - edge, None)
            array = np.concatenate([array[(slice(None),) * axis + (end,)] for end in ends], axis)
    return np.array2string(array.compute(), threshold=0)
