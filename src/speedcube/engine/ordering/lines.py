"""What NumPy makes of lines in memory: operations that have nothing but their meaning."""

from __future__ import annotations

import numpy as np

from ...expr.through.node import Through
from ...expr.through.table import OPERATIONS
from .elements import AllElements, Array


def lines_made(source: Through, given: list[AllElements]) -> Array:
    """What ``source`` makes of its arguments as they are defined."""
    held = [one.held().reshape(one.root.shape) for one in given]
    return np.asarray(OPERATIONS[source.op].meaning(*held, source.options))
