"""What an operation of `Through` is: a row of `table.OPERATIONS`, which all layers read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from .node import Through

Array: TypeAlias = NDArray[Any]

BITS: Final = "bits law"
EXACT: Final = "exact-sum law"
ORDER_FREE: Final = "order-free law"

# Why bits are the same, whoever begins with which element.
BY_VALUE: Final = "by value, NaN last, then by position: whoever compares which"
BY_KEYS: Final = "by integer keys that order like the numbers, NaN first, -0 below +0: in any order"
PLACES_BY_KEYS: Final = f"{BY_KEYS.replace(', -0 below +0', ', zeros alike')}, then by place"
BY_TREE: Final = "neighbours 2k and 2k + 1 first, then their products, by place"
COUNTED: Final = "counted: in any order"
ONE_BY_ONE: Final = "of integers, exact: one after the other"

# How workers that share no memory make one long line: one of them alone; by questions about their
# shares, whose answers are put together; or each sorts its share and gives the others pieces.
Line = Literal["one", "rounds", "exchange"]


@dataclass(frozen=True)
class Operation:
    """What is known of an operation before anybody runs it.

    ``meaning``: what it makes of its arguments and options, with NumPy. ``law``: which law covers
    it, and ``why``. ``way``: how it is made; each has a row of bytes (`plan.working`) and one of
    functions (`engine.ordering.run`), so an operation of a known way is this one row.
    ``line``: how workers share one long line. ``of``: what has results of its own: each line along
    the last axis, or one along all axes, as `node.Through` says; each line or column of two axes
    beside numbers of groups; or nothing, so that arguments are taken as they are.
    """

    meaning: Callable[..., Any]
    law: str
    why: str
    way: str
    line: Line = "one"
    of: Literal["lines", "groups", "all"] = "all"

    def made(self, node: Through, args: Sequence[Array]) -> Array:
        """What ``node`` makes of ``args``."""
        axes = len(node.lines_last)
        if self.of == "lines":
            args = [arg if arg.ndim == axes else arg.reshape(-1) for arg in args]
        results = self.meaning(*args, *([node.options] if node.options else []))
        return np.moveaxis(results, -1, node.axis)
