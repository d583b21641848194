"""Indices, checked before anything is read, and the places where a mask is true."""

from __future__ import annotations

import math
import weakref
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...engine import compute as engine
from ...engine.known.drawn import RUNGS
from ...engine.known.kept import active
from ...engine.machine import free_memory
from ...engine.pieces.chosen import chosen, is_choosable
from ...engine.stepwise.on_host import rung_of
from ...engine.streams.made.cells import reads_files
from ...engine.streams.made.chosen import chosen_blocks, is_chosen_by_blocks
from ...engine.writing.settling import settled_here
from ...errors import AxisError, DTypeError, ParameterError
from ...expr import gather, reductions
from ...expr.analysis import analyse
from ...expr.bounds import Bounds
from ...expr.nodes import Expr, Leaf, Stored, whole
from ...expr.pairs.node import is_pair
from ...expr.push import push_shape
from ...interop.buffers import readable
from ..array import Array
from ..elementwise import where
from ..methods.evaluation import in_memory
from ..sources import asarray
from ..stored import few_in_memory, in_order, leaf_of

# Indices beyond which they are kept in as few bytes as hold them: half of the memory to read. And
# what goes with the result is less, so that more seldom all is given back to the system: whose
# pages, huge ones, then take up to 70 ms for a result of 32 MB.
_MANY: Final = 1 << 15
_ROOM: Final = 2  # of the free memory, one part at most for what is chosen at once
_UNSIGNED: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_POSITIVE: Final = {1: 1 << 7, 2: 1 << 15, 4: 1 << 31, 8: 1 << 63}  # what has no sign bit
_SHARE: Final = 16  # of the free memory, one part at most for indices that were lazy


def checked(index: Any, extent: int, axis: int) -> Array:
    """``index`` along an ``axis`` of ``extent``, counted from 0: int64.

    Raises `AxisError` for one that is out of bounds. What is not in memory, and may be out of
    bounds by all that is known of it, is computed once for this: its least and its greatest.
    """
    if not isinstance(index, Array):
        known = _in_memory(index)
        if known.dtype.kind not in "iu" and known.size:
            raise DTypeError(f"indices must be integers, not {known.dtype}")
        if not known.size:
            return asarray(known.astype(np.int64))
        low = _least_of(known, extent, axis)
        short = known.size > _MANY and extent <= 2**31 - 1
        # A copy: what was checked is what is read.
        counted: NDArray[Any] = known.astype(np.int32 if short else np.int64)
        if low < 0:
            counted += (counted < 0).astype(counted.dtype) * extent
        leaf, gpu = leaf_of(counted)
        places = Array(leaf, gpu=gpu)
        return places.astype("int64") if short else places
    if not dtypes.is_integer(index._expr.dtype):
        raise DTypeError(f"indices must be integers, not {index.dtype}")
    if not index.size:
        return index.astype("int64")
    index = _computed_once(index, extent)
    low, high = ends(index, -extent, extent)
    _check(low, high, extent, axis)
    places = index.astype("int64")
    return places if low >= 0 else where(places < 0, places + extent, places)


def _least_of(known: Any, extent: int, axis: int) -> int:
    """The least of some indices in memory, or 0 where none counts from the end; all are checked.

    As numbers without a sign, those that count from the end are beyond any extent.
    """
    if type(known) is np.ndarray and known.dtype.isnative:
        unsigned = known.view(_UNSIGNED[known.itemsize])
        if int(np.maximum.reduce(unsigned, axis=None)) < min(extent, _POSITIVE[known.itemsize]):
            return 0
    low = int(known.min())
    _check(low, int(known.max()), extent, axis)
    return low


def _in_memory(index: Any) -> Any:
    """``index`` as an array of NumPy's, or of CuPy's where it lies on a GPU: it need not leave."""
    on_gpu = hasattr(type(index), "__cuda_array_interface__")  # as a tensor's may, too
    if on_gpu:
        return readable(index)
    try:
        return np.asarray(index)
    except ValueError:
        raise ParameterError(f"{index!r} is no index: its lists differ in length") from None


def on_host(values: Any) -> Any:
    """``values`` as an array of NumPy's, which by itself takes nothing that lies on a GPU."""
    known = _in_memory(values)
    return known if isinstance(known, np.ndarray) else known.get()


def _computed_once(index: Array, extent: int) -> Array:
    """``index``, in memory where it is to be computed to be checked, if there is room for it."""
    source = index._expr.source if isinstance(index._expr, Leaf) else None
    if isinstance(source, Stored) or _are_known(analyse(index._expr), -extent, extent):
        return index
    return in_memory(index) if index.nbytes <= free_memory() // _SHARE else index


def _are_known(bounds: Bounds, least: int, extent: int) -> bool:
    return bounds.known and least <= bounds.low and bounds.high < extent


def ends(index: Array, least: int, extent: int) -> tuple[int, int]:
    """What ``index`` lies between: what is known of it, or, where that does not do, as computed.

    What is known does where all of it is from ``least`` up to ``extent``.
    """
    bounds = analyse(index._expr)
    if _are_known(bounds, least, extent):
        return int(bounds.low), int(bounds.high)
    return least_and_most(index)


