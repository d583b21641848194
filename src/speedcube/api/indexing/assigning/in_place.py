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

from .... import dtypes
from ....engine.asked.unwritten import is_frozen, is_ours_alone
from ....engine.machine import free_memory
from ....expr.graph import below, is_short
from ....expr.nodes import (
    STAGED,
    Const,
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Position,
    Random,
    Stored,
    whole,
)
from ....expr.pairs.node import is_pair, of_pairs_in, parts
from ....expr.sources.at_hand import seen
from ...array import Array
from ...methods.repr import summary
from ...sources import asarray
from ..items import DEPTH
from ..keys import entries
from .at_once import is_plain, number_at_hand
from .home import on_device, to_own_memory
from .own_memory import own_memory

SMALL: Final = 1 << 14  # elements of an array that is copied by an assignment: 10 us
# The same for numbers that were computed for that: what is left lazy instead takes 100 us and more.
MADE: Final = 1 << 17
_PART: Final = 8  # of an array: of so much of it, it is copied for an assignment
_OF_FREE: Final = 8  # of the memory that is free, for a copy
LAZY: Final = 2  # assignments after which one of few operations is computed for the next
_NODES: Final = 64
_NUMBERS: Final = (bool, int, float, np.generic)
AT_HAND: Final = (*_NUMBERS, np.ndarray)  # kinds of values that need not be computed
_BASIC: Final = (int, slice, type(None), type(Ellipsis))
_PLAIN: Final = frozenset((bool, int, float))
_NO_FILES: Final = frozenset((Const, Position, Random, Map, Leaf, Piecewise, *STAGED))
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
    if array._writes <= DEPTH and math.prod(array._expr.shape) > most:
        return False
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


def wrote_in_place(array: Array, item: Any, value: Any) -> bool:
    """Whether ``value`` could be written into the array's own memory, and was."""
    keys = item if isinstance(item, tuple) else (item,)
    if not all(map(_in_host_memory, keys)):
        return False
    array._plans, array._name = {}, None  # plans refer to it
    memory = own_memory(array)
    if memory is None:
        return False
    if type(value) in (np.ndarray, np.float16, np.float32):
        value = _cast(value, array._expr.dtype)
    on_gpu = not isinstance(memory, np.ndarray)
    if on_gpu:
        if not all([type(one) in _BASIC for one in keys]):
            return False  # there the last of equal indices need not count
        value = on_device(value, memory)
    if not isinstance(value, (*AT_HAND, type(memory))):
        return False
    entries(item, array.shape)
    try:
        with np.errstate(all="ignore"):  # as where it is lazy
            memory[item] = value
    except REFUSED:  # what assigns otherwise says why
        if on_gpu and isinstance(value, _NUMBERS):
            raise
        return False
    return True


def wrote_much(array: Array, item: Any, value: Any) -> bool:
    """Whether ``value``, a good part of ``array``, was written; into a copy if others look at it.

    To make all of it of what it was and ``value`` takes as long, and kernels for that.
    """
    if array._writes <= DEPTH or value.size * _PART < array.size:
        return False
    if wrote_in_place(array, item, value):
        return True
    source = array._expr.source if type(array._expr) is Leaf else None
    if type(source) is not Stored or source.buffer.shape != array.shape:
        return False
    if array.nbytes > free_memory() // _OF_FREE:
        return False
    array._expr = whole(Stored(source.buffer.copy(), source.dtype, True), array.shape)
    del source
    return wrote_in_place(array, item, value)


def wrote_one(array: Array, number: int, value: Any) -> bool:
    """The same for a ``number`` of the first axis, as loops have it: with fewer questions."""
    if type(value) not in _PLAIN or not array.shape:
        return False
    array._plans, array._name = {}, None
    memory = own_memory(array)
    if type(memory) is not np.ndarray or not -len(memory) <= number < len(memory):
        return False
    try:
        memory[number] = value
    except REFUSED:  # what assigns otherwise says why
        return False
    return True


def _in_host_memory(one: Any) -> bool:
    return one is None or one is Ellipsis or isinstance(one, (slice, list, *AT_HAND))


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


def _cast(value: Any, dtype: str) -> Any:
    """NumPy's ``value``, cast to ``dtype`` by a kernel where NumPy's cast has other bits.

    It has of floats that are not in the range of integers: those of each kind of CPU.
    """
    given, integers = value.dtype, dtype in dtypes.INTEGERS
    if given.char not in _CHARS or is_cast_alike(value, dtype):
        return value
    if integers and (given.kind in "biu" or _is_in_range(value, dtype)):
        return value
    return np.asarray(asarray(value).astype(dtype).compute("core"))


def _is_in_range(value: Any, dtype: str) -> bool:
    if value.dtype.kind != "f" or not value.size:
        return not value.size
    limits = np.iinfo(dtype)
    return limits.min <= float(value.min()) and float(value.max()) < limits.max


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
    to_own_memory(array)
    return True


def keep(array: Array) -> bool:
    """The same of what reads no memory that others may write to, and no file."""
    unwritten = is_short(array._expr, _NODES) and all(map(_is_unwritten, below(array._expr)))
    name, text = array._name, summary(array._expr) if unwritten else ""
    kept = unwritten and settle(array)
    array._name = name  # Dask's graphs have it, and its values are the same
    if kept:
        array._shown = array._expr, text
    return kept


def _is_unwritten(node: Node) -> bool:
    if math.prod(node.shape) > MADE:  # a loop over what is made of much is lazy
        return False
    source = node.source if type(node) is Leaf else None
    if type(source) is Stored:
        return is_frozen(source) or is_ours_alone(source)
    return source is None or type(source) in _NO_FILES


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
