"""What complex numbers need made of all of them: products along a line, parts turned round.

All have laws. Products are trees of neighbours, of pairs of float64: each of the four products and
both sums is rounded by itself, so the bits are those of the same trees made of expressions
(`pairs.products`), which take what is larger.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from ..nodes import Shape
from .row import Routine

_HOW: Final = "products of neighbours first, then of those, by one tree; each rounded in float64"


def _times(xp: Any, x: Any, y: Any, out: Any) -> None:
    """``x * y``, planes of real and of imaginary parts, none of it contracted, to ``out``."""
    (a, b), (c, d), (re, im) = x, y, out
    xp.subtract(a * c, b * d, out=re)
    xp.add(a * d, b * c, out=im)


def _planes(xp: Any, z: Any) -> Any:
    """The real and the imaginary parts of ``z``, each in a row."""
    made = xp.empty((2, *z.shape), "float64")
    made[0], made[1] = z.real, z.imag
    return made


def _woven(xp: Any, planes: Any) -> Any:
    """The parts side by side, with NumPy's NaN, whose sign processors choose."""
    made = xp.stack([planes[0], planes[1]], -1)
    nan = xp.isnan(made)
    if nan.any():
        made[nan] = xp.nan
    return made


def _pairs(xp: Any, lines: Any) -> Any:
    """The products of neighbours; an odd last one is left out."""
    even = lines.shape[-1] // 2 * 2
    made = xp.empty((*lines.shape[:-1], even // 2), "float64")
    _times(xp, lines[..., 0:even:2], lines[..., 1:even:2], made)
    return made


def _product(xp: Any, z: Any) -> Any:
    """The products of the lines along the last axis."""
    lines = _planes(xp, z)
    while (count := lines.shape[-1]) > 1:
        halves = _pairs(xp, lines)
        rest = lines[..., count // 2 * 2 :]
        lines = xp.concatenate([halves, rest], -1) if count % 2 else halves
    return _woven(xp, lines[..., 0])


def _running(xp: Any, lines: Any) -> Any:
    """The products so far: at odd places of the pairs so far, at even ones that times its own."""
    count = lines.shape[-1]
    if count < 2:
        return lines
    made = xp.empty(lines.shape, "float64")
    odd = _running(xp, _pairs(xp, lines))
    made[..., 1::2] = odd
    made[..., 0] = lines[..., 0]
    _times(xp, odd[..., : (count - 1) // 2], lines[..., 2::2], made[..., 2::2])
    return made


def _running_product(xp: Any, z: Any) -> Any:
    return _woven(xp, _running(xp, _planes(xp, z)))


def _as_pairs(xp: Any, z: Any) -> Any:
    return xp.ascontiguousarray(z).view(z.real.dtype).reshape((*z.shape, 2))


def _flops(shapes: Sequence[Shape], results: Sequence[Shape]) -> float:
    return 12.0 * math.prod(shapes[0])


ROWS: Final = (
    Routine("prod_of_pairs", "", _product, 6.0, 0, _HOW, flops=_flops),
    Routine("cumprod_of_pairs", "", _running_product, 8.0, 0, _HOW, flops=_flops),
    Routine("as_pairs", "", _as_pairs, 1.0, 0, "as they are"),
)
