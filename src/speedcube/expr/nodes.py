"""The expression: two kinds of node over twelve kinds of source, and one more in plans.

    Expr   ::= Leaf(source, shape, offset, strides)     element i reads offset + strides . i
             | Map(op, args, shape, dtype)              element i is op of the arguments' elements i
                                                        ("complex" of two: see `pairs.node`)
    Source ::= Const(value, dtype)                      the same value at every position
             | Position()                               the position itself, int64
             | Random(distribution, key, parameters)    a pure function of (key, position)
             | Stored(buffer)                           an array in memory, flat
             | Deferred(collection)                     an array another library will hand over
             | Held(collection)                         one of ours that lies with a worker
             | Tiled(tiles)                             an array that is read a box at a time
             | Reduced(op, arg, axes, keepdims, dtype)  a reduction, materialised when it is read
             | Scanned(op, arg, lines, dtype)           running sums or products, the same
             | Through(op, arg, shape, dtype, options)  sorted, selected or counted, the same
             | Piecewise(shape, dtype, pieces)          another expression in each of several boxes
             | Expr                                     another expression's elements, in C order
             | StageResult(shape, dtype)                in a plan: what one of its stages gives

A view is a leaf. Of a source it changes the offset and strides; of a `Map` it is a leaf whose
source is that map, so that nothing is copied however often a map is read, and in however many
ways. The plan decides whether the map is made once, or again where it is read (`plan/cuts.py`).

Nodes are never changed. Those that are made most often are not frozen: that would take four times
as long to make.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import field
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final, Protocol, TypeAlias

from .. import dtypes
from ..dataclass import cached_property, dataclass
from ..errors import DTypeError, ShapeError
from .sources.read import Const as Const
from .sources.read import Deferred as Deferred
from .sources.read import Held as Held
from .sources.read import Position as Position
from .sources.read import Random as Random
from .sources.read import Shape as Shape
from .sources.read import Stored as Stored
from .sources.tiled import Tiled as Tiled
from .through.node import Through as Through


@dataclass(eq=False)
class Reduced:
    """A reduction of ``arg`` over ``axes``; its elements are in C order.

    A ``dot`` sums the products of the two arguments of ``arg``, a "multiply", before they are
    rounded.
    """

    op: str
    arg: Expr
    axes: tuple[int, ...]
    keepdims: bool
    dtype: str
    ddof: float = 0.0
    shape: Shape = field(init=False)  # asked for several times, of each that is made

    def __post_init__(self) -> None:
        shape, axes = self.arg.shape, self.axes
        if self.keepdims:
            self.shape = tuple([1 if k in axes else n for k, n in enumerate(shape)])
        elif len(axes) == len(shape):
            self.shape = ()
        else:
            self.shape = tuple([n for k, n in enumerate(shape) if k not in axes])

    @cached_property
    def count(self) -> int:
        """How many elements go into each result."""
        return math.prod(self.arg.shape[k] for k in self.axes)


@dataclass(eq=False)
class Scanned:
    """Running sums or products (``cumsum``, ``cumprod``) of ``arg``; its elements are in C order.

    ``lines`` axes of ``arg`` are one line, in C order; ``inner`` axes follow them. With ``initial``
    each line of results begins with the sum or product of no elements: 0 or 1. ``odd`` sums are
    float64 rounded to odd; rounded again, to float16, they come out as if rounded once. ``axes``
    are those of a line, and ``count`` are its elements.
    """

    op: str
    arg: Expr
    lines: int
    dtype: str
    initial: bool = False
    odd: bool = False
    inner: int = 0
    axes: tuple[int, ...] = field(init=False)
    count: int = field(init=False)
    shape: Shape = field(init=False)

    def __post_init__(self) -> None:
        shape = self.arg.shape
        end = len(shape) - self.inner
        first = end - self.lines
        self.axes, self.count = tuple(range(first, end)), math.prod(shape[first:end])
        self.shape = (*shape[:first], self.count + self.initial, *shape[end:])

    @property
    def axis(self) -> int:
        """The axis of the results along which they run."""
        return len(self.shape) - 1 - self.inner


@dataclass(eq=False)
class Piece:
    """``expr`` in the box of its own shape whose first element has the index ``at``."""

    at: Shape
    expr: Expr


class Boxes(Protocol):
    """Pieces that may overlap, of which the last one counts; called, it gives disjoint ones."""

    def given(self) -> tuple[Expr, Sequence[Piece]]:
        """What there is beside them, and the pieces, in order."""
        ...

    def __call__(self) -> tuple[Piece, ...]: ...


@dataclass(eq=False)
class Piecewise:
    """An array that is another expression in each of several boxes; its elements are in C order.

    The boxes of ``pieces`` are disjoint and cover ``shape``; ``boxes`` are these, or make them when
    they are asked for. ``call`` is what users wrote: the function's name, the arrays that it takes,
    and its other arguments as text, or where something was put.
    """

    shape: Shape
    dtype: str
    boxes: tuple[Piece, ...] | Boxes
    call: tuple[str, tuple[Expr, ...], str | Shape] = ("piecewise", (), "")

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Each box with what the array is there."""
        return self.boxes if isinstance(self.boxes, tuple) else self.boxes()


