"""What two computations must have in common so that one kernel, with its loops, serves both.

A structure is an expression without what changes from one step of a program to the next: the data
and where in them a view begins, the keys of random sources, the floats among the constants. Where
every array lies in C order and is taken whole, it is without the lengths, too.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Final, TypeAlias

import numpy as np

from ...dataclass import dataclass
from ...expr.graph import is_short
from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Position,
    Random,
    Reduced,
    Stored,
    c_strides,
)
from ...expr.push import in_place
from ...kernel.lower.many import LONG_LINE
from ...kernel.lower.together import is_fold
from ...kernel.math.positions import SEGMENT
from ..known.outline import NoOutlineError, outline_of
from .lengths import PACKED, line_key

MOST_NODES: Final = 128  # of an expression; more pay for being planned
# Elements up to which a part is one call in the caller's thread: about a millisecond.
SMALL: Final = 1 << 20
_SQUARED: Final = ("var", "std", "dot")  # one result of these is finished early, by its kernel
Key: TypeAlias = Hashable


class NotSmallError(Exception):
    """What is left to the planner: it never leaves this folder."""


class MapViewError(NotSmallError):
    """A map is read through a view, which the leaves below it may take."""


@dataclass(eq=False, slots=True)
class Structure:
    """``key``, and in the order of the nodes what it leaves out.

    ``root`` is what is stored, or what ``source`` reduces, of ``size`` elements. ``line``: all
    arrays lie in C order, so that all axes are one loop, of any length. ``operations`` are those of
    an element. Some of ``data`` may be reductions, or ``numbers`` that operations give, of which
    arrays have to be made: ``reads`` are the elements of the widest there is then. ``on_device``:
    so many lie on a GPU.
    """

    key: Key
    root: Expr
    size: int
    source: Reduced | None
    line: bool
    data: list[Leaf]
    constants: list[Const]
    random: list[Random]
    operations: int
    reads: int = 0
    on_device: int = 0
    numbers: int = 0


def structure_of(root: Expr, on_gpu: bool = False, through: bool = True) -> Structure:
    """The structure of ``root``; raises `NotSmallError` where it is not one kernel.

    Only ``on_gpu`` may data lie on a GPU. Maps are read ``through`` views: what is large may be
    better made once.
    """
    source = _reduction(root)
    inner = root if source is None else source.arg
    try:
        return _structure(inner, source, on_gpu)
    except MapViewError:
        # What is read several times, and is much, may be cheaper to make first.
        much = source is not None and not on_gpu and math.prod(inner.shape) > SMALL
        if not through or much or not is_short(inner, MOST_NODES):
            raise
        return _structure(_in_place(inner), source, on_gpu)


# Outlines of expressions that are too long without views of maps; the oldest is forgotten. To find
# that out takes as long as to plan them.
_long: dict[Hashable, None] = {}
_MOST_LONG: Final = 256


def _in_place(root: Expr) -> Expr:
    """``root`` without views of maps; `NotSmallError` where that is too long."""
    try:
        found = outline_of([root], 1 << 63)
        key = (line_key(found) or (found.key,))[0]
    except NoOutlineError:
        raise NotSmallError from None
    if key in _long:
        raise NotSmallError
    placed = in_place(root, MOST_NODES)
    if not is_short(placed, MOST_NODES):
        _long[key] = None
        if len(_long) > _MOST_LONG:
            _long.pop(next(iter(_long)), None)
        raise NotSmallError
    return placed


def _structure(inner: Expr, source: Reduced | None, on_gpu: bool) -> Structure:
    shape = inner.shape
    steps, size = c_strides(shape), math.prod(shape)
    if not size:
        raise NotSmallError
    line = size > 1 and (source is None or len(source.axes) == len(shape))
    nodes: list[Key] = []
    strides: list[Key] = []  # of each leaf: left out where they follow from the shape
    numbers: dict[int, int] = {}
    data: list[Leaf] = []
    constants: list[Const] = []
    random: list[Random] = []
    operations = 0

    def visit(node: Expr) -> int:
        nonlocal line, operations
        place = id(node)
        if place in numbers:
            return numbers[place]
        if len(numbers) >= MOST_NODES:
            raise NotSmallError
        numbers[place] = -1  # it is entered
        entry: Key
        if isinstance(node, Map):
            operations += 1
            arguments = [visit(arg) for arg in node.args]  # noqa: F821 (deleted below)
            entry = (node.op, node.dtype, *arguments)
        else:
            from_ = node.source
            if isinstance(from_, Const):
                entry = _constant(from_, constants)
            else:
                if isinstance(from_, Stored):
                    if on_gpu or type(from_.buffer) is not np.ndarray:
                        _check_place(from_, on_gpu)
                    data.append(node)
                    if not on_gpu and size > 1 and not any(node.strides):  # one for all lengths
                        nodes.append((from_.dtype, "still"))
                        strides.append(node.strides)
                        numbers[place] = len(nodes) - 1
                        return len(nodes) - 1
                    entry = from_.dtype
                elif isinstance(from_, Random):
                    entry = (from_.distribution, from_.dtype, repr(from_.parameters), node.offset)
                    random.append(from_)
                elif isinstance(from_, Position):
                    entry = ("position", node.offset)
                    line = False  # its range follows from its length
                elif isinstance(from_, (Leaf, Map)):
                    raise MapViewError
                else:
                    raise NotSmallError
                strides.append(node.strides)
                line = line and node.strides == steps
        number = numbers[place] = len(nodes)
        nodes.append(entry)
        return number

    try:
        visit(inner)
    finally:
        del visit  # it refers to itself: the sources would live until the garbage is collected
    found = Structure((), inner, size, source, line, data, constants, random, operations)
    over: Key = None
    if source is not None:
        over = (source.op, source.dtype, source.ddof)
        if not on_gpu:  # the kernel that finishes one result has the length among its parameters
            found.line = line = line and not is_long(found)
    if line:
        place: Key = bool(random) and size > SEGMENT
    else:
        place = (shape, source and source.axes, *strides)
    found.key = (over, place, *nodes)
    return found


def _constant(constant: Const, constants: list[Const]) -> Key:
    """Its entry; ``constants`` take it where it may be another."""
    if constant.dtype in PACKED:
        constants.append(constant)
        return (constant.dtype,)
    return (constant.dtype, word(constant.value, constant.dtype))


def _check_place(stored: Stored, on_gpu: bool) -> None:
    """What lies on a GPU may look like one array; what has gaps moves there in a way."""
    if type(stored.buffer) is not np.ndarray:
        if not (on_gpu and stored.on_device):
            raise NotSmallError
    elif on_gpu and not stored.buffer.flags.c_contiguous:
        raise NotSmallError


def is_long(found: Structure) -> bool:
    """Whether a kernel that finishes its results is looked for first.

    For one result records take up to eight times as long: that none of a million is true takes
    45 us, and 380 with records. Those of sums have the constants in them.
    """
    source, size = found.source, found.size
    if source is None or found.random:
        return False
    of_all = len(source.axes) == len(found.root.shape)
    early = source.op in _SQUARED or is_fold(source) or not found.constants
    return size >= LONG_LINE if of_all and early else size > SMALL


def _reduction(root: Expr) -> Reduced | None:
    """The reduction that ``root`` is, read whole and in order."""
    if not isinstance(root, Leaf) or not isinstance(root.source, Reduced):
        return None
    source = root.source
    as_it_is = root.shape == source.shape and not root.offset
    if source.op == "prod" or not as_it_is or root.strides != c_strides(root.shape):
        raise NotSmallError
    return source


def word(value: Any, dtype: str) -> int:
    """The parameter word of a constant: its bits."""
    packed = PACKED.get(dtype)
    if packed is not None:
        try:
            return int.from_bytes(packed(value), "little")
        except OverflowError:
            pass  # beyond float32: NumPy gives an infinity
    with np.errstate(over="ignore"):
        raw = np.array(value, dtype).tobytes()
    return int.from_bytes(raw, "little")
