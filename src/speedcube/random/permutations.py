"""Permutations that need no memory, and shuffled arrays.

Element k of a permutation of n things is a keyed bijection of k (math/samplers/permute.py), so a
shuffled array is the array read at computed positions: nothing is moved, whatever n is.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from typing import Any, Final

import numpy as np

from ..api.array import Array
from ..api.sources import asarray
from ..errors import AxisError, DTypeError, ParameterError, ParameterTypeError, ShapeError
from ..expr import build, gather
from ..expr.nodes import Const, Leaf, Map, Position, Shape, const, whole
from ..philox import philox4x32
from .draws import Draws, shown, sources

LARGEST: Final = 2**60  # things in a permutation: an index is a pair of 31-bit numbers


def permutation(self: Draws, x: Any, axis: int = 0, chunks: Any = None) -> Array:
    """``range(x)`` in a random order, or the array ``x`` with ``axis`` in one.

    A range may have 2**60 numbers: each is computed from its place alone, at once.
    `inverse_permutation` tells where each went. A key of 128 bits chooses the order: 34 things
    have about as many orders as there are keys, more things have more.
    """
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        size = _size("x", int(x))
        return shown(order(self, (size,), 0), chunks)
    array = array_of("x", x)
    axis = build.check_axis(axis, array.ndim)
    index = order(self, (array.shape[axis],), 0)
    return shown(gathered(array, index, axis), chunks)


def permuted(self: Draws, x: Any, axis: Any = None, out: Any = None, chunks: Any = None) -> Array:
    """``x`` with the elements along ``axis`` in a random order, another one for each line.

    Without an axis all elements change places. ``out``, a NumPy array, also receives them.
    """
    array = array_of("x", x)
    if axis is None:
        flat = array.reshape(-1)
        values = gathered(flat, order(self, flat.shape, 0), 0).reshape(array.shape)
    else:
        axis = build.check_axis(axis, array.ndim)
        index = order(self, array.shape, axis)
        expr = gather.take_along(array._expr, index._expr, axis)
        values = Array(expr, gpu=array._gpu or self._gpu)
    if out is None:
        return shown(values, chunks)
    if not isinstance(out, np.ndarray) or out.shape != array.shape:
        raise ParameterError(f"out must be a NumPy array of shape {array.shape}, not {out!r:.80}")
    out[...] = values.compute()
    return shown(values, chunks)


def shuffle(self: Draws, x: Any, axis: int = 0) -> None:
    """Put the things along ``axis`` of ``x`` in a random order, for whoever holds ``x``.

    A speedcube array is made to read shuffled from now on; what was computed from it before
    stays as it was. A NumPy array or a list is changed in place.
    """
    if isinstance(x, Array):
        x._rebind(permutation(self, x, axis))
    elif isinstance(x, np.ndarray) and x.ndim:
        places = permutation(self, x.shape[build.check_axis(axis, x.ndim)]).compute()
        x[...] = np.take(x, places, axis)
    elif isinstance(x, MutableSequence):
        if axis:
            raise AxisError(f"a list has axis 0 only, not {axis}")
        x[:] = [x[k] for k in permutation(self, len(x)).compute().tolist()]
    else:
        kind = "an array without axes" if isinstance(x, np.ndarray) else type(x).__name__
        raise DTypeError(f"shuffle changes arrays and lists, not {kind}")


def order(draws: Draws, shape: Shape, axis: int) -> Array:
    """A permutation of the places along ``axis``, another one for each line."""
    lines = tuple(1 if k == axis else n for k, n in enumerate(shape))
    n = _size(f"axis {axis}", shape[axis])
    steps = tuple(int(k == axis) for k in range(len(shape)))
    place = Array(Leaf(Position(), shape, 0, steps), gpu=draws._gpu)
    key = sources(draws, ["bits64", "bits64"], lines, "uint64")  # for each line: two words
    return permuted_place(place, n, key)


def permuted_place(place: Array, n: int, key: Sequence[Array]) -> Array:
    """Where the permutation of ``n`` things that has this key puts each ``place``."""
    args = [place._expr, *_sizes(n), *(word._expr for word in key)]
    return Array(gather.sampled("permuted", args, place.shape), gpu=place._gpu)


def permutation_key(draws: Draws) -> tuple[int, int]:
    """The words of the key that the generator's next permutation of a range would have.

    Each is the first half of its stream's block 0: a kernel for two words would take milliseconds.
    """
    blocks = (philox4x32((0, 0, 0, 0), key) for key in draws.bit_generator.keys(2))
    low, high = (first | second << 32 for first, second, *_ in blocks)
    return low, high


def inverse_permutation(order: Array) -> Array:
    """Where each number went: the array ``q`` with ``q[order] == arange(n)``.

    The result is as lazy as the permutation.

    Parameters
    ----------
    order : Array
        What ``Generator.permutation(n)`` gave, whole.

    Returns
    -------
    Array
        int64, n numbers.

    Raises
    ------
    ParameterError
        For any other array; it is a ValueError.

    Examples
    --------
    >>> import speedcube as sc
    >>> places = sc.random.default_rng(7).permutation(5)
    >>> sc.random.inverse_permutation(places)[places].compute()
    array([0, 1, 2, 3, 4])
    """
    expr = order._expr if isinstance(order, Array) else None
    if not (isinstance(expr, Map) and expr.op == "permuted" and len(expr.shape) == 1):
        raise ParameterError(
            "inverse_permutation takes the whole result of Generator.permutation(n)"
        )
    place, n = expr.args[0], expr.args[1]
    same = whole(Position(), expr.shape)
    assert isinstance(place, Leaf)
    assert isinstance(n, Leaf)
    assert isinstance(n.source, Const)
    if (place.offset, place.strides) != (0, same.strides) or n.source.value != expr.shape[0]:
        raise ParameterError("inverse_permutation takes a whole permutation, not a part of one")
    return Array(gather.sampled("permuted_back", expr.args, expr.shape), gpu=order._gpu)


def array_of(name: str, x: Any) -> Array:
    """The array that reads ``x``."""
    try:
        array = asarray(x)
    except (DTypeError, ShapeError) as err:
        raise ParameterTypeError(
            f"{name} must be an array of numbers: {err}; draw places among n things and take what "
            "is there"
        ) from err
    if not array.shape:
        raise ParameterTypeError(f"{name} must be at least 1-dimensional, and is {x!r:.80}")
    return array


def gathered(array: Array, index: Array, axis: int) -> Array:
    """``array`` along ``axis`` at ``index``, which is in range."""
    return Array(gather.take(array._expr, index._expr, axis), gpu=array._gpu or index._gpu)


def _size(name: str, n: int) -> int:
    if not 0 <= n <= LARGEST:
        raise ParameterError(f"{name} must be between 0 and 2**60 for a permutation, not {n}")
    return n


def _sizes(n: int) -> list[Leaf]:
    """What the bijection takes of ``n``: itself, and a rectangle of even width that holds it."""
    across = max(2, math.isqrt(max(n - 1, 0)) + 1)
    across += across % 2
    return [const(value, "int64") for value in (n, max(1, -(-n // across)), across)]
