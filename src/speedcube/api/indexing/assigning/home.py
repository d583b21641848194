"""Where an array that is assigned to has memory of its own: on the host, or on a computing GPU.

A statement on a GPU takes a launch, some 50 us, in which a core makes some 10,000 elements. So
arrays that are not large stay on the host, and what is assigned to them is made there. What is
assigned to others is made on the GPU, and stays there.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....engine.asked.reading import KEPT_ON_HOST
from ....engine.machine import gpu_count
from ....engine.results import ResultMemory
from ....engine.rungs import Rung
from ....engine.staging.sent import sent
from ....engine.stepwise.on_host import on_one_core, rung_of
from ....expr.graph import few_below
from ....expr.nodes import Leaf, Node, Stored
from ...array import Array
from ...methods.evaluation import in_memory
from ..items import DEPTH
from .at_once import numbers_of

HOST: Final = 1 << 19  # elements of an array that stays on the host
_NODES: Final = 1 << 12


def to_own_memory(array: Array) -> None:
    """Compute ``array`` to memory of its own."""
    array._rebind(in_memory(array, _rung_for(array, array)))
    array._writes = DEPTH + 1


def _rung_for(array: Array, value: Array) -> Rung | None:
    """What makes ``value`` where ``array`` lies, or is to lie; None: what computes everywhere."""
    if not gpu_count() or array._gpu:
        return None
    if few_below(value._expr, _NODES, KEPT_ON_HOST, _is_readable) is None:
        return None
    rung = rung_of((array._expr,), None, None, False, ResultMemory.OF_RUNG)
    if not rung.devices or rung.cores:
        return None
    return on_one_core(rung) if array.size <= HOST or _is_on_host(array) else None


def _is_readable(node: Node) -> bool:
    """Whether a core can read ``node``: a mask may have been counted on a GPU."""
    return type(node) is not Leaf or type(node.source) is not Stored or not node.source.on_device


def _is_on_host(array: Array) -> bool:
    if array._writes <= DEPTH:
        return False
    source = array._expr.source if type(array._expr) is Leaf else None
    return type(source) is Stored and type(source.buffer) is np.ndarray


def is_elsewhere(value: Array, array: Array) -> bool:
    """Whether ``value`` prefers a GPU, and ``array`` lies on the host."""
    return value._gpu and not array._gpu and array._writes > DEPTH


def numbers_for(array: Array, value: Array) -> Any:
    """The numbers of ``value``, where ``array`` lies; it is made of nothing else from now on."""
    if array._gpu:
        made = in_memory(value.astype(array.dtype))
        if made.dtype == value.dtype:
            value._rebind(made)
        leaf = made._expr  # of complex numbers it is a pair
        return leaf.source.buffer if type(leaf) is Leaf and type(leaf.source) is Stored else value
    return numbers_of(value, _rung_for(array, value))


def on_device(value: Any, memory: Any) -> Any:
    """``value`` as it can be written to the ``memory`` of a GPU; None where that casts it."""
    if isinstance(value, (bool, int, float, np.generic)):
        return value
    if type(value) is np.ndarray:
        return sent(value) if value.dtype == memory.dtype else None
    return value if type(value) is type(memory) and value.dtype == memory.dtype else None
