"""One row for each routine of a library, and a call of it: a node of the expression.

A routine takes whole arrays and gives one array or several. They are one `Through`: of several
results its elements are theirs, one array after the other, and each of them is a leaf that begins
where its own do. So they have one dtype; a complex array is one of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import dataclass
from ..nodes import STAGED, Expr, Leaf, Map, Piecewise, Shape, Stored, Through, c_strides, whole

Array: TypeAlias = NDArray[Any]


class View(NamedTuple):
    """How an argument is seen: element i is its element ``offset + strides . i`` in C order."""

    shape: Shape
    offset: int
    strides: tuple[int, ...]


class RoutineCall(NamedTuple):
    """The options of a `Through` that is a routine.

    ``views`` of its arguments (None: as they are); ``given``: what it takes besides; the shapes of
    its ``results``. ``pairs``: for each array that the routine takes, whether it is made of two
    arguments, its real and its imaginary parts.
    """

    views: tuple[View | None, ...]
    given: tuple[Any, ...]
    results: tuple[Shape, ...]
    pairs: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Fewer:
    """The routine that makes ``result`` alone of several; whether it takes what is given, too."""

    result: int
    routine: str
    given: bool = False


@dataclass(frozen=True)
class Routine:
    """A function of a library.

    ``run`` takes NumPy or CuPy, the arrays, and what is given besides. ``library``: whose bits it
    has; empty, where they are the same everywhere, and then ``how`` says why. ``copies``: bytes
    that it needs on the way, in sizes of its arguments, and ``scratch`` for each element of the
    result. ``on_gpu``: whether CuPy has it. ``fewer``: what makes one of its results with less
    work. ``flops`` of a call, of the shapes of what it takes and makes.
    """

    name: str
    library: str
    run: Callable[..., Any]
    copies: float = 1.0
    scratch: int = 0
    how: str = ""
    on_gpu: bool = True
    fewer: Fewer | None = None
    flops: Callable[[Sequence[Shape], Sequence[Shape]], float] | None = None

    @property
    def warning(self) -> str:
        """Why no law covers it; empty where one does."""
        return f"{self.library}, about n eps" if self.library else ""


def call_of(source: Through) -> RoutineCall:
    """The call that ``source`` is."""
    return RoutineCall(*source.options)


def called(
    routine: Routine,
    args: Sequence[Expr],
    results: Sequence[Shape],
    dtype: str,
    given: tuple[Any, ...] = (),
    pairs: tuple[bool, ...] = (),
) -> list[Leaf]:
    """The results of ``routine`` of ``args``, in shapes that the caller knows."""
    exprs: tuple[Expr, ...] = tuple(args)
    views: tuple[View | None, ...] = (None,) * len(exprs)
    for one in exprs:
        if type(one) is not Leaf or type(one.source) is not Stored:  # arrays are seen as they lie
            exprs, views = zip(*[_seen(arg) for arg in args], strict=True)
            break
    arg = exprs[0] if len(exprs) == 1 else Map("several", exprs, *_first(exprs))
    options = (views, given, tuple(results), pairs)  # a `RoutineCall`'s
    if len(results) == 1:
        return [whole(Through(routine.name, arg, results[0], dtype, options), results[0])]
    sizes = [math.prod(shape) for shape in results]
    made = Through(routine.name, arg, (sum(sizes),), dtype, options)
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    return [
        Leaf(made, shape, start, c_strides(shape))
        for shape, start in zip(results, starts, strict=True)
    ]


def narrowed(routine: Routine, source: Through, first: int, end: int) -> tuple[int, Through] | None:
    """What makes elements ``[first, end)`` of ``source`` with less work, and where it begins.

    None where nothing does.
    """
    call, fewer = call_of(source), routine.fewer
    if fewer is None or len(call.results) < 2:
        return None
    start = sum(math.prod(shape) for shape in call.results[: fewer.result])
    size = math.prod(call.results[fewer.result])
    if not size or first < start or end > start + size:
        return None
    given = call.given if fewer.given else ()
    options = tuple(call._replace(given=given, results=((size,),)))
    return start, replace(source, op=fewer.routine, shape=(size,), options=options)


def _first(exprs: Sequence[Expr]) -> tuple[Shape, str]:
    largest = exprs[0]
    for one in exprs[1:]:
        if math.prod(one.shape) > math.prod(largest.shape):
            largest = one
    return largest.shape, largest.dtype


_IN_MEMORY: Final = (Stored, *STAGED)


def _seen(expr: Expr) -> tuple[Expr, View | None]:
    """``expr`` as a view of what is made once, however it is turned."""
    if not isinstance(expr, Leaf) or isinstance(expr.source, _IN_MEMORY):
        return expr, None
    view = View(expr.shape, expr.offset, expr.strides)
    source = expr.source
    if isinstance(source, (Map, Leaf, Piecewise)):
        if math.prod(source.shape) > math.prod(expr.shape):
            return expr, None
        return (whole(source, source.shape) if isinstance(source, Piecewise) else source), view
    order = sorted(range(len(expr.shape)), key=lambda k: -expr.strides[k])
    if order == sorted(order) or min(expr.strides) <= 0:
        return expr, None
    shape = tuple(expr.shape[k] for k in order)
    straight = Leaf(source, shape, expr.offset, tuple(expr.strides[k] for k in order))
    steps = c_strides(shape)
    strides = tuple(steps[order.index(k)] for k in range(len(order)))
    return straight, View(expr.shape, 0, strides)


def seen(array: Any, view: View | None, strided: Callable[..., Any]) -> Any:
    """``array`` as ``view`` says; ``strided`` is NumPy's or CuPy's."""
    if view is None:
        return array
    flat = array.reshape(-1)
    apart = flat.strides[0]  # bytes from one to the next: of a window more than an element has
    return strided(flat[view.offset :], view.shape, tuple(step * apart for step in view.strides))


def complex_of(xp: Any, real: Any, imag: Any) -> Any:
    """The complex array of two real ones: where they lie, if they are one's parts."""
    if xp is np and (woven := _woven(real, imag)) is not None:
        return woven
    both = xp.empty(real.shape, "complex64" if real.dtype == "float32" else "complex128")
    both.real, both.imag = real, imag
    return both


