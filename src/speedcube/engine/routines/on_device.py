"""A routine of arrays that lie in a GPU's memory, called at once on that GPU.

As `quick` and `direct` do in host memory: CuPy is called with as little as can be around it, and
its kernels may still run when the result is left there.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from typing import Any, Final, NamedTuple

from ...expr.nodes import Expr, Leaf, Stored, Through, c_strides, is_whole
from ...expr.pairs.node import interleaved, is_pair
from ...expr.routines.row import (
    Routine,
    RoutineCall,
    bytes_of,
    call_of,
    complex_of,
    reals_of,
    results_of,
    seen,
)
from ...expr.routines.table import ROUTINES, part_of
from ...late import watched
from ..results import PLACES, ResultMemory, as_complex, shaped
from ..rungs import Rung, is_named, resolve
from .direct import Reaches, elements, follow, is_routine, needs_no_look
from .quick import in_order
from .run import device_errors
from .strictness import is_strict

_LITTLE: Final = 1 << 28  # bytes that are needed up to which nobody looks whether there is room
# Libraries whose calls cannot fail for what is in the arrays, and routines of the others. Whether a
# call failed is asked of the GPU, which waits for it.
_CANNOT_FAIL: Final = ("", "BLAS", "pocketfft")
_NEVER_FAIL: Final = ("qr", "qr_r")


class _Results(NamedTuple):
    """What a routine has made, and at which of its elements the first begins."""

    start: int
    arrays: list[Any]


def all_called(
    roots: Sequence[Expr], on: Any, scheduler: Any, prefers_gpu: bool, to: str | ResultMemory
) -> list[Any] | None:
    """The values of ``roots``, each a routine's of arrays on a GPU; None of others."""
    leaves = [interleaved(root) if is_pair(root) else root for root in roots]
    if to not in PLACES or not all(leaf is not None and is_routine(leaf) for leaf in leaves):
        return None
    if (device := _device_of(leaves[0])) is None or is_strict.get() or watched():
        return None
    stays = to != "numpy"
    rung = _rung(leaves, on, scheduler, prefers_gpu)
    if rung.kind != "gpu" or tuple(rung.devices) != (device,):
        return None
    if len(leaves) == 1 and (made := _alone(roots[0], leaves[0], device)) is not None:
        return [made if stays else shaped(made.get(), roots[0].shape)]
    needed: dict[int, Through] = {}
    reaches: Reaches = {}

    def holds(stored: Stored) -> bool:
        return _device(stored) == device

    if not all(follow(leaf, needed, reaches, holds) for leaf in leaves):  # type: ignore[arg-type]
        return None
    if not all(ROUTINES[one.op].on_gpu for one in needed.values()):
        return None
    return _values(roots, leaves, needed, reaches, device, stays)


def _values(
    roots: Sequence[Expr],
    leaves: Sequence[Any],
    needed: dict[int, Through],
    reaches: Reaches,
    device: int,
    stays: bool,
) -> list[Any] | None:
    import cupy

    done: dict[int, _Results] = {}
    with cupy.cuda.Device(device):
        if not _fits(needed.values()):
            return None
        for name, source in needed.items():
            done[name] = _results(source, reaches[name], done)
        found = [_read(leaf, done) for leaf in leaves]
        if stays:
            found = [
                one.copy() if any(cupy.may_share_memory(one, other) for other in found[:k]) else one
                for k, one in enumerate(found)
            ]
        else:
            found = [one.get() for one in found]
    return [_given(*three) for three in zip(found, roots, leaves, strict=True)]


def _given(made: Any, root: Expr, leaf: Any) -> Any:
    """What the user gets of ``root``, whose reals ``leaf`` is."""
    return shaped(made, root.shape) if leaf is root else as_complex(made)


def _alone(root: Expr, leaf: Any, device: int) -> Any:
    """``root``, the only result of a routine of few numbers, whose reals ``leaf`` is.

    None of others.
    """
    source = leaf.source
    assert isinstance(source, Through)
    routine, call = ROUTINES[source.op], call_of(source)
    if leaf.shape != source.shape or not is_whole(leaf) or len(call.results) > 1:
        return None
    most = math.prod(leaf.shape)
    for arg in source.args:
        stored = type(arg) is Leaf and type(arg.source) is Stored
        if not stored or _device(arg.source) != device:  # type: ignore[union-attr, arg-type]
            return None
        most = max(most, math.prod(arg.shape))
    if not routine.on_gpu or not needs_no_look(routine, source, most):
        return None
    import cupy

    if cupy.cuda.runtime.getDevice() != device:
        return None
    try:
        if _is_sure(routine):
            made = _made(cupy, routine, source, call)
        else:
            with _raising():
                made = _made(cupy, routine, source, call)
    except Exception:
        with device_errors(source.op):
            raise
    if made.dtype == root.dtype and made.flags.c_contiguous:  # as nearly always
        return made.reshape(root.shape)
    reals = reals_of(cupy, made, source.dtype).reshape(source.shape)
    return reals if leaf is root else as_complex(reals)


