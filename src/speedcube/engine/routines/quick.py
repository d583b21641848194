"""A routine of a few numbers in memory: the library is called with as little as can be around it.

What is large goes through `direct`, which shares what several results read, and looks for room.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from ...expr.nodes import Expr, Leaf, Map, Stored, Through, c_strides, is_whole
from ...expr.pairs.node import COMPLEX, interleaved, is_pair
from ...expr.routines.row import Routine, RoutineCall, call_of, complex_of, reals_of, seen
from ...expr.routines.table import ROUTINES, part_of
from ...late import watched
from ..foreign.held import client_of
from ..results import as_complex, shaped
from ..rungs import Rung, is_named, resolve
from .by_kernels import by_kernels
from .direct import elements, is_routine, needs_no_look
from .run import explanation, window
from .strictness import is_strict
from .threads import blas_threads

_FEW: Final = 1 << 16  # elements of each of several calls, one after the other
_DEEP: Final = 16  # of them
_ONE_THREAD: Final = 1 << 10  # up to which a library has no use for more threads
_THREADED: Final = ("", "BLAS", "LAPACK")
_HERE: Final = ("core", "cores")
_QUIET: Final = partial(np.errstate, all="ignore")
_STRIDED: Final = np.lib.stride_tricks.as_strided


class QuickCall(NamedTuple):
    """A call that is ready: what is called with which arrays, and for which results."""

    routine: Routine
    source: Through
    arrays: list[Any]
    call: RoutineCall
    is_tiny: bool


def ready(root: Leaf) -> QuickCall | None:
    """The call whose only result ``root`` is, of small arrays in host memory; None of others."""
    source = root.source
    assert isinstance(source, Through)
    if root.shape != source.shape or not is_whole(root):
        return None
    found = _call(source)
    return None if found is None or len(found.call.results) > 1 else found


def _call(source: Through) -> QuickCall | None:
    """The call that ``source`` is, of small arrays in host memory; None of others."""
    call = call_of(source)
    most = math.prod(source.shape)
    args = source.args
    for arg in args:
        if type(arg) is not Leaf or not is_in_memory(arg.source):
            return None
        most = max(most, math.prod(arg.shape))
    routine = ROUTINES[source.op]
    if not needs_no_look(routine, source, most):
        return None
    is_tiny = most <= _ONE_THREAD or routine.library not in _THREADED
    return QuickCall(routine, source, _arrays(args, call), call, is_tiny)


def is_in_memory(source: Any) -> bool:
    """Whether a library takes what lies there."""
    buffer = source.buffer if type(source) is Stored else None
    return type(buffer) is np.ndarray and buffer.flags.aligned


def called(root: Expr, on: Any, scheduler: Any, prefers_gpu: bool) -> Any:
    """The value of ``root``, a routine's, by a call alone; None of others and on other rungs."""
    leaf: Expr | None = root
    if type(root) is Map:
        leaf = interleaved(root) if root.op == COMPLEX else None
    if leaf is None or not is_routine(leaf) or is_strict.get() or watched():
        return None
    if (call := ready(leaf)) is None:
        several = _of_one_call((leaf,), on, scheduler, prefers_gpu)
        several = several or _of_chain(leaf, on, scheduler, prefers_gpu)
        return None if several is None else _in_dtype(root, several[0])
    rung = _rung((leaf,), call.source, on, scheduler, prefers_gpu)
    if rung.kind not in _HERE:
        return None
    made = run(call, rung.workers)
    if type(made) is np.ndarray and _is_as(root, made):  # as nearly always
        return made
    return _in_dtype(root, shaped(reals_of(np, made, call.source.dtype), leaf.shape))


def _is_as(root: Expr, made: Any) -> bool:
    """Whether ``made`` is what the user gets of ``root``: an array, as results lie."""
    same = made.shape == root.shape and made.dtype == root.dtype
    return bool(made.shape) and same and made.flags.c_contiguous


