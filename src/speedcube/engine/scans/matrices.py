"""The elements of a scan as matrices: lines side by side, a panel of them at a time.

A part's axes are put in the order outer, lines, inner: for each outer index its lines are the
columns of a matrix. Elements that lie so in memory are read there. Others are made by the part's
own kernel, a panel that stays in the cache at a time.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr import views
from ...expr.nodes import Const, Expr, Leaf, Map, Stored, c_strides, leaves
from ...expr.push import push
from ...expr.space import TILE
from ...plan.stages import Part, Stage
from ..boxes import CALL, span_boxes
from ..cpu import BLOCK, Caller, address_of, calling, host_array
from ..prepare import Prepared, prepare

Array: TypeAlias = NDArray[Any]

NARROW: Final = 2048  # columns that are taken together, whatever makes them
BROAD: Final = 8192  # and about so many where they lie in memory and only products are made
WIDE: Final = 1024  # about so many of more columns
# Elements from one row of a wide panel to the next: not so many that its columns meet in the cache.
_ROW: Final = WIDE + 8


@dataclass(frozen=True, eq=False)
class AxisOrder:
    """A part whose root has its axes in the order outer, lines, inner."""

    part: Part
    axes: tuple[int, ...]  # the original axis of each
    first: int  # of the lines' axes
    last: int  # the one after the lines' axes

    @property
    def outer(self) -> tuple[int, ...]:
        return self.part.root.shape[: self.first]

    @property
    def length(self) -> int:
        return math.prod(self.part.root.shape[self.first : self.last])

    @property
    def columns(self) -> int:
        return math.prod(self.part.root.shape[self.last :])


_orders: weakref.WeakKeyDictionary[Part, dict[Any, AxisOrder]] = weakref.WeakKeyDictionary()


def ordered(part: Part, lines: tuple[int, ...], inner: tuple[int, ...]) -> AxisOrder:
    """``part`` with its axes in order; remembered as long as the part lives."""
    known = _orders.setdefault(part, {})
    if (lines, inner) not in known:
        ndim = len(part.root.shape)
        outer = tuple(k for k in range(ndim) if k not in lines and k not in inner)
        axes = (*outer, *lines, *inner)
        root = (
            part.root
            if axes == tuple(range(ndim))
            else push(part.root, views.turned(part.root.shape, axes))
        )
        whole = Part(root, (), None, 0, math.prod(root.shape))
        known[lines, inner] = AxisOrder(whole, axes, len(outer), len(outer) + len(lines))
    return known[lines, inner]


def inner_axes(part: Part, lines: tuple[int, ...]) -> tuple[int, ...]:
    """The axes beside ``lines`` whose neighbours lie closer in memory: lanes go along them."""
    root = part.root
    read = [leaf for leaf in leaves(root) if not isinstance(leaf.source, Const)]
    kept = [k for k in range(len(root.shape)) if k not in lines and root.shape[k] > 1]
    for leaf in read:
        steps = [abs(leaf.strides[k]) for k in lines if leaf.strides[k] and root.shape[k] > 1]
        closer = tuple(k for k in kept if steps and 0 < abs(leaf.strides[k]) < min(steps))
        if closer:
            return closer
    return ()


@dataclass(frozen=True)
class Panel:
    """Elements in memory: where they begin; elements from one row, and matrix, to the next."""

    address: int
    row: int
    matrix: int


@dataclass(frozen=True, eq=False)
class Matrices:
    """Matrices of ``length`` rows and ``columns`` columns.

    ``panel(o, matrices, r, rows, c, columns)`` has the elements of some of them. It takes up to
    ``rows`` rows of ``width`` columns, several matrices only where ``together`` are whole.
    """

    length: int
    columns: int
    width: int
    rows: int
    together: int
    panel: Callable[[int, int, int, int, int, int], Panel]
    memory: Any = None  # kept, where panels lie in it
    dtype: str = ""  # of the elements, where it is not that of the scan


def _power(number: int) -> int:
    """The largest power of two that is not above ``number``."""
    return 1 << max(0, number.bit_length() - 1)


def rows_of_panel(width: int) -> int:
    """Rows of a panel: a power of two, so that none reaches from one piece to the next."""
    return min(TILE, max(8, _power(BLOCK // width)))


def _together(length: int, columns: int) -> int:
    """Whole matrices of a panel."""
    return max(1, BLOCK // (2 * length * columns)) if length <= TILE else 1


@contextmanager
def matrices(
    stage: Stage, order: AxisOrder, inputs: Mapping[int, Array], dtype: str, most: int | None
) -> Iterator[Matrices | None]:
    """The elements of ``order``; None where its columns cannot be taken side by side.

    ``most`` rows of a panel may be taken at once, where they need not be made.
    """
    found = _in_memory(order, dtype, most)
    if found is not None:
        yield found
        return
    wide = order.columns > NARROW
    prepared = prepare(stage, order.part, _spread(order) if wide else None)
    count = math.prod(order.outer) * order.length
    if wide and prepared.loops[0] != count:
        yield None
        return
    with calling(prepared, inputs) as call:
        yield (_wide if wide else _narrow)(order, prepared, call)


# Made by the part's kernel -----------------------------------------------------------------------


def _narrow(order: AxisOrder, prepared: Prepared, call: Caller) -> Matrices:
    """Whole rows, in C order."""
    length, columns, inner = order.length, order.columns, prepared.tiling.inner
    rows = rows_of_panel(columns)
    together = _together(length, columns)
    dtype = np.dtype(prepared.program.element.output_type("x"))
    room = max(rows, together * length) * columns
    memory = np.empty(room + 2 * inner + TILE, dtype)
    begin = address_of(memory) + inner * dtype.itemsize

    def panel(o: int, count: int, r: int, rows: int, c: int, width: int) -> Panel:
        first = (o * length + r) * columns
        last = first + ((count - 1) * length + rows) * columns
        for _, _, box in span_boxes(prepared.loops, inner, first, last, BLOCK):
            # What a box begins with lies in its place; the first one may begin before.
            call(box, begin - first * dtype.itemsize)
        return Panel(begin, columns, length * columns)

    return Matrices(length, columns, columns, rows, together, panel, memory)


def _spread(order: AxisOrder) -> tuple[int, ...]:
    """Where a panel's kernel puts its elements: rows lie apart, so that they stay loops."""
    shape = order.part.root.shape
    rows = (_ROW * s for s in c_strides(shape[: order.last]))
    return (*rows, *c_strides(shape[order.last :]))