def results_of(xp: Any, routine: Routine, source: Through, parts: Sequence[Any]) -> list[Any]:
    """What ``source`` makes of ``parts``, arrays in the shapes that its call sees: each result."""
    call = call_of(source)
    arrays, rest = [], list(parts)
    for pair in call.pairs or (False,) * len(rest):
        real = rest.pop(0)
        arrays.append(complex_of(xp, real, rest.pop(0)) if pair else real)
    results = routine.run(xp, *arrays, *call.given)
    if not isinstance(results, tuple):
        results = (results,)
    return [
        reals_of(xp, result, source.dtype).reshape(shape)
        for result, shape in zip(results, call.results, strict=True)
    ]


class _Woven:
    """Memory of complex numbers that ``owner`` keeps, for NumPy."""

    def __init__(self, real: Array, owner: Any) -> None:
        kind = real.dtype.str.replace("f4", "c8").replace("f8", "c16")
        interface = {"version": 3, "typestr": kind, "shape": real.shape, "strides": real.strides}
        self.__array_interface__ = interface | {"data": (real.ctypes.data, True)}
        self.owner = owner


def _woven(real: Array, imag: Array) -> Array | None:
    """The complex array whose parts these are; None where they lie apart."""
    if real.strides != imag.strides or not real.size or not real.ndim:
        return None
    if imag.ctypes.data - real.ctypes.data != real.itemsize or real.dtype != imag.dtype:
        return None
    if any(step % (2 * real.itemsize) for step in real.strides):
        return None
    return np.asarray(_Woven(real, (real, imag)))


def made(xp: Any, routine: Routine, source: Through, parts: Sequence[Any]) -> Any:
    """The same as the elements of ``source``: one result, or several one after the other."""
    results = results_of(xp, routine, source, parts)
    if len(results) == 1:
        return results[0]
    return xp.concatenate([result.reshape(-1) for result in results])


def reals_of(xp: Any, array: Any, dtype: Any) -> Any:
    """``array`` in ``dtype`` and C order; of a complex one pairs."""
    if xp is np and array.dtype == dtype and type(array) is np.ndarray and array.flags.c_contiguous:
        return array  # as nearly always
    array = xp.asarray(array)
    if array.dtype.kind == "c":
        if array.ndim and array.dtype.char == _PAIRS.get(dtype) and array.flags.c_contiguous:
            return array.view(dtype).reshape((*array.shape, 2))
        array = xp.ascontiguousarray(array)
        pairs = array.view(_PARTS[array.dtype.char])
        array = pairs.reshape((*array.shape, 2))
    return xp.ascontiguousarray(array.astype(dtype, copy=False))


_PARTS: Final = {"F": "float32", "D": "float64"}
_PAIRS: Final = {"float32": "F", "float64": "D"}


def bytes_of(routine: Routine, source: Through) -> int:
    """What a worker needs beside the result: the arguments, copies of them, and what is made."""
    taken = sum(math.prod(arg.shape) * dtypes.itemsize(arg.dtype) for arg in source.args)
    views = [math.prod(v.shape) for v in call_of(source).views if v is not None]
    taken = max(taken, sum(views) * dtypes.itemsize(source.dtype))
    several = len(call_of(source).results) > 1
    each = dtypes.itemsize(source.dtype) * several + routine.scratch
    return int(taken * (1 + routine.copies)) + math.prod(source.shape) * each + _LEAST


_LEAST: Final = 1 << 22  # of a library's own buffers


def flops_of(routine: Routine, source: Through) -> float:
    """About how many operations a call takes."""
    call = call_of(source)
    shapes = [
        arg.shape if view is None else view.shape
        for arg, view in zip(source.args, call.views, strict=True)
    ]
    if routine.flops is not None:
        return routine.flops(shapes, call.results)
    # Of a vector, as of a right side, each element once.
    return 4.0 * max(math.prod(shape) * (min(shape[-2:]) if shape[1:] else 1) for shape in shapes)
