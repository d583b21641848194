"""A routine of arrays that lie in memory, called at once: there is nothing to plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from ...expr.nodes import STAGED, Expr, Leaf, Map, Stored, Through, c_strides
from ...expr.pairs.node import is_pair, parts
from ...expr.routines.row import Routine, bytes_of, call_of, flops_of, results_of, seen
from ...expr.routines.table import ROUTINES, part_of
from ...late import watched
from .. import machine
from ..cpu import host_array
from ..results import shaped
from ..rungs import Rung
from .run import explained, window
from .threads import blas_threads

_FIRST_NODES: Final = 16
FLOPS: Final = 64  # in the time of a drawn number that is summed
_SMALL: Final = 1 << 16  # elements up to which nobody looks whether there is room,
_LITTLE: Final = 1 << 28  # and the bytes that are needed


def is_routine(root: Expr) -> TypeGuard[Leaf]:
    """Whether ``root`` is a result of a routine."""
    return type(root) is Leaf and type(root.source) is Through and root.source.op in ROUTINES


def reads_routine(root: Expr) -> bool:
    """Whether one of the first nodes of ``root`` is a routine's: no kernel makes all of it."""
    stack: list[Expr] = [root]
    for _ in range(_FIRST_NODES):
        if not stack:
            return False
        node = stack.pop()
        if type(node) is Map:
            stack += node.args
        elif type(node) is Leaf:
            kind = type(node.source)
            if kind is Through and node.source.op in ROUTINES:  # type: ignore[union-attr]
                return True
            if kind is Map or kind is Leaf:
                stack.append(node.source)  # type: ignore[arg-type]
    return False


def alike(root: Leaf) -> int:
    """How many elements of a sum of drawn numbers take about as long as the routine of ``root``."""
    source = root.source
    assert isinstance(source, Through)
    return int(flops_of(ROUTINES[source.op], source) / FLOPS)


def values(roots: Sequence[Expr], rung: Rung, on_gpu: bool) -> list[Any] | None:
    """The values of ``roots``, results of routines of arrays in host memory; None of others."""
    if on_gpu or watched() or rung.kind not in ("core", "cores"):
        return None
    if not all(map(is_routine, roots)):
        return None
    done: dict[int, RoutineResults] = {}
    needed: dict[int, Through] = {}
    reaches: Reaches = {}
    if not all(follow(root, needed, reaches) for root in roots) or not _fits(needed.values()):
        return None
    with blas_threads(rung.workers), _QUIET():
        last = _last_readers(needed)
        for name, source in needed.items():
            done[name] = _results(source, reaches[name], done)
            for read in last.get(name, ()):
                if not any(root.source is needed[read] for root in roots):  # type: ignore[union-attr]
                    del done[read]  # as the plan promises
    found = [_read(root, done) for root in roots]  # type: ignore[arg-type]
    own = [
        value.copy() if any(np.may_share_memory(value, one) for one in found[:k]) else value
        for k, value in enumerate(found)
    ]
    return [shaped(value, root.shape) for value, root in zip(own, roots, strict=True)]


class RoutineResults(NamedTuple):
    """What a routine has made, and at which of its elements the first begins."""

    start: int
    results: list[Any]


def _fits(needed: Collection[Through]) -> bool:
    """Whether there is room for what they need."""
    size = sum(bytes_of(ROUTINES[one.op], one) for one in needed)
    return size <= _LITTLE or size < machine.free_memory() // 2


def needs_no_look(routine: Routine, source: Through, most: int) -> bool:
    """Whether ``source``, of ``most`` elements at the most, needs so little that there is room."""
    return most <= _SMALL or bytes_of(routine, source) <= _LITTLE


_QUIET: Final = partial(np.errstate, all="ignore")


def _is_host(stored: Stored) -> bool:
    return not stored.on_device and isinstance(stored.buffer, np.ndarray)


Reaches: TypeAlias = dict[int, tuple[int, int]]


def follow(
    root: Expr,
    needed: dict[int, Through],
    reaches: Reaches,
    holds: Callable[[Stored], bool] = _is_host,
) -> bool:
    """Put the routines below ``root`` into ``needed``, first those that others read.

    ``reaches``: the first and the end of the elements that are read of each. Whether all arrays
    below lie in memory that ``holds`` them.
    """
    if not isinstance(root, Leaf):
        return False
    source = root.source
    if isinstance(source, Stored):
        return holds(source)
    if not isinstance(source, Through) or source.op not in ROUTINES:
        return False
    if id(source) not in needed:
        if not all(follow(arg, needed, reaches, holds) for arg in source.args):
            return False
        needed[id(source)] = source
    steps = [step * (n - 1) for step, n in zip(root.strides, root.shape, strict=True)]
    first, last = (root.offset + sum(one for one in steps if one * sign > 0) for sign in (-1, 1))
    old = reaches.get(id(source), (first, last + 1))
    reaches[id(source)] = min(first, old[0]), max(last + 1, old[1])
    return True


def _last_readers(needed: dict[int, Through]) -> dict[int, list[int]]:
    """By each routine that is the last to read others': those."""
    reader: dict[int, int] = {}
    for name, source in needed.items():
        reader |= {id(arg.source): name for arg in source.args if isinstance(arg, Leaf)}
    last: dict[int, list[int]] = {}
    for read, name in reader.items():
        if read in needed:
            last.setdefault(name, []).append(read)
    return last


def _results(
    source: Through, reach: tuple[int, int], done: dict[int, RoutineResults]
) -> RoutineResults:
    start, source = part_of(source, *reach) or (0, source)
    call = call_of(source)
    strided = np.lib.stride_tricks.as_strided
    parts = [
        seen(_lent(arg, done), view, strided)  # type: ignore[arg-type]
        for arg, view in zip(source.args, call.views, strict=True)
    ]
    with explained(source.op):
        return RoutineResults(start, results_of(np, ROUTINES[source.op], source, parts))


def _lent(leaf: Leaf, done: dict[int, RoutineResults]) -> Any:
    """What `_read` gives, where it lies in the result of a routine: to be read only."""
    made = done.get(id(leaf.source))
    if made is None or len(made.results) > 1 or not math.prod(leaf.shape):
        return _read(leaf, done)
    return window(made.results[0], replace(leaf, offset=leaf.offset - made.start))


def _read(leaf: Leaf, done: dict[int, RoutineResults]) -> Any:
    """What ``leaf`` reads, of an array in memory or of one that a routine has made."""
    source = leaf.source
    if isinstance(source, Stored):
        return window(host_array(source), leaf)
    begin, results = done[id(source)]
    start = begin
    straight = leaf.strides == c_strides(leaf.shape)
    for result in results:
        if straight and leaf.offset == start and math.prod(leaf.shape) == result.size:
            return result.reshape(leaf.shape)
        start += result.size
    if not math.prod(leaf.shape):
        return np.empty(leaf.shape, leaf.dtype)
    flat = np.concatenate([result.reshape(-1) for result in results])
    return np.array(window(flat, replace(leaf, offset=leaf.offset - begin)))


def visited(root: Expr) -> Expr:
    """The expression whose elements are computed; of complex numbers, that of a part."""
    root = parts(root)[0] if is_pair(root) else root
    if isinstance(root, Leaf) and isinstance(root.source, STAGED):
        return root.source.arg
    return root


def elements(root: Expr) -> int:
    """How many elements are visited, or take as long as a routine."""
    size = math.prod(visited(root).shape)
    return max(size, alike(root)) if is_routine(root) else size
