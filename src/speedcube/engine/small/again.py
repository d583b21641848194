"""One operation or one reduction of arrays in memory, met again: its kernel, without a walk.

What such a computation looks like is told by a few words: the operation, the lengths, and of each
argument its dtype and strides. That is a key of its own, beside those of `structure`.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Final, Generic, TypeVar

import numpy as np

from ...expr.nodes import Const, Expr, Leaf, Map, Reduced, Stored, c_strides
from .lengths import PACKED
from .structure import Structure

MOST: Final = 512  # that are remembered; the oldest is forgotten
Known = TypeVar("Known")


class Met(Generic[Known]):
    """What is known of such computations, by the target and their key."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Known] = {}
        self.get = self._known.get
        self.clear = self._known.clear

    def note(self, key: Hashable, known: Known) -> None:
        """Remember ``known`` for ``key``."""
        while len(self._known) >= MOST:
            self._known.pop(next(iter(self._known)), None)
        self._known[key] = known


def flat_structure(root: Expr) -> Structure | None:
    """The structure of ``root`` with such a key; None where it is more than one operation.

    ``line`` is not found out.
    """
    inner: Expr = root
    reduced: Reduced | None = None
    if type(root) is Leaf:
        source = root.source
        if type(source) is not Reduced or root.offset or root.shape != source.shape:
            return None
        if root.strides != c_strides(root.shape):
            return None
        inner, reduced = source.arg, source
    shape = inner.shape
    what: Hashable = None
    args: tuple[Expr, ...] = (inner,)
    if type(inner) is Map:
        args, what = inner.args, (inner.op, inner.dtype)
        if len(args) > 1 and (args[0] is args[1] or len(args) > 2):
            return None
    data: list[Leaf] = []
    constants: list[Const] = []
    each: list[Any] = []
    for leaf in args:
        if type(leaf) is not Leaf:
            return None
        read = leaf.source
        if type(read) is Stored:
            if type(read.buffer) is not np.ndarray:
                return None
            data.append(leaf)
        elif type(read) is Const and read.dtype in PACKED:
            constants.append(read)
        else:
            return None
        # A constant and an array that is repeated may have the same strides: none, or zeros.
        each += (type(read), read.dtype, leaf.strides)
    if reduced is not None:
        what = (reduced.op, reduced.axes, reduced.dtype, reduced.ddof, what)
    key = (what, shape, len(constants), *each)
    size = math.prod(shape)
    return Structure(key, inner, size, reduced, False, data, constants, [], 1)
