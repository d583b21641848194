"""Few elements in memory that are assigned to: written there at once, where nobody else looks.

An array of few elements whose values are at hand is copied to memory of its own by the first
assignment, and by another one where expressions were made of it in between.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ....expr.graph import below, is_short
from ....expr.nodes import Expr, Stored, whole
from ....expr.pairs.node import is_pair, of_pairs_in, parts
from ....expr.sources.at_hand import seen
from ...array import Array
from ...methods.evaluation import in_memory
from ..items import DEPTH
from .at_once import is_plain, number_at_hand
from .own_memory import own_memory

SMALL: Final = 1 << 14  # elements of an array that is copied by an assignment: 10 us
# The same for numbers that were computed for that: what is left lazy instead takes 100 us and more.
MADE: Final = 1 << 17
LAZY: Final = 2  # assignments after which one of few operations is computed for the next
_NODES: Final = 64
_PLAIN: Final = frozenset((bool, int, float))
_KEYS: Final = (int, slice, list, type(None), type(Ellipsis), np.generic, np.ndarray)
_MOSTLY: Final = frozenset((int, slice))  # the kinds of keys that most have
_CHARS: Final = frozenset("?bBhHiIlLqQefdFD")  # dtypes that have kernels
REFUSED: Final = (ValueError, IndexError, TypeError, OverflowError)


def wrote_at_once(array: Array, item: Any, value: Any, most: int = SMALL) -> bool:
    """Whether ``value`` was written into memory that ``array`` alone has; it is copied for that.

    Only an array of at most ``most`` elements is copied.

    Nothing is written where NumPy refuses the key or the value, so that what assigns otherwise
    says why, nor where it would cast with other bits.
    """
    if type(array) is not Array or array._gpu:
        return False
    if type(value) is Array and value is not array and not value._expr.shape:
        value = number_at_hand(value)
    kind = type(value)
    if kind not in _PLAIN and not is_cast_alike(value, array._expr.dtype):
        return False
    if type(item) is not int and not _is_at_hand(item):
        return False
    array._plans, array._name = {}, None  # plans refer to the memory
    # Of memory that was given, a reference need not tell who looks: a weak one is none.
    memory = own_memory(array) if array._writes > DEPTH else None
    if memory is None and _moved(array, most):
        memory = own_memory(array)
    if type(memory) is not np.ndarray:
        return False
    casts = kind not in _PLAIN and kind is not complex and value.dtype != memory.dtype
    try:
        with np.errstate(all="ignore") if casts else nullcontext():
            memory[item] = value
    except REFUSED:
        return False
    return True


def is_cast_alike(value: Any, dtype: str) -> bool:
    """Whether ``value`` is NumPy's, and casting it to ``dtype`` gives a kernel's bits."""
    if type(value) is complex:
        return dtype.startswith("complex")
    if type(value) is not np.ndarray and not isinstance(value, np.generic):
        return False
    given = value.dtype
    if given == np.dtype(dtype):
        return True
    # Integers become float16 by way of float32 there, which rounds twice.
    twice = dtype == "float16" and given.kind in "iu"
    return given.char in _CHARS and not twice and np.can_cast(given, dtype, "same_kind")


def _is_at_hand(item: Any) -> bool:
    if type(item) is tuple:
        return all([type(one) in _MOSTLY or isinstance(one, _KEYS) for one in item])
    return isinstance(item, _KEYS)


def _moved(array: Array, most: int) -> bool:
    """Whether ``array`` has memory of its own from now on."""
    expr = array._expr
    if math.prod(expr.shape) > most:
        return False
    memory = _copied(expr)
    if memory is not None:
        leaf = whole(Stored(memory, memory.dtype.name, True), memory.shape)
        array._expr = of_pairs_in(leaf) if is_pair(expr) else leaf
    else:
        return array._writes >= LAZY and settle(array)
    array._writes = DEPTH + 1
    return True


def settle(array: Array) -> bool:
    """Whether ``array``, of few elements and few operations, was computed to memory of its own."""
    expr = array._expr
    if type(array) is not Array or array._gpu or math.prod(expr.shape) > SMALL:
        return False
    if not is_short(expr, _NODES) or not all(map(is_plain, below(expr))):
        return False
    array._rebind(in_memory(array))
    array._writes = DEPTH + 1
    return True


def _copied(expr: Expr) -> NDArray[Any] | None:
    """A copy of ``expr`` that lies in memory, or is one number; of complex numbers both parts."""
    if not is_pair(expr):
        values = seen(expr)
        return None if values is None else np.array(values, order="C")
    re, im = map(seen, parts(expr))
    if re is None or im is None:
        return None
    memory = np.empty((*expr.shape, 2), re.dtype)
    memory[..., 0], memory[..., 1] = re, im
    return memory