@dataclass(frozen=True, eq=False)
class StageResult:
    """What a stage of a plan leaves in memory for others; its elements are in C order."""

    shape: Shape
    dtype: str


# What is computed to memory by a stage of its own, where something else reads it.
Staged: TypeAlias = Reduced | Scanned | Through
STAGED: Final = (Reduced, Scanned, Through)


@dataclass(eq=False)
class Leaf:
    """``source`` seen through an affine map: element i reads position ``offset + strides . i``.

    Of an expression the positions are those of its elements in C order.
    """

    source: Source
    shape: Shape
    offset: int
    strides: tuple[int, ...]  # positions per step of each axis; 0 repeats

    @property
    def dtype(self) -> str:
        return self.source.dtype


@dataclass(eq=False)
class Map:
    """``op`` (a row of `ops.OPS` or `ops.SAMPLERS`) element by element, or a ``gather``.

    Arguments have this shape already. A gather's are an index, a `memory` leaf, and the first and
    the last index there is: element i is what the source has at the index's element i.
    """

    op: str
    args: tuple[Expr, ...]
    shape: Shape
    dtype: str


Expr: TypeAlias = Leaf | Map
Node: TypeAlias = Expr | Staged | Piecewise
# What kernels read; and what a plan makes a stage of its own, or a part of the kernel.
Read: TypeAlias = Const | Position | Random | Stored | Deferred | Held | Tiled | StageResult
Source: TypeAlias = Read | Staged | Piecewise | Expr


@lru_cache(maxsize=1024)
def c_strides(shape: Shape) -> tuple[int, ...]:
    """Positions per step of each axis of a C-ordered array."""
    return tuple(accumulate(reversed(shape[1:]), operator.mul, initial=1))[::-1] if shape else ()


def countable(shape: Shape) -> Shape:
    """``shape``, or `ShapeError` where its elements cannot be counted in 63 bits."""
    if math.prod(shape) >= 2**63:
        raise ShapeError(f"shape {shape} has 2**63 elements or more; positions are 63-bit numbers")
    return shape


def sizes_of(given: Any) -> tuple[Any, ...]:
    """``given``, one size or several, as a tuple; arrays, ours too, are asked for their values."""
    given = given.tolist() if hasattr(given, "tolist") else given
    listed = given if isinstance(given, (tuple, list)) else (given,)
    return tuple([one.tolist() if hasattr(one, "tolist") else one for one in listed])


def whole(source: Source, shape: Shape) -> Leaf:
    """``source`` with positions counted in C order over ``shape``."""
    if source.dtype in dtypes.COMPLEX:
        raise DTypeError(f"this takes real numbers, not {source.dtype}: give it .real and .imag")
    return Leaf(source, countable(shape), 0, c_strides(shape))


def memory(source: Source, shape: Shape) -> Leaf:
    """All of ``source``, for a gather of ``shape``: a leaf that stays where it is."""
    return Leaf(source, shape, 0, (0,) * len(shape))


def const(value: bool | int | float, dtype: str, shape: Shape = ()) -> Leaf:
    """``value`` everywhere."""
    return Leaf(Const(value, dtypes.check(dtype)), shape, 0, (0,) * len(shape))


def is_whole(leaf: Leaf) -> bool:
    """Whether ``leaf`` reads the positions 0, 1, 2 ... in order."""
    steps = c_strides(leaf.shape)
    return leaf.offset == 0 and (
        leaf.strides == steps
        or all(
            stride == straight or extent == 1
            for stride, straight, extent in zip(leaf.strides, steps, leaf.shape, strict=True)
        )
    )


def leaves(root: Expr) -> list[Leaf]:
    """The distinct leaves of ``root``, in the order a depth-first walk meets them."""
    return [node for node in walk(root) if isinstance(node, Leaf)]


def walk(root: Expr) -> list[Expr]:
    """Every distinct node below ``root``, arguments before their users."""
    if type(root) is Leaf:
        return [root]
    done: dict[int, Expr] = {}
    stack: list[Any] = [root]
    while stack:
        node = stack.pop()
        if node is None:  # the arguments of the next one are done
            node = stack.pop()
        elif id(node) in done:
            continue
        elif type(node) is Map:
            stack += (node, None, *node.args[::-1])
            continue
        done[id(node)] = node
    return list(done.values())
