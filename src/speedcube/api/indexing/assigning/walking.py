"""Loops that walk over boxes of a large array: rows, columns, what is left of a matrix.

A time loop assigns to the same boxes in each step, and several of its steps are one pass over the
array. One that assigns to other boxes each time, of values made of the array, would be made of all
its steps again and again: each of them is computed there and then.
"""

from __future__ import annotations

from typing import Any, Final

from ....engine.machine import free_memory
from ....expr.graph import few_below
from ....expr.nodes import Deferred, Piecewise, Stored, Tiled
from ....expr.piecewise.assigned import writes_of
from ...array import Array
from ..items import DEPTH
from .at_once import NUMBERS
from .home import to_own_memory
from .in_place import LAZY
from .noting import box_of

_NODES: Final = 256
_FILES: Final = (Deferred, Tiled)


def to_memory(array: Array, item: Any) -> None:
    """Compute ``array`` to memory of its own for ``item``, if it is not there and fits."""
    if array._writes <= DEPTH and _fits(array):
        _note(array, item)
        to_own_memory(array)


def _fits(array: Array) -> bool:
    return array.nbytes <= free_memory() // 8


def is_step(value: Any, array: Array, item: Any) -> bool:
    """Whether ``value``, of many elements, is made of ``array``, which is computed to memory.

    As where a loop walks over it, or takes every other element. What is read of files, or does not
    fit, stays lazy.
    """
    if type(value) is not Array or value is array:
        return False
    if not NUMBERS < value.size <= array.size:
        return False
    strided = _has_steps(item)
    if array._writes <= DEPTH:
        early = strided and array._writes >= LAZY and not array._gpu
        return early and _reads(value, array, Piecewise) and _fits(array) and _fits(value)
    if not (strided or (array._walk is not None and array._walk[1])):
        return False
    if not (_reads(value, array, Stored) and _fits(value)):
        return False
    _note(array, item)
    return strided or (array._walk is not None and array._walk[1])


def _has_steps(item: Any) -> bool:
    items = item if type(item) is tuple else (item,)
    return any([type(one) is slice and one.step not in (None, 1, -1) for one in items])


def _note(array: Array, item: Any) -> None:
    """Write down the box of ``item``, and whether it is none of the last ones."""
    box = box_of(array.shape, item)
    if box is None:
        return
    last, first = array._walk, writes_of(array._expr)
    new = last is not None and box != last[0]
    array._walk = box, new and (first is None or first.place_of(*box[:2]) is None)


def _reads(value: Array, array: Array, kind: type[Stored | Piecewise]) -> bool:
    """Whether ``value`` is made of ``array``, of that ``kind``, in memory, and of no file."""
    source = getattr(array._expr, "source", None)
    nodes = few_below(value._expr, _NODES) if type(source) is kind else None
    if nodes is None:
        return False
    sources = [getattr(one, "source", None) for one in nodes]
    if any([isinstance(one, _FILES) for one in sources]):
        return False
    if isinstance(source, Stored):
        return any([one is source for one in sources])
    return any([one is source for one in nodes])
