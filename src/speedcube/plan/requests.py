"""What the plan is asked for: stages to be made, whose results they are, who reads what."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from ..dataclass import dataclass
from ..expr.build import cast
from ..expr.nodes import (
    STAGED,
    Expr,
    Leaf,
    Reduced,
    Staged,
    StageResult,
    is_whole,
)

ALONE: Final = "what a library takes of a file"  # why a stage is made with no others
_OF_NUMBERS: Final = ("mean", "var", "std")


@dataclass(frozen=True, eq=False)
class Request:
    """What one stage is to make: ``root`` itself, or what ``source`` makes of it."""

    root: Expr
    source: Staged | None
    result: StageResult
    why: str


@dataclass(frozen=True, eq=False)
class Cut:
    """Stages, each after those it reads, and what gives each of the roots."""

    requests: tuple[Request, ...]
    results: tuple[StageResult, ...]


def own_source(root: Expr) -> Staged | None:
    """What stages make that ``root`` is, when it is one read whole and in order."""
    if not (isinstance(root, Leaf) and isinstance(root.source, STAGED)):
        return None
    return root.source if root.shape == root.source.shape and is_whole(root) else None


def all_of(root: Expr) -> StageResult | None:
    """The stage whose result, in whatever shape, ``root`` is."""
    if not isinstance(root, Leaf) or not isinstance(root.source, StageResult):
        return None
    source = root.source if is_whole(root) else None
    return source if source and math.prod(root.shape) == math.prod(source.shape) else None


def of_numbers(root: Expr, source: Staged | None) -> tuple[Expr, Staged | None]:
    """Many means and spreads of bools as those of numbers, of which kernels finish many."""
    many = isinstance(source, Reduced) and len(source.axes) < len(root.shape)
    if source is None or not many or root.dtype != "bool" or source.op not in _OF_NUMBERS:
        return root, source
    root = cast(root, "uint8")
    return root, replace(source, arg=root)
