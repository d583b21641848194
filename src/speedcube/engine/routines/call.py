"""Calls of routines with nothing planned around them, wherever their arrays lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...expr.nodes import Expr, Map
from ...expr.pairs.node import COMPLEX
from ..results import PLACES_HERE, ResultMemory
from . import on_device, quick
from .direct import is_routine


def called(root: Expr, on: Any, scheduler: Any, prefers_gpu: bool, to: str | ResultMemory) -> Any:
    """The value of ``root``, a routine's, by a call alone; None of others and elsewhere."""
    may_be = root.op == COMPLEX if type(root) is Map else is_routine(root)
    if not may_be:  # as nearly always: nobody else is asked
        return None
    if to in PLACES_HERE:
        found = quick.called(root, on, scheduler, prefers_gpu)
        if found is not None:
            return found
    made = on_device.all_called((root,), on, scheduler, prefers_gpu, to)
    return None if made is None else made[0]


def all_called(
    roots: Sequence[Expr], on: Any, scheduler: Any, prefers_gpu: bool, to: str | ResultMemory
) -> list[Any] | None:
    """The values of ``roots``, results of one routine or of arrays on a GPU; None of others."""
    if to in PLACES_HERE:
        few = quick.all_called(roots, on, scheduler, prefers_gpu)
        if few is not None:
            return few
    return on_device.all_called(roots, on, scheduler, prefers_gpu, to)
