"""What stands between the brackets: basic entries, indices that are arrays, and masks."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ...dataclass import dataclass
from ...errors import AxisError, ParameterError
from ...expr.nodes import Shape
from ...shown import quoted
from ..array import Array, array_of

# An index: integers of ours, which may be lazy, or NumPy's.
Index: TypeAlias = Any


@dataclass(frozen=True)
class Key:
    """A key in two steps: a basic one, then index arrays along axes of what it gives.

    ``axes`` are these, one for each of ``indices``; the axes that the indices have together stand
    at ``place`` of the result.
    """

    basic: tuple[Any, ...]
    axes: tuple[int, ...]
    indices: tuple[Index, ...]
    place: int


def entries(item: Any, shape: Shape) -> tuple[Any, ...]:
    """``item`` for an array of ``shape``, one entry for each axis; masks stand for all of theirs.

    An ellipsis of no axes is left where it keeps indices apart.

    Raises `AxisError` for what is no index.
    """
    items = tuple(_entry(one) for one in (item if isinstance(item, tuple) else (item,)))
    used = sum(_width(one) for one in items)
    if used > len(shape):
        raise AxisError(f"too many indices: {used} for an array of {len(shape)} dimensions")
    dots = [k for k, one in enumerate(items) if one is Ellipsis]
    if len(dots) > 1:
        raise AxisError("an index can have only one ellipsis ('...')")
    fill = (slice(None),) * (len(shape) - used)
    at = dots[0] if dots else len(items)
    kept = fill or items[at : at + 1] * _is_between(items, at)
    return (*items[:at], *kept, *items[at + len(dots) :])


def _is_between(items: Sequence[Any], at: int) -> bool:
    """Whether an ellipsis of no axes lies between index arrays and integers.

    These are apart then, so that their axes come first.
    """
    sides = [one for one in items[max(at - 1, 0) : at + 2] if one is not Ellipsis]
    return (
        len(sides) == 2
        and not any(one is None or isinstance(one, slice) for one in sides)
        and any(isinstance(one, (Array, np.ndarray)) for one in items)
    )


def lone_mask(items: Sequence[Any]) -> Any:
    """The mask of a key that is nothing else, with all of the axes behind it; else None."""
    if not items or not is_mask(items[0]) or not items[0].ndim:
        return None
    whole = all(isinstance(one, slice) and one == slice(None) for one in items[1:])
    return items[0] if whole else None


def parsed(items: Sequence[Any], shape: Shape, places: Callable[[Any], Sequence[Index]]) -> Key:
    """The steps of a key of ``items``; ``places`` are the indices at which a mask is true."""
    basic: list[Any] = []
    axes: list[int] = []
    indices: list[Index] = []
    runs: list[int] = []  # where array indices and integers, which count as such, begin a run
    made = axis = 0  # axes of what the basic key gives, and of the array
    beside = False
    for one in items:
        indexing = not isinstance(one, slice) and one is not None and one is not Ellipsis
        if indexing and not beside:
            runs.append(made)
        beside = indexing
        if one is Ellipsis:
            continue
        if one is None or isinstance(one, (int, slice)):
            basic.append(one)
            made += not isinstance(one, int)
            axis += one is not None
            continue
        several = _of_mask(one, shape, axis, places) if is_mask(one) else [one]
        if is_mask(one) and not one.ndim:
            basic.append(None)
        else:
            basic.extend([slice(None)] * len(several))
            axis += len(several)
        axes.extend(range(made, made + len(several)))
        indices.extend(several)
        made += len(several)
    return Key(tuple(basic), tuple(axes), tuple(indices), runs[0] if len(runs) == 1 else 0)


def is_mask(one: Any) -> bool:
    return isinstance(one, (Array, np.ndarray)) and one.dtype == bool


def check_mask(mask: Any, shape: Shape, axis: int = 0) -> None:
    """Raise `AxisError` where ``mask`` has not the extents of its axes, from ``axis`` on."""
    for k, (have, want) in enumerate(zip(mask.shape, shape[axis:], strict=False)):
        if have != want:
            raise AxisError(
                f"the mask of shape {mask.shape} does not fit the array of shape {shape}: along "
                f"axis {axis + k} the mask has {have} elements, the array {want}"
            )


def _of_mask(
    mask: Any, shape: Shape, axis: int, places: Callable[[Any], Sequence[Index]]
) -> Sequence[Index]:
    if not mask.ndim:  # a new axis, of one element or none
        return [np.zeros(int(bool(mask)), np.int64)]
    check_mask(mask, shape, axis)
    return places(mask)


def _width(one: Any) -> int:
    """How many axes of the array ``one`` stands for."""
    if one is None or one is Ellipsis:
        return 0
    return int(one.ndim) if is_mask(one) else 1


def _entry(one: Any) -> Any:
    """``one`` as an int, a slice, None, an ellipsis, or an array of integers or bools."""
    if one is None or one is Ellipsis or type(one) in (int, slice):
        return one
    if isinstance(one, slice):
        return one
    if isinstance(one, (bool, np.bool)):
        return np.asarray(one)
    if isinstance(one, (int, np.integer)):
        return int(one)
    if isinstance(one, (list, tuple, range, np.ndarray)):
        array = _regular(one)
        known: Any = array if array.size or isinstance(one, np.ndarray) else array.astype(np.int64)
    elif isinstance(one, Array) or hasattr(one, "__dlpack__") or hasattr(one, "__array__"):
        known = array_of(one)
    elif hasattr(one, "__index__"):
        return operator.index(one)
    else:
        raise _no_index(one)
    if known.dtype.kind not in "biu":
        raise _no_index(known)
    return known


def _regular(one: Any) -> Any:
    """A list of indices as an array; `ParameterError`, a ValueError, for lists of other lengths."""
    try:
        return np.asarray(one)
    except ValueError as err:
        raise ParameterError(
            f"the index {quoted(one)} is ragged: its lists differ in length, and an index array "
            "has one shape; index with each of them, or take(x, indices, axis)"
        ) from err


def _no_index(one: Any) -> AxisError:
    what = repr(one)
    if isinstance(getattr(one, "shape", None), tuple) and getattr(one, "dtype", None) is not None:
        what = f"an array of {one.dtype}"
    return AxisError(
        f"{what} is not an index: indices are integers, slices, None, '...', and "
        "arrays or lists of integers or bools, as of take(x, indices, axis); "
        ".astype('int64') makes integers of floats"
    )