def _wide(order: AxisOrder, prepared: Prepared, call: Caller) -> Matrices:
    """Some columns of some rows."""
    length, inner = order.length, prepared.tiling.inner
    width = WIDE // inner * inner
    rows = rows_of_panel(width)
    dtype = np.dtype(prepared.program.element.output_type("x"))
    memory = np.empty(rows * _ROW + TILE, dtype)
    begin = address_of(memory)

    def panel(o: int, count: int, r: int, rows: int, c: int, width: int) -> Panel:
        first = o * length + r
        place = first * _ROW + c
        box = (first, first + rows, 0, 1, c // inner, (c + width) // inner)
        call(box, begin - place * dtype.itemsize)
        return Panel(begin, _ROW, 0)

    return Matrices(length, order.columns, width, rows, 1, panel, memory)


# In memory ---------------------------------------------------------------------------------------


def even_step(shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """The one step that walks all of ``shape`` in C order; None if there is none."""
    steps = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    if any(a != b * n for (_, a), (n, b) in pairwise(steps)):
        return None
    return steps[-1][1] if steps else 1


STRAIGHT: Final = 1 << 17  # elements that lie in memory as they are wanted, in one call


def straight(root: Expr, dtype: str) -> Array | None:
    """The elements of ``root`` in C order, if they lie so in memory."""
    if not (isinstance(root, Leaf) and isinstance(root.source, Stored) and root.dtype == dtype):
        return None
    if root.source.on_device or even_step(root.shape, root.strides) != 1:
        return None
    array = host_array(root.source)
    address = address_of(array) + root.offset * array.itemsize
    if address % array.itemsize:
        return None
    return np.asarray(_Memory(address, (math.prod(root.shape),), dtype, array))


def side_by_side(root: Expr, dtype: str) -> Array | None:
    """The lines of ``root``, which has two axes, if they lie side by side in memory: to be read."""
    if not (isinstance(root, Leaf) and isinstance(root.source, Stored) and root.dtype == dtype):
        return None
    if root.source.on_device or len(root.shape) != 2 or root.strides[0] != 1 or not root.strides[1]:
        return None
    array = host_array(root.source)
    address = address_of(array) + root.offset * array.itemsize
    if address % array.itemsize:
        return None
    first = np.asarray(_Memory(address, (1,), dtype, array))
    strides = [stride * array.itemsize for stride in root.strides]
    return np.lib.stride_tricks.as_strided(first, root.shape, strides, writeable=False)


class _Memory:
    """``shape`` elements that ``owner`` keeps, for NumPy."""

    def __init__(self, address: int, shape: tuple[int, ...], dtype: str, owner: Any) -> None:
        self.owner = owner
        typestr = np.dtype(dtype).str
        data = address, True
        self.__array_interface__ = dict(version=3, typestr=typestr, shape=shape, data=data)


def _in_memory(order: AxisOrder, dtype: str, most: int | None) -> Matrices | None:
    """Elements that are read where they lie: whole matrices."""
    leaf = order.part.root
    if most is not None and isinstance(leaf, Map) and (leaf.op, dtype) == ("cast", "float64"):
        leaf, dtype = leaf.args[0], "float32"  # made wider as they are read
    if not (isinstance(leaf, Leaf) and isinstance(leaf.source, Stored) and leaf.dtype == dtype):
        return None
    if leaf.source.on_device:
        return None
    cuts = (0, order.first, order.last, len(leaf.shape))
    steps = [even_step(leaf.shape[a:b], leaf.strides[a:b]) for a, b in pairwise(cuts)]
    matrix, row, column = steps
    if matrix is None or row is None or column != 1:
        return None
    array = host_array(leaf.source)
    size = array.itemsize
    begin = address_of(array) + leaf.offset * size
    if begin % size:
        return None
    columns = order.columns

    def panel(o: int, count: int, r: int, rows: int, c: int, width: int) -> Panel:
        return Panel(begin + (o * matrix + r * row + c) * size, row, matrix)

    few = WIDE if most is None else BROAD
    width = columns if columns <= max(NARROW, few) else few
    rows = most or rows_of_panel(width)
    together = _together(order.length, columns) if columns == width else 1
    if most is not None and columns == width:
        together = max(1, CALL // (order.length * columns))
    return Matrices(order.length, columns, width, rows, together, panel, array, dtype)
