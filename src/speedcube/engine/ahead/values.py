"""The values of programs that need something first, which is made there and then."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Final

import numpy as np

from ...expr.nodes import Expr, Leaf, Piecewise, Stored, is_whole
from ...expr.pairs.node import interleaved, is_pair
from ...expr.piecewise.order import memory_order
from ...expr.push import read_in_order
from ...late import watched
from ..pieces.carried import carrier_of
from ..progress.watch import LEAST as LONG
from ..progress.watch import telling
from ..results import as_complex, shaped
from ..rungs import Rung
from ..small.call import is_here
from .around import Around
from .boxes import Boxes, boxes_of
from .calls import NotFirstError
from .everything import BOXES_ALONE, Everything
from .look import Ahead, ahead_of
from .made import Make

_SAYS_NOTHING: Final = nullcontext()


class OverArrays:
    """``roots`` that read arrays, and the ``results`` of routines by their ids."""

    def __init__(self, roots: list[Expr], results: dict[int, Stored]) -> None:
        self.roots, self._results = roots, results
        self._given: list[Any] = []

    def values(self, make: Callable[[list[Expr]], list[Any]]) -> list[Any]:
        """Those of the roots: a routine's as it is, and what ``make`` gives of all others."""
        if not self._results:  # as nearly always
            return make(self.roots)
        here = [self._at_hand(root) for root in self.roots]
        rest = [root for root, value in zip(self.roots, here, strict=True) if value is None]
        made = iter(make(rest) if rest else ())
        return [next(made) if value is None else value for value in here]

    def _at_hand(self, root: Expr) -> Any:
        """The value of ``root``, a whole result of a routine; None of others, and if it is given.

        What shares memory with an earlier one is made again, for writes are seen by nobody else.
        """
        leaf = interleaved(root) if is_pair(root) else root
        if type(leaf) is not Leaf or id(leaf.source) not in self._results or not is_whole(leaf):
            return None
        buffer: Any = leaf.source.buffer  # type: ignore[union-attr]
        if buffer.size != math.prod(leaf.shape):
            return None
        if any(np.may_share_memory(buffer, one) for one in self._given):
            return None
        self._given.append(buffer)
        made = shaped(buffer.reshape(leaf.shape), leaf.shape)
        return as_complex(made) if is_pair(root) else made


def over_arrays(
    roots: Sequence[Expr], ahead: Ahead, make: Make, threads: int = 1
) -> OverArrays | None:
    """``roots`` with arrays in the places of what is made before them, each made once.

    ``ahead`` is that of `ahead_of`; ``make`` gives the values of operations on arrays. None where
    values lie in another order than that of C, or a library is to be called otherwise.
    """
    made = (Everything if ahead.everything else Around)(roots, ahead, make, threads)
    try:
        return OverArrays([made.root(root) for root in roots], made.own)
    except NotFirstError:
        return None


def values(
    roots: Sequence[Expr],
    rung_of: Callable[[], Rung],
    compute: Callable[..., Any],
    compute_all: Callable[..., list[Any]],
) -> list[Any] | None:
    """The values of ``roots``, over what is made before them; None of others and elsewhere.

    ``compute`` and ``compute_all`` make operations on arrays on a rung.
    """
    if watched():  # a plan says how far it is
        return None
    boxes = boxes_of(roots[0]) if len(roots) == 1 else None
    ahead = ahead_of(roots) if boxes is None else None
    if boxes is None and ahead is None:
        return _in_order(roots, rung_of, compute)
    rung = rung_of()
    if not is_here(rung.kind):
        return None

    def make(one: Expr) -> Any:
        return compute(one, rung)

    def make_all(some: Sequence[Expr]) -> list[Any]:
        return [compute(some[0], rung)] if len(roots) == 1 else compute_all(some, rung)

    if boxes is not None:
        return _put(boxes, make, rung.workers)
    if ahead is not None and ahead.everything:
        found = over_arrays(roots, ahead, make, rung.workers)
        if found is not None:
            return found.values(make_all)
        ahead = ahead_of(roots, everything=False)
    if ahead is None:
        return None
    with telling(None, rung.name, ahead.alike) if ahead.alike >= LONG else _SAYS_NOTHING:
        found = over_arrays(roots, ahead, make, rung.workers)
        return None if found is None else found.values(make_all)


def _in_order(
    roots: Sequence[Expr], rung_of: Callable[[], Rung], compute: Callable[..., Any]
) -> list[Any] | None:
    """The value of one root whose views are read in order, made in the shape that these have."""
    if len(roots) != 1 or is_pair(roots[0]):
        return None
    root, inner = roots[0], read_in_order(roots[0])
    if inner is None or (root.shape and memory_order(inner) is not None):
        return None
    if _is_of_pieces(inner) and carrier_of(inner) is None:  # a plan puts them there at once
        return None
    rung = rung_of()
    if not is_here(rung.kind):
        return None
    return [shaped(compute(inner, rung), root.shape)]


def _is_of_pieces(root: Expr) -> bool:
    return type(root) is Leaf and type(root.source) is Piecewise


def _put(boxes: Boxes, make: Make, threads: int) -> list[Any] | None:
    """The one array of ``boxes``."""
    try:
        made = Everything((), BOXES_ALONE, make, threads).put(boxes)
    except NotFirstError:
        return None
    return None if made is None else [made]
