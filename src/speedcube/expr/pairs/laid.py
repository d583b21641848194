"""Complex arrays whose parts are computed alike, of numbers that lie side by side: as reals.

A sum of two complex arrays in memory is a sum of twice as many reals: one kernel reads and writes
what lies side by side, where a pair's has to take it apart and to put it together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..nodes import Const, Expr, Leaf, Map, Position
from .node import interleaved, parts

MOST_NODES: Final = 24  # of a part; more are left as they are


def laid(root: Expr) -> Expr | None:
    """``root``, a pair, as reals with an axis more, along which its parts are; None: it is not."""
    found = interleaved(root)
    if found is not None:
        return found
    re, im = parts(root)
    if not isinstance(re, Map) or not isinstance(im, Map) or not re.shape:
        return None
    return _lines(re, im) if re.op == "gather" else _alike(re, im, [MOST_NODES], _in_a_row)


def _alike(re: Expr, im: Expr, left: list[int], leaf: Callable[[Leaf, Leaf], Any]) -> Expr | None:
    """Both parts in one, where they are the same operations of leaves that ``leaf`` has as one."""
    left[0] -= 1
    if left[0] < 0 or re.dtype != im.dtype:
        return None
    if isinstance(re, Leaf) or isinstance(im, Leaf):
        both = isinstance(re, Leaf) and isinstance(im, Leaf)
        return leaf(re, im) if both else None  # type: ignore[arg-type]
    if re.op != im.op or len(re.args) != len(im.args):
        return None
    args = []
    for one, other in zip(re.args, im.args, strict=True):
        arg = _alike(one, other, left, leaf)
        if arg is None:
            return None
        args.append(arg)
    return Map(re.op, tuple(args), (*re.shape, 2), re.dtype)


def _in_a_row(re: Leaf, im: Leaf) -> Leaf | None:
    """Elements of one array, those of ``im`` behind those of ``re``, or one number."""
    if isinstance(re.source, Const) and isinstance(im.source, Const):
        same = repr(re.source.value) == repr(im.source.value)  # -0.0 is not 0.0
        return _leaf(re, 0) if same else None
    beside = re.source is im.source and im.offset == re.offset + 1 and re.strides == im.strides
    return _leaf(re, 1) if beside and re.strides[-1:] == (2,) and re.offset % 2 == 0 else None


def _lines(re: Map, im: Map) -> Map | None:
    """Lines of an array at indices that do not vary along them: copied whole."""
    (at, memory, first, last), (other, own, *ends) = re.args, im.args
    if not _same(memory, own) or any(map(_is_not_behind, ends, (first, last))):
        return None
    place = _alike(at, other, [MOST_NODES], _of_a_line)
    if place is None:
        return None
    args = place, *(_leaf(one, 0) for one in (memory, first, im.args[3]))  # type: ignore[arg-type]
    return Map("gather", args, (*re.shape, 2), re.dtype)


def _is_not_behind(one: Expr, other: Expr) -> bool:
    """Whether ``one`` is not the number behind ``other``."""
    if not isinstance(one, Leaf) or not isinstance(other, Leaf):
        return True
    numbers = isinstance(one.source, Const) and isinstance(other.source, Const)
    return not numbers or one.source.value != other.source.value + 1  # type: ignore[union-attr]


def _same(a: Expr, b: Expr) -> bool:
    if not isinstance(a, Leaf) or not isinstance(b, Leaf):
        return False
    sources = a.source is b.source or (
        isinstance(a.source, Const) and isinstance(b.source, Const) and a.source == b.source
    )
    return sources and (a.shape, a.offset, a.strides) == (b.shape, b.offset, b.strides)


def _of_a_line(re: Leaf, im: Leaf) -> Leaf | None:
    """Places along a line, those of ``im`` one behind; or what is the same along all of it."""
    if isinstance(re.source, Position) and isinstance(im.source, Position):
        beside = im.offset == re.offset + 1 and re.strides == im.strides
        return _leaf(re, 1) if beside and re.strides[-1:] == (2,) else None
    return _leaf(re, 0) if _same(re, im) and not any(re.strides[-1:]) else None


def _leaf(re: Leaf, step: int) -> Leaf:
    return Leaf(re.source, (*re.shape, 2), re.offset, (*re.strides, step))