def _in_dtype(root: Expr, reals: Any) -> Any:
    """``reals``, or the complex numbers that they are."""
    return as_complex(reals) if type(root) is Map else reals


def all_called(
    roots: Sequence[Expr], on: Any, scheduler: Any, prefers_gpu: bool
) -> list[Any] | None:
    """The values of ``roots``, results of one routine, by a call alone; None of others."""
    reals = [interleaved(root) if is_pair(root) else root for root in roots]
    if None in reals or is_strict.get() or watched():
        return None
    made = _of_one_call(reals, on, scheduler, prefers_gpu)  # type: ignore[arg-type]
    if made is None:
        return None
    return [_in_dtype(root, one) for root, one in zip(roots, made, strict=True)]


def _of_one_call(
    roots: Sequence[Expr], on: Any, scheduler: Any, prefers_gpu: bool
) -> list[Any] | None:
    """The values of ``roots``, each another of several results of one routine."""
    leaves = [root for root in roots if is_routine(root)]
    if len(leaves) < len(roots) or any(one.source is not leaves[0].source for one in leaves):
        return None
    source = leaves[0].source
    assert isinstance(source, Through)
    places = [place for leaf in leaves if (place := _place(source, leaf)) is not None]
    if len({*places}) < len(roots):
        return None
    if len(roots) == 1:  # which may be made with less work
        start = leaves[0].offset
        part = part_of(source, start, start + math.prod(leaves[0].shape))
        source, places = (part[1], [0]) if part else (source, places)
    if (call := _call(source)) is None:
        return None
    rung = _rung(roots, source, on, scheduler, prefers_gpu)
    if rung.kind not in _HERE:
        return None
    made = _results(call, rung.workers)
    return [shaped(made[k], leaf.shape) for k, leaf in zip(places, leaves, strict=True)]


def _of_chain(leaf: Leaf, on: Any, scheduler: Any, prefers_gpu: bool) -> list[Any] | None:
    """The value of a routine that takes results of others, each of few elements; None of others."""
    source = leaf.source
    assert isinstance(source, Through)
    if leaf.shape != source.shape or not is_whole(leaf) or not _is_chain(source, _DEEP):
        return None
    rung = _rung((leaf,), source, on, scheduler, prefers_gpu)
    if rung.kind not in _HERE:
        return None
    call = _call(_of_arrays(source, rung.workers, {}))
    return None if call is None else [value(call, rung.workers)]


def _is_chain(source: Through, deep: int) -> bool:
    """Whether ``source`` is one array, made of few elements in memory by at most so many calls."""
    if len(call_of(source).results) > 1 or math.prod(source.shape) > _FEW or not deep:
        return False
    for arg in source.args:
        if type(arg) is not Leaf or math.prod(arg.shape) > _FEW:
            return False
        if is_routine(arg):
            if not _is_chain(arg.source, deep - 1):  # type: ignore[arg-type]
                return False
        elif not is_in_memory(arg.source):
            return False
    return True


def _of_arrays(source: Through, threads: int, done: dict[int, Stored]) -> Through:
    """``source`` with arrays in the places of the routines that it takes, each made once."""
    leaves = []
    for arg in source.args:
        assert type(arg) is Leaf
        inner = arg.source
        if type(inner) is Through:
            if id(inner) not in done:
                call = _call(_of_arrays(inner, threads, done))
                assert call is not None
                made = reals_of(np, run(call, threads), inner.dtype)
                done[id(inner)] = Stored(made.reshape(-1), inner.dtype)
            inner = done[id(inner)]
        leaves.append(Leaf(inner, arg.shape, arg.offset, arg.strides))
    return _taking(source, leaves)


def _taking(source: Through, leaves: Sequence[Leaf]) -> Through:
    several = Map("several", tuple(leaves), source.arg.shape, source.arg.dtype)
    taken = several if len(leaves) > 1 else leaves[0]
    return Through(source.op, taken, source.shape, source.dtype, source.options)


