"""An array as a box: its last three axes, in their proportions as far as one can see them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from ...dataclass import dataclass
from ...numbers import shape_text
from .svg import FONT, Point, picture, polygon, polyline, text, text_width

LONGEST: Final = 120.0  # units of the longest axis
SHORTEST: Final = 10.0  # and of the shortest: a thinner one could not be seen
_DEPTH: Final = (0.45, 0.3)  # a unit of depth goes so far to the right, and so far up
_CUTS: Final = 24  # chunks of an axis of which borders are drawn
_GAP: Final = 5.0
_EDGE: Final = 2.0

Chunks = Sequence[Sequence[int]]


def drawing(shape: tuple[int, ...], chunks: Chunks = ()) -> str:
    """The picture of an array of ``shape``, with the borders of ``chunks`` where they are few."""
    shown = shape[-3:]
    solid = _Solid(*_sides(shown), empty=0 in shape)
    few = [_cuts(sizes) for sizes in chunks[-3:]]
    borders = [*[()] * (3 - len(few)), *few]
    more = f"{shape_text(shape[:-3])} of these" if len(shape) > 3 else ""
    return _framed(solid, [f"{n:,}" for n in shown], more, borders, _title(shape))


def _title(shape: tuple[int, ...]) -> str:
    if not shape:
        return "one number"
    longest = max(shape[-3:])
    true = all(n * LONGEST >= longest * SHORTEST for n in shape[-3:])
    return shape_text(shape) + ("" if true else " (short sides are drawn longer)")


def _sides(shown: tuple[int, ...]) -> tuple[float, float, float]:
    """Units of depth, height and width; 0 for an axis that is not there."""
    longest = max((*shown, 1))
    sides = [max(SHORTEST, LONGEST * (n / longest)) for n in shown]
    missing = 3 - len(sides)
    height = SHORTEST if missing > 1 else 0.0  # a line, and a number, are as high as that
    return ([0.0, height, SHORTEST][:missing] + sides)[0:3]  # type: ignore[return-value]


def _cuts(sizes: Sequence[int]) -> tuple[float, ...]:
    """Where between 0 and 1 an axis is cut; nowhere where that were too many lines."""
    total = sum(sizes)
    if not total or len(sizes) > _CUTS:
        return ()
    return tuple(end / total for end in accumulate(sizes[:-1]))


@dataclass(frozen=True)
class _Solid:
    """A box, or a rectangle where it has no depth; (0, 0, 0) is the lower left of its front."""

    depth: float
    height: float
    width: float
    empty: bool

    def at(self, z: float, y: float, x: float) -> Point:
        """The place on the page of shares of depth, height (from above) and width."""
        right, up = _DEPTH
        across = x * self.width + z * self.depth * right
        return across, y * self.height + (1 - z) * self.depth * up

    @property
    def size(self) -> Point:
        """Width and height on the page."""
        right, up = _DEPTH
        return self.width + self.depth * right, self.height + self.depth * up

    def faces(self) -> list[list[tuple[float, float, float]]]:
        """The corners of the faces that one sees."""
        front = [(0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 1.0, 1.0), (0.0, 1.0, 0.0)]
        if not self.depth:
            return [front]
        top = [(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0)]
        side = [(0.0, 0.0, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 1.0), (0.0, 1.0, 1.0)]
        return [front, top, side]

    def borders(self, cuts: Sequence[Sequence[float]]) -> list[list[tuple[float, float, float]]]:
        """The lines on these faces where the axes are cut."""
        lines = [[(0.0, y, 0.0), (0.0, y, 1.0), (1.0, y, 1.0)] for y in cuts[1]]
        lines += [[(0.0, 1.0, x), (0.0, 0.0, x), (1.0, 0.0, x)] for x in cuts[2]]
        lines += [[(z, 0.0, 0.0), (z, 0.0, 1.0), (z, 1.0, 1.0)] for z in cuts[0]]
        return lines if self.depth else [line[:2] for line in lines]


def _framed(
    solid: _Solid,
    labels: list[str],
    more: str,
    cuts: Sequence[Sequence[float]],
    title: str,
) -> str:
    """The solid with room for its labels on every side."""
    depth, rows, columns = [*[""] * (3 - len(labels)), *labels]
    wide, high = solid.size
    above = _EDGE + (FONT + _GAP if more else 0.0)
    under = solid.width / 2
    left = max(text_width(rows) + _GAP, text_width(columns) / 2 - under, 0.0) + _EDGE
    ends = [
        wide,
        under + text_width(columns) / 2,
        solid.width + solid.depth * _DEPTH[0] / 2 + _GAP + text_width(depth),
        text_width(more) - left + _EDGE,
    ]

    def place(point: tuple[float, float, float]) -> Point:
        x, y = solid.at(*point)
        return x + left, y + above

    faces = [[place(one) for one in face] for face in solid.faces()]
    parts = [polygon(face, "empty" if solid.empty else "face") for face in faces]
    parts += [polyline([place(one) for one in line]) for line in solid.borders(cuts)]
    front = above + solid.depth * _DEPTH[1]
    if more:
        parts.append(text((_EDGE, FONT), more))
    if rows:
        parts.append(text((left - _GAP, front + solid.height / 2 + FONT / 3), rows, "end"))
    if columns:
        parts.append(text((left + under, above + high + _GAP + FONT * 0.8), columns, "middle"))
    if depth:
        x, y = place((0.5, 1.0, 1.0))
        parts.append(text((x + _GAP, y + FONT * 0.6), depth))
    height = above + high + (_GAP + FONT * 1.2 if labels else _EDGE)
    return picture(parts, (math.ceil(left + max(ends) + _EDGE), math.ceil(height)), title)
