"""Expressions as users wrote them: slices of named arrays, and no more of the tree than is read.

Views have been pushed to the sources as index maps (``Plan`` shows those). Here a map over an array
of known layout is turned back into the slice that makes it.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, Final

import numpy as np

from ..dataclass import dataclass
from ..ops import SEARCHES
from .nodes import Const, Expr, Leaf, Map, Position, Random, Shape, Source, Stored, c_strides
from .show import INFIX, source_text

_DEPTH: Final = 6  # of the tree
_NODES: Final = 24  # that are written out; the others are dots
_VALUES: Final = 8  # elements of an array that is shown with its values
_ELSEWHERE: Final = "[...]"  # a view that no slice makes


def written(root: Expr) -> str:
    """``root`` in a line: the expression, then the arrays that it reads."""
    writer = _Writer()
    text = writer.text(root, _DEPTH)
    if isinstance(root, Map) and root.op in INFIX and text.startswith("("):
        text = text[1:-1]
    return "; ".join([text, *writer.legend])


@dataclass
class _Writer:
    """Names given to arrays, and how many nodes have been written."""

    names: dict[int, str] = field(default_factory=dict)
    legend: list[str] = field(default_factory=list)
    nodes: int = 0

    def text(self, node: Expr, depth: int) -> str:
        if isinstance(node, Leaf) and isinstance(node.source, Const):
            return f"{node.source.value!r}"
        self.nodes += 1
        if not depth or self.nodes > _NODES:
            return "..."
        if isinstance(node, Leaf):
            return self.leaf(node, depth)
        if node.op == "gather":
            base = node.args[1]
            assert isinstance(base, Leaf)
            return f"{self.source(base.source, depth)}[{self.text(node.args[0], depth - 1)}]"
        if node.op in SEARCHES:
            line = self.source(node.args[1].source, depth)  # type: ignore[union-attr]
            return f"{node.op}({line}, {self.text(node.args[0], depth - 1)})"
        args = [self.text(arg, depth - 1) for arg in node.args]
        if node.op == "cast":
            return f"{args[0]}.astype({node.dtype})"
        if node.op == "bitcast":
            return f"{args[0]}.view({node.dtype})"
        if node.op in INFIX:
            return f"({args[0]} {INFIX[node.op]} {args[1]})"
        return f"{node.op}({', '.join(args)})"

    def leaf(self, leaf: Leaf, depth: int) -> str:
        source = leaf.source
        if isinstance(source, Position):
            return _range(leaf)
        return self.source(source, depth) + _view(leaf)

    def source(self, source: Source, depth: int) -> str:
        if not isinstance(source, Stored):
            return source_text(source, depth, self.text)
        if id(source) not in self.names:
            text = _values(source)
            if text is None:
                text = _letters(len(self.legend))
                self.legend.append(f"{text}: {source.dtype} {tuple(source.buffer.shape)}")
            self.names[id(source)] = text
        return self.names[id(source)]


def _letters(number: int) -> str:
    """A name for array ``number``: a, b ... z, a1, b1 ..."""
    turn, place = divmod(number, 26)
    return chr(ord("a") + place) + (str(turn) if turn else "")


def _values(source: Stored) -> str | None:
    """The values of a small array in host memory."""
    array = source.buffer
    if source.on_device or not isinstance(array, np.ndarray) or array.size > _VALUES:
        return None
    digits: Any = {"float_kind": "{:.4g}".format}
    text = np.array2string(array, separator=", ", max_line_width=10_000, formatter=digits)
    return " ".join(text.split())


def _range(leaf: Leaf) -> str:
    """Positions: a range along one axis, else how they are counted."""
    moving = [(n, s) for n, s in zip(leaf.shape, leaf.strides, strict=True) if s and n != 1]
    if len(moving) > 1:
        return "position" + ("" if leaf.strides == c_strides(leaf.shape) else _ELSEWHERE)
    extent, step = moving[0] if moving else (1, 1)
    stop = f"{leaf.offset + extent * step}"
    start = f"{leaf.offset}, " if leaf.offset or step != 1 else ""
    return f"range({start}{stop}{f', {step}' if step != 1 else ''})"


# Views -------------------------------------------------------------------------------------------


def _view(leaf: Leaf) -> str:
    """What is done to ``leaf``'s source before it is read."""
    base = _layout(leaf.source)
    if base is None:  # random numbers have positions and no shape
        plain = all(s or n == 1 for n, s in zip(leaf.shape, leaf.strides, strict=True))
        return "" if plain and leaf.strides == c_strides(leaf.shape) else _ELSEWHERE
    shape, strides = base
    flat = strides == c_strides(shape) and np.prod(shape) == np.prod(leaf.shape)
    if flat and not leaf.offset and leaf.strides == c_strides(leaf.shape):
        sizes = ", ".join(map(str, leaf.shape))
        return "" if leaf.shape == shape else f".reshape({sizes})"
    return _sliced(leaf, shape, strides)


def _layout(source: Source) -> tuple[Shape, tuple[int, ...]] | None:
    """The shape of a source, and positions per step of its axes."""
    if isinstance(source, Stored):
        array = source.buffer
        return tuple(array.shape), tuple(step // array.itemsize for step in array.strides)
    if isinstance(source, (Const, Position, Random)):
        return None
    return source.shape, c_strides(source.shape)


def _sliced(leaf: Leaf, shape: Shape, strides: tuple[int, ...]) -> str:
    """The slices that read what ``leaf`` reads, if there are such; axes of one element may go."""
    wide = [k for k, n in enumerate(shape) if n > 1]
    if leaf.shape == shape and 0 in shape:
        return ""
    if 0 in leaf.shape or any(strides[k] <= 0 for k in wide):
        return _ELSEWHERE
    starts, rest = [0] * len(shape), leaf.offset
    for k in sorted(wide, key=lambda k: -strides[k]):
        starts[k], rest = divmod(rest, strides[k])
    if rest:
        return _ELSEWHERE
    entries = [":" if n == 1 else str(starts[k]) for k, n in enumerate(shape)]
    order = []
    for extent, stride in zip(leaf.shape, leaf.strides, strict=True):
        if extent == 1 or not stride:  # a new axis, or one that repeats
            continue
        axis = _walked(extent, stride, starts, shape, strides, [k for k in wide if k not in order])
        if axis is None:
            return _ELSEWHERE
        entries[axis] = _slice(starts[axis], extent, stride // strides[axis], shape[axis])
        order.append(axis)
    while entries and entries[-1] == ":":
        entries.pop()
    text = f"[{', '.join(entries)}]" if entries else ""
    if order == sorted(order):
        return text
    return f"{text}.T" if order == sorted(order, reverse=True) else _ELSEWHERE


def _walked(
    extent: int,
    stride: int,
    starts: list[int],
    shape: Shape,
    strides: tuple[int, ...],
    axes: list[int],
) -> int | None:
    """The axis along which ``extent`` steps of ``stride`` positions go, the steepest there is."""
    for k in sorted(axes, key=lambda k: -strides[k]):
        step, rest = divmod(stride, strides[k])
        if not rest and 0 <= starts[k] + (extent - 1) * step < shape[k]:
            return k
    return None


def _slice(start: int, extent: int, step: int, length: int) -> str:
    """``extent`` steps from ``start`` along an axis of ``length``, as one writes them."""
    stop = start + extent * step
    if step > 0:
        first = str(start) if start else ""
        end = "" if stop >= length else str(stop - length if length - stop < stop else stop)
    else:
        first = "" if start == length - 1 else str(start)
        end = "" if stop < 0 else str(stop)
    return f"{first}:{end}" + (f":{step}" if step != 1 else "")
