"""Expressions in one line, with views as index maps at the sources where they act."""

from __future__ import annotations

from collections.abc import Callable

from ..ops import SEARCHES
from .nodes import (
    Const,
    Deferred,
    Expr,
    Leaf,
    Map,
    Piecewise,
    Position,
    Random,
    Reduced,
    Scanned,
    Source,
    StageResult,
    Stored,
    Through,
    Tiled,
    leaves,
)
from .push import in_place
from .reductions import factors

INFIX = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "bitwise_and": "&",
    "bitwise_or": "|",
    "bitwise_xor": "^",
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}


_PIECES = 8  # arrays of a concatenation that are shown


def show(root: Expr, depth: int = 8) -> str:
    """``root`` as text; deeper than ``depth`` operations it is cut with ``...``."""
    if isinstance(root, Leaf):
        return _leaf(root, depth)
    if depth == 0:
        return "..."
    if root.op == "gather":
        index, base = root.args[:2]
        assert isinstance(base, Leaf)
        return f"{source_text(base.source, depth)}[{show(index, depth - 1)}]"
    if root.op in SEARCHES:
        line = source_text(root.args[1].source, depth)  # type: ignore[union-attr]
        return f"{root.op}({line}, {show(root.args[0], depth - 1)})"
    args = [show(arg, depth - 1) for arg in root.args]
    if root.op == "cast":
        return f"{args[0]}.astype({root.dtype})"
    if root.op == "bitcast":
        return f"{args[0]}.view({root.dtype})"
    if root.op in INFIX:
        return f"({args[0]} {INFIX[root.op]} {args[1]})"
    return f"{root.op}({', '.join(args)})"


def _leaf(leaf: Leaf, depth: int) -> str:
    pushed = in_place(leaf)
    if pushed is not leaf:
        return show(pushed, depth)
    text = source_text(leaf.source, depth)
    return text if isinstance(leaf.source, (Const, Reduced)) else text + places(leaf)


def source_text(source: Source, depth: int = 8, show: Callable[[Expr, int], str] = show) -> str:
    """A source without the positions that are read; ``show`` writes what it is made of."""
    if isinstance(source, (Leaf, Map)):
        return show(source, depth - 1) if depth else "..."
    if isinstance(source, Const):
        return f"{source.value!r}"
    if isinstance(source, Reduced):
        axis = "" if len(source.axes) == len(source.arg.shape) else f"axis={source.axes}"
        if source.op == "dot":
            x, y = (show(arg, depth - 1) if depth else "..." for arg in factors(source.arg))
            return f"dot({x}, {y}, {axis})" if axis else f"dot({x}, {y})"
        inner = show(source.arg, depth - 1) if depth else "..."
        return f"{inner}.{source.op}({axis})"
    if isinstance(source, Scanned):
        inner = show(source.arg, depth - 1) if depth else "..."
        axis = "" if source.lines == len(source.arg.shape) else f"axis={source.axis}"
        return f"{inner}.{source.op}({axis})"
    if isinstance(source, Through):
        texts = [show(arg, depth - 1) for arg in source.args] if depth else ["..."]
        return f"{source.op}({', '.join(texts)})"
    if isinstance(source, Piecewise):
        name, args, options = source.call
        texts = [show(arg, depth - 1) for arg in args[:_PIECES]] if depth else ["..."]
        more = ["..."] if depth and len(args) > _PIECES else []
        others = options if isinstance(options, str) else f"at={options}"
        return f"{name}({', '.join([*texts, *more, others])})"
    if isinstance(source, Random):
        values = ", ".join(f"{p:g}" for p in source.parameters)
        return f"{source.distribution}({values})"
    if isinstance(source, Deferred):
        return source.name
    if isinstance(source, Tiled):
        return source.tiles.label
    names = {Position: "position", Stored: "stored", StageResult: "kept"}
    return names[type(source)]


def reads(root: Expr, most: int = 12) -> list[str]:
    """What each leaf of ``root`` that is no constant reads, and at which positions."""
    texts = [
        source_text(leaf.source, 2) + places(leaf)
        for leaf in leaves(root)
        if not isinstance(leaf.source, Const)
    ]
    more = [f"... and {len(texts) - most} more"] if len(texts) > most else []
    return [*texts[:most], *more]


def places(leaf: Leaf) -> str:
    """The positions that ``leaf`` reads: an offset, and a step for each axis; of a scalar none."""
    steps = ", ".join(map(str, leaf.strides))
    return f"[{leaf.offset} + ({steps})·i]" if leaf.shape else ""
