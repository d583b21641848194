"""Permutations that need no memory, and what follows from them: shuffles, choices.

Element k of a permutation of n things is a keyed bijection of k (math/samplers/permute.py), so a
shuffled array is the array read at computed positions: nothing is moved, whatever n is.
"""

from __future__ import annotations

import math
from collections.abc import MutableSequence, Sequence
from typing import Any, Final

import numpy as np

from ..api import functions as sc
from ..api.array import Array, asarray
from ..errors import AxisError, DTypeError, ParameterError, ParameterTypeError, ShapeError
from ..expr import build, gather
from ..expr.nodes import Const, Leaf, Map, Position, Shape, const, whole
from ..philox import philox4x32
from .continuous import Continuous
from .parameters import drawn_shape, has_axes, numbers, whole_number

LARGEST: Final = 2**60  # things in a permutation: an index is a pair of 31-bit numbers


class Permutations(Continuous):
    """Orders of things, and choices among them."""

    def permutation(self, x: Any, axis: int = 0, chunks: Any = None) -> Array:
        """``range(x)`` in a random order, or the array ``x`` with ``axis`` in one.

        A range may have 2**60 numbers: each is computed from its place alone, at once.
        `inverse_permutation` tells where each went. A key of 128 bits chooses the order: 34 things
        have about as many orders as there are keys, more things have more.
        """
        if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
            size = _size("x", int(x))
            return self._shown(self._order((size,), 0), chunks)
        array = _array_of("x", x)
        axis = build.check_axis(axis, array.ndim)
        index = self._order((array.shape[axis],), 0)
        return self._shown(_taken(array, index, axis), chunks)

    def permuted(self, x: Any, axis: Any = None, out: Any = None, chunks: Any = None) -> Array:
        """``x`` with the elements along ``axis`` in a random order, another one for each line.

        Without an axis all elements change places. ``out``, a NumPy array, also receives them.
        """
        array = _array_of("x", x)
        if axis is None:
            flat = array.reshape(-1)
            index = self._order(flat.shape, 0)
            found = _taken(flat, index, 0).reshape(array.shape)
        else:
            axis = build.check_axis(axis, array.ndim)
            index = self._order(array.shape, axis)
            expr = gather.take_along(array._expr, index._expr, axis)
            found = Array(expr, gpu=array._gpu or self._gpu)
        if out is None:
            return self._shown(found, chunks)
        if not isinstance(out, np.ndarray) or out.shape != array.shape:
            raise ParameterError(
                f"out must be a NumPy array of shape {array.shape}, not {out!r:.80}"
            )
        out[...] = found.compute()
        return self._shown(found, chunks)

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Put the things along ``axis`` of ``x`` in a random order, for whoever holds ``x``.

        A speedcube array is made to read shuffled from now on; what was computed from it before
        stays as it was. A NumPy array or a list is changed in place.
        """
        if isinstance(x, Array):
            x._rebind(self.permutation(x, axis))
        elif isinstance(x, np.ndarray) and x.ndim:
            order = self.permutation(x.shape[build.check_axis(axis, x.ndim)]).compute()
            x[...] = np.take(x, order, axis)
        elif isinstance(x, MutableSequence):
            if axis:
                raise AxisError(f"a list has axis 0 only, not {axis}")
            x[:] = [x[k] for k in self.permutation(len(x)).compute().tolist()]
        else:
            kind = "an array without axes" if isinstance(x, np.ndarray) else type(x).__name__
            raise DTypeError(f"shuffle changes arrays and lists, not {kind}")

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
        chunks: Any = None,
    ) -> Array:
        """Things from ``range(a)``, or along ``axis`` of the array ``a``, of probabilities ``p``.

        Without ``p`` each is as likely as any other; without ``replace`` none comes twice, and the
        first of a `permutation` are taken. ``p``, in memory, is turned into Walker's alias table
        (Vose 1991); without replacement it gives the least of exponentials over p (Efraimidis &
        Spirakis 2006), which are computed at once. They come in random order whatever ``shuffle``.
        """
        count, things = _things(a, axis)
        shape = drawn_shape(size)
        if p is not None:
            chances = _probabilities(p, count)
            index = self._weighted(chances, shape, replace)
        elif replace:
            if count == 0 and 0 not in shape:
                raise ParameterError("a must not be empty")
            index = self._below(max(count, 1), shape)
        else:
            wanted = math.prod(shape)
            if wanted > count:
                raise ParameterError(
                    f"cannot take a larger sample than population when replace is False: size "
                    f"{shape} has {wanted} elements, a has {count}"
                )
            index = self._order((count,), 0)[:wanted].reshape(shape)
        if things is None:
            return self._shown(index, chunks)
        return self._shown(_taken(things, index, build.check_axis(axis, things.ndim)), chunks)

    def _below(self, count: int, shape: Shape) -> Array:
        """Integers in [0, ``count``)."""
        raise NotImplementedError

    def _weighted(self, chances: Any, shape: Shape, replace: bool) -> Array:
        wanted = math.prod(shape)
        if not replace:
            return self._without_replacement(chances, wanted).reshape(shape)
        keep, alias = _alias_table(chances)
        (u, v) = self._sources(["uniform", "uniform"], shape)
        index = sc.minimum(sc.floor(u * len(chances)), len(chances) - 1).astype("int64")
        kept = v < _taken(asarray(keep), index, 0)
        return sc.where(kept, index, _taken(asarray(alias), index, 0))

    def _without_replacement(self, chances: Any, wanted: int) -> Array:
        possible = int(np.count_nonzero(chances))
        if wanted > possible:
            raise ParameterError(
                f"fewer non-zero entries in p than size: p has {possible}, size asks for {wanted}"
            )
        (waits,) = self._sources(["exponential"], (len(chances),))
        with np.errstate(divide="ignore"):
            order = np.argsort(waits.compute() / chances, kind="stable")
        return asarray(order[:wanted].astype(np.int64))

    def _order(self, shape: Shape, axis: int) -> Array:
        """A permutation of the places along ``axis``, another one for each line."""
        lines = tuple(1 if k == axis else n for k, n in enumerate(shape))
        n = _size(f"axis {axis}", shape[axis])
        steps = tuple(int(k == axis) for k in range(len(shape)))
        place = Array(Leaf(Position(), shape, 0, steps), gpu=self._gpu)
        return permuted_place(place, n, self._key(lines))

    def _key(self, lines: Shape) -> list[Array]:
        """A key for each line: two words."""
        return self._sources(["bits64", "bits64"], lines, "uint64")


def permuted_place(place: Array, n: int, key: Sequence[Array]) -> Array:
    """Where the permutation of ``n`` things that has this key puts each ``place``."""
    args = [place._expr, *_sizes(n), *(word._expr for word in key)]
    return Array(gather.sampled("permuted", args, place.shape), gpu=place._gpu)


def permutation_key(generator: Permutations) -> tuple[int, int]:
    """The words of the key that the generator's next permutation of a range would have.

    Each is the first half of its stream's block 0: a kernel for two words would take milliseconds.
    """
    blocks = (philox4x32((0, 0, 0, 0), key) for key in generator._keys(2))
    low, high = (first | second << 32 for first, second, *_ in blocks)
    return low, high


def _taken(array: Array, index: Array, axis: int) -> Array:
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


def inverse_permutation(order: Array) -> Array:
    """Where each number went: the array ``q`` with ``q[order] == arange(n)``.

    ``order`` is what ``Generator.permutation(n)`` gave, whole; the result is as lazy as it.
    """
    expr = order._expr if isinstance(order, Array) else None
    if not (isinstance(expr, Map) and expr.op == "permuted" and len(expr.shape) == 1):
        raise ParameterError("inverse_permutation takes what Generator.permutation(n) gave, whole")
    place, n = expr.args[0], expr.args[1]
    same = whole(Position(), expr.shape)
    assert isinstance(place, Leaf)
    assert isinstance(n, Leaf)
    assert isinstance(n.source, Const)
    if (place.offset, place.strides) != (0, same.strides) or n.source.value != expr.shape[0]:
        raise ParameterError("inverse_permutation takes a whole permutation, not a part of one")
    return Array(gather.sampled("permuted_back", expr.args, expr.shape), gpu=order._gpu)


def _array_of(name: str, x: Any) -> Array:
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


def _things(a: Any, axis: int) -> tuple[int, Array | None]:
    """How many things there are to choose from, and the array that holds them."""
    if has_axes(a):
        population = _array_of("a", a)
        return population.shape[build.check_axis(axis, population.ndim)], population
    count = whole_number("a", a)
    if not 0 <= count < 2**63:
        raise ParameterError(f"a must be an integer from 0 to 2**63 - 1 or an array, not {a!r}")
    return count, None


def _probabilities(p: Any, count: int) -> Any:
    chances = numbers("p", p)
    if chances.shape != (count,):
        raise ParameterTypeError(
            f"a and p must have the same size: a has {count} things, p the shape {chances.shape}"
        )
    bad = ~((chances >= 0) & (chances <= math.inf))
    if bad.any():
        k = int(bad.argmax())
        raise ParameterError(f"probabilities must be numbers >= 0: p[{k}] is {chances[k]}")
    total = math.fsum(chances.tolist())
    if abs(total - 1.0) > 1e-8:
        raise ParameterError(f"probabilities do not sum to 1: they sum to {total}")
    return chances / total


def _alias_table(chances: Any) -> tuple[Any, Any]:
    """Vose's table: cell k is kept with probability keep[k], else it is alias[k]."""
    n = len(chances)
    keep, alias = np.ones(n), np.arange(n)
    scaled = (chances * n).tolist()
    small = [k for k in range(n) if scaled[k] < 1.0]
    large = [k for k in range(n) if scaled[k] >= 1.0]
    while small and large:
        less, more = small.pop(), large[-1]
        keep[less], alias[less] = scaled[less], more
        scaled[more] = (scaled[more] + scaled[less]) - 1.0
        if scaled[more] < 1.0:
            small.append(large.pop())
    for left in small:  # rounding left no large one: those of no or little probability stay so
        if scaled[left] < 0.5:
            keep[left], alias[left] = scaled[left], int(chances.argmax())
    return keep, alias
