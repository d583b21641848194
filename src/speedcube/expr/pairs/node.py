"""An array of complex numbers: a pair of real expressions, its real and its imaginary part.

It is a `Map` of the operation "complex", and the only node of a complex dtype. It is a root and
never below another node: whatever is made of complex arrays is made of their parts, by the rules of
`arithmetic` and `functions`, and a view of a pair is a pair of views. So no kernel has a complex
type, and what is promised of real operations holds for both parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ... import dtypes
from ...errors import DTypeError
from ..nodes import Expr, Leaf, Map, Shape, const, whole

COMPLEX: Final = "complex"


def pair(re: Expr, im: Expr) -> Map:
    """The complex array with these parts, which have one shape and one dtype of floats."""
    assert re.shape == im.shape
    assert re.dtype == im.dtype
    return Map(COMPLEX, (re, im), re.shape, dtypes.OF_PARTS[re.dtype])


def is_pair(root: Any) -> bool:
    """Whether ``root`` is a complex array."""
    return type(root) is Map and root.op == COMPLEX


def parts(root: Expr) -> tuple[Expr, Expr]:
    """The real and the imaginary part of a complex array."""
    assert isinstance(root, Map)
    re, im = root.args
    return re, im


def interleaved(root: Expr) -> Leaf | None:
    """What a complex array is that lies as its pairs of reals: these, along a last axis."""
    re, im = parts(root)
    if not (isinstance(re, Leaf) and isinstance(im, Leaf) and re.source is im.source):
        return None
    beside = im.offset == re.offset + 1 and im.strides == re.strides and re.offset % 2 == 0
    if not beside or any(step % 2 for step in re.strides):
        return None
    return Leaf(re.source, (*re.shape, 2), re.offset, (*re.strides, 1))


def of_pairs_in(laid: Expr) -> Map:
    """The complex array whose parts lie along the last axis of ``laid``, two elements long."""
    leaf = laid if isinstance(laid, Leaf) else whole(laid, laid.shape)
    shape, strides = leaf.shape[:-1], leaf.strides[:-1]
    im = Leaf(leaf.source, shape, leaf.offset + leaf.strides[-1], strides)
    return pair(Leaf(leaf.source, shape, leaf.offset, strides), im)


def of_parts(function: Callable[[Expr], Expr], root: Expr) -> Map:
    """What ``function`` makes of each part of ``root``, as a complex array."""
    return pair(*map(function, parts(root)))


def of_all_parts(function: Callable[..., Expr], roots: list[Expr]) -> Map:
    """What ``function`` makes of the real parts, and of the imaginary parts, of complex arrays."""
    each = [parts(root) for root in roots]
    return pair(function([re for re, _ in each]), function([im for _, im in each]))


def filled(value: Any, dtype: str, shape: Shape = ()) -> Expr:
    """``value`` everywhere, of any dtype: `const` is of real ones."""
    if dtype not in dtypes.COMPLEX:
        return const(value, dtype, shape)
    number, part = complex(value), dtypes.PARTS[dtype]
    return pair(const(number.real, part, shape), const(number.imag, part, shape))


def check_real(what: str, *roots: Expr) -> None:
    """Refuse complex arrays, for ``what`` has no meaning for them, or not yet."""
    for root in roots:
        if root.dtype in dtypes.COMPLEX:
            raise DTypeError(
                f"{what} takes real numbers, not {root.dtype}: give it .real, .imag or abs(x)"
            )