def call_of_arrays(source: Through, leaves: Sequence[Leaf]) -> QuickCall | None:
    """The call that ``source`` is of ``leaves``, arrays in host memory; None where it is none."""
    return _call(source if leaves is source.args else _taking(source, leaves))


def _place(source: Through, leaf: Leaf) -> int | None:
    """Which of the results of ``source`` is ``leaf``; None where it is another view."""
    start = 0
    for k, shape in enumerate(call_of(source).results):
        if leaf.offset == start and leaf.shape == shape and leaf.strides == c_strides(shape):
            return k
        start += math.prod(shape)
    return None


def _rung(
    roots: Sequence[Expr], source: Through, on: Any, scheduler: Any, prefers_gpu: bool
) -> Rung:
    if is_named(on, scheduler):
        return resolve(on, scheduler, 0, prefers_gpu)
    size = sum(map(elements, roots))
    return resolve(on, scheduler, size, prefers_gpu, source.arg.dtype, client_of(roots))


def value(found: QuickCall, threads: int) -> Any:
    """What the library makes of it, where that is one array."""
    source = found.source
    return shaped(reals_of(np, run(found, threads), source.dtype), source.shape)


def _results(found: QuickCall, threads: int) -> list[Any]:
    """What the library makes of it: each of its results, arrays of their own."""
    made = run(found, threads)
    several = made if isinstance(made, tuple) else (made,)
    results = [reals_of(np, one, found.source.dtype) for one in several]
    for k, one in enumerate(results):
        if one.base is not None and any(np.may_share_memory(one, two) for two in results[:k]):
            results[k] = one.copy()
    return results


def run(found: QuickCall, threads: int) -> Any:
    """Call the library, with so many ``threads``."""
    routine, source, arrays, call, is_tiny = found
    function = by_kernels(routine)
    try:
        with _QUIET():
            if is_tiny:
                return function(np, *arrays, *call.given)
            with blas_threads(threads):
                return function(np, *arrays, *call.given)
    except np.linalg.LinAlgError as err:
        raise explanation(source.op, err) from err


def _arrays(args: Sequence[Expr], call: RoutineCall) -> list[Any]:
    """What the library takes, where it lies; copied are complex numbers whose parts lie apart."""
    if True not in call.pairs:
        return [_seen(arg, call.views[k]) for k, arg in enumerate(args)]
    arrays: list[Any] = []
    rest = iter(zip(args, call.views, strict=True))
    for is_of_parts in call.pairs:
        arg, view = next(rest)
        arrays.append(_woven(arg, view, *next(rest)) if is_of_parts else _seen(arg, view))
    return arrays


def _seen(arg: Any, view: Any) -> Any:
    lying = window(arg.source.buffer, arg)
    return lying if view is None else seen(lying, view, _STRIDED)


def _woven(re: Any, seen_re: Any, im: Any, seen_im: Any) -> Any:
    """The complex numbers whose parts are ``re`` and ``im``."""
    if (whole := in_order(re, im)) is not None and seen_re is None and seen_im is None:
        return whole
    return complex_of(np, _seen(re, seen_re), _seen(im, seen_im))


def in_order(re: Any, im: Any) -> Any:
    """The complex numbers in C order whose parts are ``re`` and ``im``; None of others."""
    buffer = re.source.buffer
    if re.source is not im.source or re.offset or im.offset != 1 or re.strides != im.strides:
        return None
    if not buffer.flags.c_contiguous:
        return None
    straight = tuple([2 * step for step in c_strides(re.shape)])
    if re.strides != straight or buffer.size != 2 * math.prod(re.shape):
        return None
    numbers = buffer.reshape(-1).view("complex64" if buffer.itemsize == 4 else "complex128")
    return numbers.reshape(re.shape)
