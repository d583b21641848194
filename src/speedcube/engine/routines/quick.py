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
from ...expr.pairs.node import COMPLEX, interleaved
from ...expr.routines.row import Routine, RoutineCall, call_of, reals_of, seen
from ...expr.routines.table import ROUTINES
from ...late import watched
from ..foreign.held import client_of
from ..results import as_complex, shaped
from ..rungs import is_named, resolve
from .direct import elements, is_routine, needs_no_look
from .run import explanation, window
from .strictness import is_strict
from .threads import blas_threads

_ONE_THREAD: Final = 1 << 10  # up to which a library has no use for more threads
_THREADED: Final = ("", "BLAS", "LAPACK")
_QUIET: Final = partial(np.errstate, all="ignore")
_STRIDED: Final = np.lib.stride_tricks.as_strided


class QuickCall(NamedTuple):
    """A call that is ready: what is called with which arrays, and for which result."""

    routine: Routine
    source: Through
    arrays: list[Any]
    given: tuple[Any, ...]
    is_tiny: bool


def ready(root: Leaf) -> QuickCall | None:
    """The call whose only result ``root`` is, of small arrays in host memory; None of others."""
    source = root.source
    assert isinstance(source, Through)
    if root.shape != source.shape or not is_whole(root):
        return None
    call = call_of(source)
    if len(call.results) > 1:
        return None
    most = math.prod(source.shape)
    for arg in source.args:
        if type(arg) is not Leaf or type(arg.source) is not Stored:
            return None
        buffer = arg.source.buffer
        if type(buffer) is not np.ndarray or not buffer.flags.aligned:
            return None
        most = max(most, math.prod(arg.shape))
    routine = ROUTINES[source.op]
    if not needs_no_look(routine, source, most):
        return None
    arrays = _arrays(source.args, call)
    return (
        None
        if arrays is None
        else QuickCall(
            routine,
            source,
            arrays,
            call.given,
            most <= _ONE_THREAD or routine.library not in _THREADED,
        )
    )


def called(root: Expr, on: Any, scheduler: Any, prefers_gpu: bool) -> Any:
    """The value of ``root``, a routine's, by a call alone; None of others and on other rungs."""
    if type(root) is Map:
        reals = interleaved(root) if root.op == COMPLEX else None
        made = None if reals is None else called(reals, on, scheduler, prefers_gpu)
        return None if made is None else as_complex(made)
    if not is_routine(root) or is_strict.get() or watched() or (call := ready(root)) is None:
        return None
    if is_named(on, scheduler):
        rung = resolve(on, scheduler, 0, prefers_gpu)
    else:
        arg = call.source.arg
        rung = resolve(on, scheduler, elements(root), prefers_gpu, arg.dtype, client_of((root,)))
    return value(call, rung.workers) if rung.kind in ("core", "cores") else None


def value(found: QuickCall, threads: int) -> Any:
    """What the library makes of it."""
    routine, source, arrays, given, is_tiny = found
    try:
        with _QUIET():
            if is_tiny:
                made = routine.run(np, *arrays, *given)
            else:
                with blas_threads(threads):
                    made = routine.run(np, *arrays, *given)
    except np.linalg.LinAlgError as err:
        raise explanation(source.op, err) from err
    return shaped(reals_of(np, made, source.dtype), source.shape)


def _arrays(args: Sequence[Expr], call: RoutineCall) -> list[Any] | None:
    """What the library takes, where it lies; None of complex numbers whose parts lie apart."""
    if True not in call.pairs:
        return [_seen(arg, call.views[k]) for k, arg in enumerate(args)]
    arrays: list[Any] = []
    rest = iter(zip(args, call.views, strict=True))
    for is_pair in call.pairs:
        arg, view = next(rest)
        one = _seen(arg, view) if not is_pair else _woven(arg, view, *next(rest))
        if one is None:
            return None
        arrays.append(one)
    return arrays


def _seen(arg: Any, view: Any) -> Any:
    lying = window(arg.source.buffer, arg)
    return lying if view is None else seen(lying, view, _STRIDED)


def _woven(re: Any, seen_re: Any, im: Any, seen_im: Any) -> Any:
    """The complex numbers in C order whose parts are ``re`` and ``im``; None of others."""
    buffer = re.source.buffer
    if re.source is not im.source or re.offset or im.offset != 1 or re.strides != im.strides:
        return None
    if seen_re is not None or seen_im is not None or not buffer.flags.c_contiguous:
        return None
    straight = tuple([2 * step for step in c_strides(re.shape)])
    if re.strides != straight or buffer.size != 2 * math.prod(re.shape):
        return None
    numbers = buffer.reshape(-1).view("complex64" if buffer.itemsize == 4 else "complex128")
    return numbers.reshape(re.shape)