def _made(cupy: Any, routine: Routine, source: Through, call: RoutineCall) -> Any:
    """What CuPy makes of arrays where they lie."""
    arrays: list[Any] = []
    rest = iter(zip(source.args, call.views, strict=True))
    for is_of_two in call.pairs or (False,) * len(source.args):
        arg, view = next(rest)
        if not is_of_two:
            arrays.append(_seen(arg, view))
            continue
        im, seen_im = next(rest)
        whole = in_order(arg, im) if view is None and seen_im is None else None
        if whole is None:
            whole = complex_of(cupy, _seen(arg, view), _seen(im, seen_im))
        arrays.append(whole)
    return routine.run(cupy, *arrays, *call.given)


def _seen(arg: Any, view: Any) -> Any:
    import cupy

    lying = _window(arg.source.buffer, arg, arg.offset, arg.strides == c_strides(arg.shape))
    return lying if view is None else seen(lying, view, cupy.lib.stride_tricks.as_strided)


def _is_sure(routine: Routine) -> bool:
    return routine.library in _CANNOT_FAIL or routine.name in _NEVER_FAIL


def _raising() -> Any:
    """A block in which cuSOLVER's failures are errors."""
    import cupyx

    return cupyx.errstate(linalg="raise")


def _rung(leaves: Sequence[Any], on: Any, scheduler: Any, prefers_gpu: bool) -> Rung:
    """The rung, as `compute.rung_of` has it."""
    if is_named(on, scheduler):
        return resolve(on, scheduler, 0, prefers_gpu)
    sizes = [elements(leaf) for leaf in leaves]
    widest = leaves[sizes.index(max(sizes))].source.arg
    return resolve(on, scheduler, sum(sizes), prefers_gpu, widest.dtype)


def _device_of(leaf: Any) -> int | None:
    """The GPU that has the first array below ``leaf``; None of one in host memory."""
    while isinstance(leaf, Leaf):
        if isinstance(leaf.source, Stored):
            return _device(leaf.source)
        if not isinstance(leaf.source, Through) or leaf.source.op not in ROUTINES:
            return None
        leaf = leaf.source.args[0]
    return None


def _device(stored: Stored) -> int | None:
    """The GPU that has an array as its elements lie; None of others."""
    if not stored.on_device:
        return None
    buffer: Any = stored.buffer
    return int(buffer.device.id) if buffer.flags.c_contiguous else None


def _fits(needed: Collection[Through]) -> bool:
    """Whether there is room for what they need on the current device."""
    size = sum(bytes_of(ROUTINES[one.op], one) for one in needed)
    if size <= _LITTLE:
        return True
    import cupy

    pooled = int(cupy.get_default_memory_pool().free_bytes())
    return size < int(cupy.cuda.runtime.memGetInfo()[0]) + pooled


def _results(source: Through, reach: tuple[int, int], done: dict[int, _Results]) -> _Results:
    """What ``source`` makes, as far as that is read."""
    import cupy

    start, source = part_of(source, *reach) or (0, source)
    call, routine = call_of(source), ROUTINES[source.op]
    parts = [
        seen(_read(arg, done), view, cupy.lib.stride_tricks.as_strided)
        for arg, view in zip(source.args, call.views, strict=True)
    ]
    with device_errors(source.op), nullcontext() if _is_sure(routine) else _raising():
        return _Results(start, results_of(cupy, routine, source, parts))


def _read(leaf: Any, done: dict[int, _Results]) -> Any:
    """What ``leaf`` reads, of an array in memory or of one that a routine has made."""
    import cupy

    source, straight = leaf.source, leaf.strides == c_strides(leaf.shape)
    if isinstance(source, Stored):
        return _window(source.buffer, leaf, leaf.offset, straight)
    begin, arrays = done[id(source)]
    for array in arrays:
        if straight and leaf.offset == begin and math.prod(leaf.shape) == array.size:
            return array.reshape(leaf.shape)
        begin += array.size
    if not math.prod(leaf.shape):
        return cupy.empty(leaf.shape, leaf.dtype)
    first = done[id(source)].start
    flat = arrays[0] if len(arrays) == 1 else cupy.concatenate([one.reshape(-1) for one in arrays])
    return cupy.array(_window(flat, leaf, leaf.offset - first, straight), order="C")


def _window(base: Any, leaf: Leaf, offset: int, straight: bool) -> Any:
    """What ``leaf`` reads of ``base`` from ``offset`` on, where it lies: to be read only."""
    import cupy

    if straight and not offset and leaf.shape == base.shape:
        return base
    flat = base.reshape(-1)[offset:]
    if straight:
        return flat[: math.prod(leaf.shape)].reshape(leaf.shape)
    strides = tuple(step * base.itemsize for step in leaf.strides)
    return cupy.lib.stride_tricks.as_strided(flat, leaf.shape, strides)
