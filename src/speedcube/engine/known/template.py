"""A program of its own, made like another's: its data, numbers and keys are put in for each run.

Sources are frozen for everyone else. These belong to one template, which one thread has at a time,
and what is made of them (parts, kernels' arguments) asks for their values before each run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr.analysis import constants_count
from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Position,
    Random,
    Source,
    Stored,
    Tiled,
)
from ...plan.plan import Plan
from ...plan.regions import kernels_of
from .outline import Outline

_NO_DATA: Final = np.empty(0)


@dataclass(eq=False)
class Template:
    """``roots`` with sources of their own, in the order of an outline's."""

    roots: tuple[Expr, ...]
    data: list[Stored]
    constants: list[Const]
    random: list[Random]

    def fill(self, found: Outline) -> None:
        """Take the data, numbers and keys of ``found``, whose key is this one's."""
        for mine, stored in zip(self.data, found.data, strict=True):
            _put(mine, "buffer", stored.buffer)
        for number, constant in zip(self.constants, found.constants, strict=True):
            _put(number, "value", constant.value)
        for drawn, source in zip(self.random, found.random, strict=True):
            _put(drawn, "key", source.key)

    def forget(self) -> None:
        """Let go of the data."""
        for mine in self.data:
            _put(mine, "buffer", _NO_DATA)


def _put(node: Const | Random | Stored, name: str, value: Any) -> None:
    object.__setattr__(node, name, value)


def template_of(found: Outline) -> Template:
    """The program of ``found`` over, with its data."""
    data = [_stored(one) for one in found.data]
    constants = [replace(one) for one in found.constants]
    random = [replace(one) for one in found.random]
    own: dict[type, list[Any]] = {Stored: data, Tiled: data, Const: constants, Random: random}
    done: dict[int, Any] = {}

    def source_of(source: Source) -> Source:
        kind = type(source)
        if kind in own:
            return own[kind][found.number_of(source)]  # type: ignore[no-any-return]
        return source if isinstance(source, Position) else done[id(source)]

    def again(node: Node) -> Node:
        if isinstance(node, Map):
            args = tuple([done[id(arg)] for arg in node.args])
            return Map(node.op, args, node.shape, node.dtype)
        if isinstance(node, Leaf):
            return Leaf(source_of(node.source), node.shape, node.offset, node.strides)
        if isinstance(node, Piecewise):
            pieces = [replace(piece, expr=done[id(piece.expr)]) for piece in node.pieces]
            return Piecewise(node.shape, node.dtype, tuple(pieces))  # not the arrays of its call
        return replace(node, arg=done[id(node.arg)])

    for node in found.nodes:
        done[id(node)] = again(node)
    roots = tuple(done[id(found.nodes[number])] for number in found.roots)
    return Template(roots, data, constants, random)


def _stored(source: Stored) -> Stored:
    mine = Stored(source.buffer, source.dtype)
    assert mine.on_device == source.on_device  # asked for now, and kept when there are no data
    return mine


def needs_its_constants(plan: Plan) -> bool:
    """Whether a kernel of ``plan`` was made for the numbers that it has now."""
    kernels = (one for stage in plan.stages for one, _ in kernels_of(stage))
    # What is only moved has no kernel.
    lowered = (one for one in kernels if one.source is not None or isinstance(one.root, Map))
    return any(constants_count(one.root) for one in lowered)
