"""Memory that one array alone has: where nobody else could see it, it is written in place.

An array that was assigned to often is computed to memory (`assignment`), which its expression reads
then. Other arrays made of it, and what users hold of its values, refer to the same memory, so
Python's counts of references tell whether there are any.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ....dataclass import dataclass
from ....engine.known.kept import active
from ....expr.nodes import Expr, Leaf, Map, Stored, is_whole
from ....expr.pairs.node import interleaved, is_pair, of_pairs_in
from ...array import Array


@dataclass(eq=False)
class _Held:
    """Something with an attribute, as `Array` has an expression."""

    _expr: Any


def _counts(holder: Any) -> tuple[int, ...]:
    """References to the leaf that ``holder`` has, to its source, and to the memory of that.

    Memory is an array, or an array and the one of which it is a view. Of complex numbers there is
    a pair of leaves that have one source.
    """
    leaf: Any = holder._expr
    if type(leaf) is Map:
        args: Any = leaf.args
        re, im = args
        memory = re.source.buffer
        held = (leaf, args, re, im, re.source, memory)
        return tuple([sys.getrefcount(one) for one in held])
    source = leaf.source
    buffer = source.buffer
    counts = sys.getrefcount(leaf), sys.getrefcount(source), sys.getrefcount(buffer)
    base = buffer.base
    return counts if base is None else (*counts, sys.getrefcount(base))


def _held(buffer: Any) -> _Held:
    return _Held(Leaf(Stored(buffer, "float64"), (1,), 0, (1,)))


def _held_pair(buffer: Any) -> _Held:
    return _Held(of_pairs_in(Leaf(Stored(buffer, "float64"), (1, 2), 0, (2, 1))))


# What they are where nobody else has a reference: it differs between Pythons.
_ALONE = frozenset((_counts(_held(np.empty(1))), _counts(_held(np.empty((1, 1)).reshape(1)))))
_PAIR_ALONE = _counts(_held_pair(np.empty((1, 2))))


def own_memory(array: Array) -> Any:
    """The memory of ``array``, of its shape, to be written; None where it is another's, too."""
    memory = _own_pairs(array) if is_pair(array._expr) else _own_reals(array)
    if memory is not None and (kept := active()) is not None:
        kept.written(memory)
    return memory


def _own_reals(array: Array) -> Any:
    """The memory of an array that is not complex."""
    leaf = array._expr
    if not isinstance(leaf, Leaf) or not isinstance(leaf.source, Stored):
        return None
    buffer = leaf.source.buffer
    whole = tuple(buffer.shape) == leaf.shape and is_whole(leaf)
    base = buffer.base
    known = base is None or (type(base) is type(buffer) and base.base is None)
    straight = whole and known and buffer.flags.c_contiguous
    del leaf, buffer, base
    if not straight or _counts(array) not in _ALONE:
        return None
    memory = array._expr.source.buffer  # type: ignore[union-attr]
    return memory if getattr(memory.flags, "writeable", True) else None  # CuPy's always are


def _own_pairs(array: Array) -> Any:
    """The same of complex numbers, whose parts lie side by side in memory of no other array."""
    if not _lies_as_pairs(array._expr) or _counts(array) != _PAIR_ALONE:
        return None
    memory = array._expr.args[0].source.buffer  # type: ignore[union-attr]
    return memory.view(array._expr.dtype)[..., 0] if memory.flags.writeable else None


def _lies_as_pairs(root: Expr) -> bool:
    leaf = interleaved(root)
    if leaf is None or type(leaf.source) is not Stored:
        return False
    buffer = leaf.source.buffer
    own = type(buffer) is np.ndarray and buffer.base is None and buffer.flags.c_contiguous
    return own and buffer.shape == leaf.shape and is_whole(leaf)


def may_share_memory(a: Any, b: Any, /, max_work: Any = 0) -> bool:
    """Whether writing into one array could change the other: only where they are one object.

    Parameters
    ----------
    a, b : array
        Arrays of ours, which are no views of others' memory; two of NumPy's are NumPy's to answer.
    max_work : int
        NumPy's; it changes nothing here.

    Returns
    -------
    bool
        The answer.

    Examples
    --------
    >>> x = sc.ones(3)
    >>> sc.may_share_memory(x, x[1:]), sc.may_share_memory(x, x)
    (False, True)
    """
    if isinstance(a, Array) or isinstance(b, Array):
        return a is b and a.size > 0
    return np.may_share_memory(a, b, max_work)


def shares_memory(a: Any, b: Any, /, max_work: Any = -1) -> bool:
    """Whether writing into one array changes the other: only where they are one object.

    Parameters
    ----------
    a, b : array
        Arrays of ours, which are no views of others' memory; two of NumPy's are NumPy's to answer.
    max_work : int
        NumPy's; it changes nothing here.

    Returns
    -------
    bool
        The answer.

    Examples
    --------
    >>> x = sc.ones(3)
    >>> sc.shares_memory(x, x[1:]), sc.shares_memory(x, x)
    (False, True)
    """
    if isinstance(a, Array) or isinstance(b, Array):
        return may_share_memory(a, b)
    return np.shares_memory(a, b, max_work)
