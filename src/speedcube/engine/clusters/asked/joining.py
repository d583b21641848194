"""Tasks that put the parts of a result together."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....expr.nodes import Reduced
from ...results import is_exact_sum, merge, values

Array: TypeAlias = NDArray[Any]


def chain_parts(shape: tuple[int, ...], axis: int, *parts: Array) -> Array:
    """Task: parts of lines along ``axis``, one after the other."""
    line = parts[0] if len(parts) == 1 else np.concatenate(parts)
    lines = line.reshape(*shape[:axis], *shape[axis + 1 :], shape[axis])
    return np.ascontiguousarray(np.moveaxis(lines, -1, axis))


def join_parts(axis: int, *parts: Array) -> Array:
    """Task: parts of a result, one after the other along ``axis``."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=axis)


def laid_out(parts: list[Array], axis: int) -> Array:
    """``parts`` one after the other along ``axis``; each goes once it is copied."""
    if len(parts) == 1:
        return parts.pop()
    shape = [*parts[0].shape]
    shape[axis] = sum(part.shape[axis] for part in parts)
    out = np.empty(shape, parts[0].dtype)
    place = np.moveaxis(out, axis, 0)
    parts.reverse()
    start = 0
    while parts:
        part = parts.pop()
        place[start : start + part.shape[axis]] = np.moveaxis(part, axis, 0)
        start += part.shape[axis]
    return out


def merge_parts(source: Reduced, shape: tuple[int, ...], *records: Array) -> Array:
    """Task: the results of a reduction from the records of its parts."""
    whole = merge(source.op, is_exact_sum(source), records)
    return values(source, whole).reshape(shape)


def final_shape(shape: tuple[int, ...], array: Array) -> Any:
    """Task: the result in the expression's shape."""
    return array.reshape(shape)[()]
