"""What two computations must have in common so that one kernel, with its loops, serves both.

A structure is an expression without what changes from one step of a program to the next: the data
and where in them a view begins, the keys of random sources, the floats among the constants. Where
every array lies in C order and is taken whole, it is without the lengths, too.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np

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
from ...kernel.math.positions import SEGMENT
from ..known.outline import NoOutlineError, outline_of

MOST_NODES: Final = 128  # of an expression; more pay for being planned
# Of the constants that are arguments, how their bits are had.
PACKED: Final = {"float64": "<d", "float32": "<f"}
Key: TypeAlias = Hashable


class NotSmallError(Exception):
    """What is left to the planner: it never leaves this folder."""


class MapViewError(NotSmallError):
    """A map is read through a view, which the leaves below it may take."""


@dataclass(eq=False, slots=True)
class Structure:
    """``key``, and in the order of the nodes what it leaves out.

    ``root`` is what is stored, or what ``source`` reduces. ``line``: all arrays lie in C order, so
    that all axes are one loop, of any length. ``operations`` are those of an element.
    """

    key: Key
    root: Expr
    source: Reduced | None
    line: bool
    data: list[Leaf]
    constants: list[Const]
    random: list[Random]
    operations: int


def structure_of(root: Expr, on_gpu: bool = False) -> Structure:
    """The structure of ``root``; raises `NotSmallError` where it is not one kernel.

    Only ``on_gpu`` may data lie on a GPU.
    """
    source = _reduction(root)
    inner = root if source is None else source.arg
    try:
        return _structure(inner, source, on_gpu)
    except MapViewError:
        if not is_short(inner, MOST_NODES):
            raise
        return _structure(_in_place(inner), source, on_gpu)


# Outlines of expressions that are too long without views of maps; the oldest is forgotten. To find
# that out takes as long as to plan them.
_long: dict[Hashable, None] = {}
_MOST_LONG: Final = 256


def _in_place(root: Expr) -> Expr:
    """``root`` without views of maps; `NotSmallError` where that is too long."""
    try:
        key = outline_of([root], 1 << 63).key
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
    steps = c_strides(shape)
    size = math.prod(shape)
    if not size:
        raise NotSmallError
    line = size > 1 and (source is None or len(source.axes) == len(shape))
    nodes: list[Key] = []
    strides: list[Key] = []  # of each leaf: left out where they follow from the shape
    numbers: dict[int, int] = {}
    data: list[Leaf] = []
    constants: list[Const] = []
    random: list[Random] = []
    entered = operations = 0

    def visit(node: Expr) -> int:
        nonlocal entered, line, operations
        if id(node) in numbers:
            return numbers[id(node)]
        entered += 1
        if entered > MOST_NODES:
            raise NotSmallError
        entry: Key
        if isinstance(node, Map):
            operations += 1
            entry = (node.op, node.dtype, *[visit(arg) for arg in node.args])
        else:
            from_ = node.source
            if isinstance(from_, Const):
                if from_.dtype in PACKED:
                    entry = from_.dtype
                    constants.append(from_)
                else:
                    entry = (from_.dtype, word(from_.value, from_.dtype))
            else:
                if isinstance(from_, Stored):
                    # What lies on a GPU may look like one; what has gaps moves there in a way.
                    if type(from_.buffer) is not np.ndarray:
                        if not (on_gpu and from_.on_device):
                            raise NotSmallError
                    elif on_gpu and not from_.buffer.flags.c_contiguous:
                        raise NotSmallError
                    entry = (from_.dtype,)
                    data.append(node)
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
        number = numbers[id(node)] = len(nodes)
        nodes.append(entry)
        return number

    visit(inner)
    long = source is not None and len(source.axes) == len(shape) and size >= LONG_LINE
    # The kernel that finishes them has the length among its parameters.
    if source and long and source.op in ("var", "std", "dot") and not (random or on_gpu):
        raise NotSmallError
    over: Key = source and (source.op, source.dtype, source.ddof)
    if line:
        place: Key = bool(random) and size > SEGMENT
    else:
        place = (shape, source and source.axes, *strides)
    key = (over, place, *nodes)
    return Structure(key, inner, source, line, data, constants, random, operations)


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
            return int.from_bytes(struct.pack(packed, value), "little")
        except OverflowError:
            pass  # beyond float32: NumPy gives an infinity
    with np.errstate(over="ignore"):
        raw = np.array(value, dtype).tobytes()
    return int.from_bytes(raw, "little")
