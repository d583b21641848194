"""Choices among things: with and without replacement, of equal or other probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..api import elementwise as sc
from ..api.array import Array
from ..api.sources import asarray
from ..errors import ParameterError, ParameterTypeError
from ..expr import build
from ..expr.nodes import Shape
from .draws import Draws, shown, sources
from .parameters import drawn_shape, has_axes, numbers, whole_number
from .permutations import array_of, gathered, order
from .ranges import integers


def choice(
    self: Draws,
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
        index = _weighted(self, _probabilities(p, count), shape, replace)
    elif replace:
        if count == 0 and 0 not in shape:
            raise ParameterError("a must not be empty")
        index = integers(self, max(count, 1), size=shape)
    else:
        wanted = math.prod(shape)
        if wanted > count:
            raise ParameterError(
                f"cannot take a larger sample than population when replace is False: size "
                f"{shape} has {wanted} elements, a has {count}"
            )
        index = order(self, (count,), 0)[:wanted].reshape(shape)
    if things is None:
        return shown(index, chunks)
    return shown(gathered(things, index, build.check_axis(axis, things.ndim)), chunks)


def _things(a: Any, axis: int) -> tuple[int, Array | None]:
    """How many things there are to choose from, and the array that holds them."""
    if has_axes(a):
        population = array_of("a", a)
        return population.shape[build.check_axis(axis, population.ndim)], population
    count = whole_number("a", a)
    if not 0 <= count < 2**63:
        raise ParameterError(f"a must be an integer from 0 to 2**63 - 1 or an array, not {a!r}")
    return count, None


def _probabilities(p: Any, count: int) -> NDArray[np.float64]:
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


def _weighted(draws: Draws, chances: NDArray[np.float64], shape: Shape, replace: bool) -> Array:
    if not replace:
        return _without_replacement(draws, chances, math.prod(shape)).reshape(shape)
    keep, alias = _alias_table(chances)
    u, v = sources(draws, ["uniform", "uniform"], shape)
    cell = sc.minimum(sc.floor(u * len(chances)), len(chances) - 1).astype("int64")
    stays = v < gathered(asarray(keep), cell, 0)
    return sc.where(stays, cell, gathered(asarray(alias), cell, 0))


def _without_replacement(draws: Draws, chances: NDArray[np.float64], wanted: int) -> Array:
    possible = int(np.count_nonzero(chances))
    if wanted > possible:
        raise ParameterError(
            f"fewer non-zero entries in p than size: p has {possible}, size asks for {wanted}"
        )
    (waits,) = sources(draws, ["exponential"], (len(chances),))
    with np.errstate(divide="ignore"):
        places = np.argsort(waits.compute() / chances, kind="stable")
    return asarray(places[:wanted].astype(np.int64))


def _alias_table(chances: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
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
