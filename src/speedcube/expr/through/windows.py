"""A few elements of one long sorted line: they are selected, and the line is never sorted.

So `sort(x)[:3]`, and `sort(partition(x, -10)[-10:])`, which is how NumPy's users ask for the
greatest ten.
"""

from __future__ import annotations

from typing import Final

from .. import views
from ..nodes import Expr, Leaf, Through, whole

MOST: Final = 64  # elements that are selected; for more a line is sorted
LONG: Final = 1 << 15  # elements of a line that is long


def selected(expr: Expr) -> Expr:
    """``expr``; where it is a few elements of one long sorted line, what selects them."""
    if not isinstance(expr, Leaf) or not isinstance(expr.source, Through):
        return expr
    line = expr.source
    if line.op != "sort" or len(line.shape) != 1 or line.shape[0] < LONG or len(expr.shape) > 1:
        return expr
    step = expr.strides[0] if expr.shape else 1
    count = expr.shape[0] if expr.shape else 1
    if not step or not 0 < count <= MOST:
        return expr
    places = tuple(range(expr.offset, expr.offset + step * count, step))
    found = whole(Through("order_statistics", line.arg, (count,), line.dtype, places), (count,))
    return found if expr.shape else views.index(found, 0)


def of_a_part(arg: Expr) -> Expr | None:
    """The sorted line of ``arg`` where that is a few elements, a part that a partition made."""
    if not isinstance(arg, Leaf) or not isinstance(arg.source, Through):
        return None
    line = arg.source
    if line.op != "partition" or len(line.shape) != 1 or arg.strides != (1,):
        return None
    borders = {0, line.shape[0], *line.options, *(place + 1 for place in line.options)}
    if not {arg.offset, arg.offset + arg.shape[0]} <= borders:
        return None
    part = Leaf(Through("sort", line.arg, line.shape, line.dtype), arg.shape, arg.offset, (1,))
    found = selected(part)
    return None if found is part else found
