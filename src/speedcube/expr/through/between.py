"""Places of quantiles among the elements of a line that are no NaN, however many those are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..nodes import Expr, Leaf, Through, whole
from .ordering import sorted_lines

Array: TypeAlias = NDArray[Any]

MEDIAN: Final = "median"  # beside the methods: the two in the middle, which may be one

# What NumPy calls a virtual index: where among n sorted elements the quantile q lies.
# Each takes n and q, numbers or arrays, and the functions floor, ceil, rint for them.


def _of(alpha: float, beta: float) -> Callable[[Any, Any, Any], Any]:
    return lambda n, q, _: n * q + (alpha + q * (1 - alpha - beta)) - 1


METHODS: Final[dict[str, Callable[[Any, Any, Any], Any]]] = {
    "inverted_cdf": lambda n, q, _: n * q - 1,
    "averaged_inverted_cdf": lambda n, q, _: n * q - 1,
    "closest_observation": lambda n, q, _: n * q - 1 - 0.5,
    "interpolated_inverted_cdf": _of(0, 1),
    "hazen": _of(0.5, 0.5),
    "weibull": _of(0, 0),
    "linear": lambda n, q, _: (n - 1) * q,
    "median_unbiased": _of(1 / 3.0, 1 / 3.0),
    "normal_unbiased": _of(3 / 8.0, 3 / 8.0),
    "lower": lambda n, q, xp: xp.floor((n - 1) * q),
    "higher": lambda n, q, xp: xp.ceil((n - 1) * q),
    "midpoint": lambda n, q, xp: 0.5 * (xp.floor((n - 1) * q) + xp.ceil((n - 1) * q)),
    "nearest": lambda n, q, xp: xp.rint((n - 1) * q),
}


def neighbours(method: str, n: Any, q: Any, xp: Any) -> tuple[Any, Any, Any]:
    """The places before and behind the quantile ``q`` of ``n`` elements, and how far it is between.

    Places are floats, within ``0 .. n - 1``. ``xp`` is NumPy, or `Lazily` for lazy ``n``.
    """
    virtual = METHODS[method](n, q, xp)
    if method in ("inverted_cdf", "closest_observation"):
        floor = xp.floor(virtual)
        stays = virtual - floor == 0
        if method == "closest_observation":
            stays = stays & (floor % 2 == 1)
        virtual = xp.where(stays, floor, floor + 1)
        virtual = xp.where(virtual < 0, 0 * virtual, virtual)
    above, below = virtual >= n - 1, virtual < 0
    floor = xp.floor(virtual)
    last = 0 * virtual + (n - 1)
    previous = xp.where(above, last, xp.where(below, 0 * virtual, floor))
    following = xp.where(above, last, xp.where(below, 0 * virtual, floor + 1))
    # NumPy counts the last element as place -1 there.
    gamma = virtual - xp.where(above, 0 * virtual - 1, previous)
    if method == "averaged_inverted_cdf":
        gamma = xp.where(gamma == 0, 0 * gamma + 0.5, 0 * gamma + 1)
    elif method == "midpoint":
        gamma = xp.where(virtual % 1 == 0, 0 * gamma, 0 * gamma + 0.5)
    if xp is np:
        gamma = gamma.astype(virtual.dtype)
    return previous, following, gamma


def of_numbers(arg: Expr, method: str, chances: tuple[float, ...]) -> Leaf:
    """For each line of ``arg`` how many of its elements are numbers, as float64.

    And for each of ``chances`` the elements before and behind that quantile of them: by one of
    `METHODS`, or `MEDIAN`. NaN where a line has no number.
    """
    shape = (*arg.shape[:-1], 1 + 2 * len(chances))
    return whole(Through("of_numbers", arg, shape, "float64", (method, *chances)), shape)


def places_among(count: Array, options: tuple[Any, ...]) -> Array:
    """Where the elements of `of_numbers` lie among ``count`` sorted ones: an axis of places last.

    Of no element the places are 0.
    """
    method, *chances = options
    n = np.asarray(count, np.float64)
    each: list[Array] = []
    for q in chances:
        if method == MEDIAN:
            each += [(n - 1) // 2, n // 2]
        else:
            each += neighbours(method, n, q, np)[:2]
    most = np.maximum(n - 1, 0)[..., np.newaxis]
    places: Array = np.clip(np.stack(each, axis=-1), 0, most).astype(np.int64)
    return places


def number_statistics(x: Array, options: tuple[Any, ...]) -> Array:
    """What `of_numbers` is, of lines of floats."""
    count = (~np.isnan(x)).sum(axis=-1)
    found = np.take_along_axis(sorted_lines(x), places_among(count, options), axis=-1)
    return np.concatenate([count[..., np.newaxis], found], axis=-1, dtype=np.float64)
