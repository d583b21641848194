"""``as_strided``: an array seen in steps of bytes, as if its elements lay in C order."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import ParameterError, ParameterTypeError
from ...expr import build
from ...expr.nodes import Expr, Leaf, Shape, whole
from ...expr.pairs.node import filled, is_pair, of_parts
from ..array import Array, array_of


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True
) -> Array:
    """``x`` in another ``shape``, whose axes go on by ``strides`` bytes; no step leaves ``x``.

    The bytes are those of `Array.strides`, whatever ``x`` is a view of: its elements one after
    the other. The other arguments change nothing.
    """
    if isinstance(x, np.ndarray):  # whose strides are what they are
        seen = np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)
        (low, high), (first, last) = _reach(seen.shape, seen.strides), _reach(x.shape, x.strides)
        if seen.size and not (x.size and first <= low and high <= last):
            raise _leaves(seen.shape, seen.strides, x.nbytes)
        return array_of(seen)
    array = array_of(x)
    wanted = array.shape if shape is None else build.check_shape(shape)
    steps = _steps(array.strides if strides is None else strides, array.itemsize)
    if len(steps) != len(wanted):
        raise ParameterError(f"as_strided: {len(steps)} strides for {len(wanted)} axes")
    if 0 in wanted:
        return Array(filled(0, array._expr.dtype, wanted), gpu=array._gpu)
    low, high = _reach(wanted, steps)
    if low < 0 or high >= array.size:
        raise _leaves(wanted, tuple(strides or array.strides), array.nbytes)
    return Array(_seen(array.reshape(-1)._expr, wanted, steps), gpu=array._gpu)


def _steps(strides: Any, itemsize: int) -> tuple[int, ...]:
    """``strides`` in elements."""
    try:
        several = [operator.index(one) for one in strides]
    except TypeError:
        raise ParameterTypeError(f"strides must be integers, not {strides!r}") from None
    if any(one % itemsize for one in several):
        raise ParameterError(
            f"as_strided: strides {tuple(several)} are not whole elements of {itemsize} bytes"
        )
    return tuple(one // itemsize for one in several)


def _reach(shape: Shape, steps: tuple[int, ...]) -> tuple[int, int]:
    """How far ``steps`` go back from the first element, and on."""
    ends = [(n - 1) * step for n, step in zip(shape, steps, strict=True)]
    return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends)


def _leaves(shape: Shape, strides: tuple[int, ...], nbytes: int) -> ParameterError:
    return ParameterError(
        f"as_strided: shape {shape} with strides {strides} leaves an array of {nbytes} bytes; "
        "sliding_window_view gives the windows that fit"
    )


def _seen(line: Expr, shape: Shape, steps: tuple[int, ...]) -> Expr:
    if is_pair(line):
        return of_parts(lambda part: _seen(part, shape, steps), line)
    leaf = line if isinstance(line, Leaf) else whole(line, line.shape)
    return Leaf(leaf.source, shape, leaf.offset, tuple(leaf.strides[0] * one for one in steps))