def least_and_most(index: Array) -> tuple[int, int]:
    """The least and the greatest of integers, of which there are some, as they are now."""
    if (few := few_in_memory(index._expr)) is not None:
        return int(few.min()), int(few.max())
    ends: list[Expr] = [
        reductions.reduction(op, index._expr, None, False, index._expr.dtype)
        for op in ("min", "max")
    ]
    low, high = engine.compute_all(ends, None, None, index._gpu)
    return int(low), int(high)


def _check(low: int, high: int, extent: int, axis: int) -> None:
    for value in (low, high):
        if not -extent <= value < extent:
            raise AxisError(f"index {value} is out of bounds for axis {axis} with size {extent}")


class Mask:
    """A mask, and where it is true: counted when it is first needed, in one pass."""

    def __init__(self, array: Array) -> None:
        self.array = array
        self._bools: Any = None
        self._flat: Array | None = None
        self._count: int | None = None

    def bools(self, on: Any = None, scheduler: Any = None) -> Any:
        """Its values, computed once: an array of NumPy's, or of CuPy's."""
        if self._bools is None:
            mask = self.array
            few = few_in_memory(mask._expr)
            if few is not None:
                self._bools = few.copy()  # it may be written to
            else:
                to = engine.ResultMemory.OF_RUNG
                self._bools = engine.compute(mask._expr, on, scheduler, mask._gpu, to, mask._plans)
        return self._bools

    @property
    def flat(self) -> Array:
        """The positions, in C order, of the elements that are true: int64, in memory."""
        if self._flat is None:
            bools = self.bools()
            leaf, gpu = leaf_of(_flat_nonzero(bools))
            self._flat = Array(leaf, gpu=gpu)
            if not isinstance(bools, np.ndarray):
                self._bools = None  # nobody asks for it again
        return self._flat

    @property
    def count(self) -> int:
        """How many elements are true."""
        if self._flat is not None:
            return self._flat.size
        if self._count is None:
            some = self._bools
            self._count = int((self.array if some is None else some).sum())
        return self._count

    def chosen_here(self, values: Array, on: Any, scheduler: Any) -> Any:
        """What is chosen of ``values``, in new memory; None where it is not all in memory.

        And where it is no thread of this process that computes.
        """
        held = in_order(values._expr)
        if held is None or held.shape != self.array.shape:
            return None
        if self._flat is not None and self._bools is None:
            return None
        if active() is not None or not is_choosable(held):
            return None
        rung = rung_of((self.array._expr, values._expr), on, scheduler, self.array._gpu)
        if rung.kind not in RUNGS or held.nbytes > free_memory() // _ROOM:
            return None
        bools = self.bools(on, scheduler)
        return chosen(held, bools, rung.workers) if isinstance(bools, np.ndarray) else None

    def places(self) -> tuple[Array, ...]:
        """The indices along each axis of the elements that are true."""
        return unravelled(self.flat, self.array.shape)

    def _by_blocks(self, values: Array) -> Expr | None:
        """What is taken of a large file, block after block; None where it lies in memory."""
        gpu = values._gpu or self.array._gpu
        roots = [values._expr, self.array._expr]
        if gpu or any(map(is_pair, roots)) or not reads_files(roots):
            return None
        made = settled_here(roots)
        if made is None or not is_chosen_by_blocks(made[0], made[1]):
            return None
        source = chosen_blocks(made[0], made[1], self.count)
        return None if source is None else whole(source, source.shape)

    def taken(self, values: Array) -> Expr:
        """The elements of ``values`` where the mask is true, along one axis in front."""
        by_blocks = None if self._flat is not None else self._by_blocks(values)
        if by_blocks is not None:
            return by_blocks
        shape, root = self.array.shape, values._expr
        rest = values.shape[len(shape) :]
        lines = root if len(shape) == 1 else push_shape(root, (math.prod(shape), *rest))
        if lines is not None:
            return gather.take(lines, self.flat._expr, 0)
        indices = [index._expr for index in self.places()]
        return gather.take_several(root, indices, range(len(shape)), 0)


_MASKS: Final[weakref.WeakValueDictionary[int, Mask]] = weakref.WeakValueDictionary()


def mask_of(array: Array) -> Mask:
    """The `Mask` of ``array``: one for all who use the same array as long as one of them lives."""
    known = _MASKS.get(id(array._expr))
    if known is None or known.array._expr is not array._expr:
        known = Mask(Array(array._expr, gpu=array._gpu))
        _MASKS[id(array._expr)] = known
    return known


def _flat_nonzero(values: Any) -> Any:
    """The positions of what is true, by NumPy, or by CuPy of what a GPU holds."""
    if isinstance(values, np.ndarray) and values.ndim == 1:  # as often
        return values.nonzero()[0]
    if isinstance(values, (np.ndarray, np.generic)):
        return np.flatnonzero(values)
    import cupy

    return cupy.flatnonzero(values)


def unravelled(flat: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """The index along each axis of ``shape`` of the positions ``flat``."""
    indices: list[Array] = []
    for extent in reversed(shape[1:]):
        indices.append(flat % extent)
        flat = flat // extent
    return (flat, *reversed(indices)) if shape else ()
