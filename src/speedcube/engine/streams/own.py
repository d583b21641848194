"""Stages of what blocks are of, as stages of each block; where in the results those of one lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ...expr.nodes import Expr, Leaf, Map, Reduced
from ...plan.passes import Pass
from ...plan.stages import Part, Stage, leaf_at

Item: TypeAlias = tuple[slice, ...]
PIECE: Final = 1 << 14  # results that are added up at once: what lies between stays in the cache


@dataclass(eq=False)
class Own:
    """A stage, of which each block is one, too; its root is argument ``place`` of a block's root.

    Blocks that differ in nothing but their data have one root, and are one stage.
    """

    stage: Stage
    place: int | None = None
    extra: tuple[Leaf, ...] = ()
    _known: tuple[Expr, Stage] | None = None

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stage alone."""
        return (self.stage,)

    @property
    def axes(self) -> tuple[tuple[int, ...], ...]:
        """Of each stage, what it reduces."""
        return (self.stage.axes,)

    def part(self, part: Part) -> Part:
        """Its own part of ``part``."""
        return replace(part, root=self.root_in(part.root), extra=self.extra)

    def at(self, item: Item, root: Expr) -> Stage:
        """The stage for the elements of a block alone."""
        if self._known is None or self._known[0] is not root or self.extra:
            self._known = root, self._made(item, self.root_in(root))
        return self._known[1]

    def root_in(self, root: Expr) -> Expr:
        """The root of the stage in the ``root`` of a block, or of a part."""
        if self.place is None:
            return root
        assert isinstance(root, Map)
        return root.args[self.place]

    def _made(self, item: Item, root: Expr) -> Stage:
        source = self.stage.source
        if isinstance(source, Reduced):
            source = replace(source, arg=root, keepdims=False)
        part = Part(root, tuple(leaf_at(leaf, item) for leaf in self.extra), None, 0, 0)
        return Stage(root, source, self.stage.axes, (part,), "one")


@dataclass(frozen=True, eq=False)
class Joined:
    """Stages that one kernel makes, and the ``places`` of its roots in the root of a block."""

    one: Pass
    places: tuple[int, ...]

    @property
    def stages(self) -> tuple[Stage, ...]:
        """All of them."""
        return self.one.stages

    @property
    def axes(self) -> tuple[tuple[int, ...], ...]:
        """Of each stage, what it reduces."""
        return (self.one.visited.axes,)


def places(item: Item, axes: Sequence[int]) -> tuple[Any, ...]:
    """Where in the results of a reduction over ``axes`` those of ``item`` lie, one as an array."""
    return (*(one for k, one in enumerate(item) if k not in axes), ...)


def pieces(shape: tuple[int, ...]) -> Iterator[Item]:
    """Boxes of ``shape`` of about `PIECE` elements, or of single lines where that is more."""
    steps, room = list[int](), PIECE
    for n in reversed(shape):
        steps.append(max(1, min(n, room)))
        room //= max(1, n)
    cuts = (
        [slice(k, min(n, k + step)) for k in range(0, n, step)]
        for n, step in zip(shape, reversed(steps), strict=True)
    )
    return product(*cuts)
