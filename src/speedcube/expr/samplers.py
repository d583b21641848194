"""What the samplers of `ops.SAMPLERS` mean, with NumPy and `math`, one attempt after another.

Written from the formulas, not from the kernels: functions are NumPy's, so that a last place may
differ, and with it, once in about 1e14 attempts, whether one is accepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..philox import MULTIPLIERS, WEYL, philox4x32

Array: TypeAlias = NDArray[Any]
# Of an attempt's words A and B, the number of the attempt, positions, keys, and parameters: values
# and whether each is accepted.
Attempt: TypeAlias = Callable[..., tuple[Array, Array]]

_MOST: Final = 1000  # attempts
_LOW52: Final = np.uint64(2**52 - 1)


def _words(position: Array, key: Array, attempt: int, draw: int = 0) -> tuple[Array, Array]:
    """A and B of the blocks at ``position``; ``key`` is the same everywhere."""
    at = position.astype(np.uint64)
    counter = at & np.uint64(2**32 - 1), at >> np.uint64(32), np.full_like(at, attempt)
    w = philox4x32((*counter, np.full_like(at, draw)), int(key.flat[0]))
    shift = np.uint64(32)
    return (w[1] << shift) | w[0], (w[3] << shift) | w[2]


def _open(word: Array) -> Array:
    """Uniform in ``(0, 1)``: the low 52 bits as an odd multiple of ``2**-53``."""
    return (word & _LOW52).astype(np.float64) * 2.0**-52 + 2.0**-53


def _negative(word: Array) -> Array:
    return np.asarray((word >> np.uint64(63)) != 0)


def _tried(attempt: Attempt, position: Array, key: Array, *parameters: Array) -> Array:
    """The first accepted value of each element."""
    shape = position.shape
    flat = [a.reshape(-1) for a in np.broadcast_arrays(position, key, *parameters)]
    left = np.arange(flat[0].size)
    results: Array | None = None
    for number in range(_MOST):
        place, keys, *rest = (a[left] for a in flat)
        if not left.size:
            break
        values, accepted = attempt(number, place, keys, *rest)
        if results is None:
            results = np.zeros(flat[0].size, values.dtype)
        results[left] = values
        left = left[~accepted]
    assert results is not None
    return results.reshape(shape)


def _gamma(
    number: int, place: Array, key: Array, d: Array, c: Array, q: Array
) -> tuple[Array, Array]:
    a, b = _words(place, key, number)
    radius = np.sqrt(-np.log(_open(a))) * np.where(_negative(a), -1.0, 1.0)
    angle = (_open(b) - 2.0**-53 - 0.5) * (math.pi / 2)
    z = radius * (np.cos(angle) - np.sin(angle))
    y = c * z
    eleven, mask = np.uint64(11), np.uint64(2**11 - 1)
    first = (((a >> np.uint64(52)) & mask) << eleven) | ((b >> np.uint64(52)) & mask)
    u = (first.astype(np.float64) + _open(_words(place, key, number, 1)[0])) * 2.0**-22
    inside = np.where(y > -1.0, y, 0.0)
    s = z * z / 2 + d * (3 * np.log1p(inside) - inside * (3 + inside * (3 + inside)))
    return d * (1 + y) ** 3, (np.log(u) < s) & (y > -1.0)


def _counted(u: Array, first: Array, ratio: Callable[[int], Array]) -> Array:
    """How many of 48 partial sums ``u`` exceeds."""
    u = u * (1 - 2.0**-46)
    count, term, total = np.zeros_like(u), first.copy(), first.copy()
    for k in range(1, 49):
        count += u > total
        term = term * ratio(k)
        total = total + term
    return count


def _log_factorials(values: Array) -> Array:
    return np.asarray(np.vectorize(math.lgamma, otypes=[np.float64])(values + 1.0))


def _binomial_weight(k: Array, n: Array, p: Array) -> Array:
    """The log of the probability of ``k``, without its term ``log n!``."""
    logs = k * np.log(p) + (n - k) * np.log1p(-p)
    return np.asarray(logs - _log_factorials(k) - _log_factorials(n - k))


def _log_binomial(k: Array, n: Array, mean: Array, other: Array) -> Array:
    h, rest = k + 0.5, n - k + 0.5
    weights = h * np.log(h / mean) + rest * np.log(rest / other)
    return np.asarray(-weights - _factorial_rest(h) - _factorial_rest(rest))


def _factorial_rest(h: Array) -> Array:
    """``log k! - (h log h - h + log(2 pi) / 2)``, where ``h = k + 1/2``."""
    return _log_factorials(h - 0.5) - (h * np.log(h) - h + math.log(2 * math.pi) / 2)


def _transformed(
    number: int, place: Array, key: Array, a: Array, width: Array, centre: Array, alpha: Array
) -> tuple[Array, Array]:
    """A whole number and the log that its probability must exceed (Hormann 1993)."""
    low, high = _words(place, key, number)
    u, v = _open(low) - 0.5, _open(high)
    us = 0.5 - np.abs(u)
    k = np.floor((2 * a / us + width) * u + centre)
    return k, np.log(v * alpha / (a / (us * us) + width))


def _poisson(
    number: int, place: Array, key: Array, lam: Array, peak: Array, *shape: Array
) -> tuple[Array, Array]:
    a, width, _, centre, alpha = shape
    k, level = _transformed(number, place, key, a, width, centre, alpha)
    inside = k >= 0
    held = np.where(inside, k, 0.0)
    return k, inside & (level <= held * np.log(lam) - lam - _log_factorials(held))


def _binomial(
    number: int,
    place: Array,
    key: Array,
    n: Array,
    mean: Array,
    other: Array,
    peak: Array,
    *shape: Array,
) -> tuple[Array, Array]:
    a, width, _, centre, alpha = shape
    k, level = _transformed(number, place, key, a, width, centre, alpha)
    inside = (k >= 0) & (k <= n)
    held, p = np.where(inside, k, 0.0), mean / (mean + other)
    likeliest = np.floor((n + 1) * p)
    weight = _binomial_weight(held, n, p) - _binomial_weight(likeliest, n, p)
    return k, inside & (level <= weight)


def _hypergeometric(
    number: int,
    place: Array,
    key: Array,
    good: Array,
    bad: Array,
    sample: Array,
    peak: Array,
    ratio: Array,
    centre: Array,
    width: Array,
) -> tuple[Array, Array]:
    low, high = _words(place, key, number)
    u, v = _open(low), _open(high)
    k = np.floor(width * ((v - 0.5) / u) + centre)
    inside = (k >= 0) & (k <= np.minimum(good, sample))
    held = np.where(inside, k, peak)

    def weight(k: Array) -> Array:
        parts = k, good - k, sample - k, bad - sample + k
        return -np.asarray(sum(_log_factorials(part) for part in parts))

    return k, inside & (2 * np.log(u) <= weight(held) - weight(peak))


def _von_mises(
    number: int, place: Array, key: Array, s: Array, less: Array, root: Array
) -> tuple[Array, Array]:
    low, high = _words(place, key, number)
    half = (_open(low) - 2.0**-53) * (math.pi / 2)
    y = s / (less + 2 * np.cos(half) ** 2)
    v = _open(high)
    tangent = root * np.tan(half) * np.where(_negative(low), -1.0, 1.0)
    return tangent, np.log(v / y) <= 1 - y


def _zeta(
    number: int, place: Array, key: Array, less: Array, least: Array, other: Array
) -> tuple[Array, Array]:
    low, high = _words(place, key, number)
    with np.errstate(all="ignore"):
        x = np.floor(np.exp(-np.log(_open(low) * (1 - least) + least) / less))
    fits = x < 2.0**63
    x = np.where(fits & (x >= 1), x, 1.0)
    above = np.expm1(less * np.log1p(1 / x))
    accepted = _open(high) * x * above / other <= (above + 1) / (other + 1)
    return x.astype(np.int64), fits & accepted


def _permuted(back: bool) -> Callable[..., Array]:
    def walk(x: int, n: int, down: int, across: int, low: int, high: int) -> int:
        while True:
            x = _network(x, down, across, (low, high), back)
            if x < n:
                return x

    def apply(index: Array, *parameters: Array) -> Array:
        arrays = np.broadcast_arrays(index, *parameters)
        indices = [walk(*map(int, row)) for row in zip(*(a.flat for a in arrays), strict=True)]
        return np.array(indices, np.int64).reshape(arrays[0].shape)

    return apply


def _network(x: int, down: int, across: int, keys: tuple[int, int], back: bool) -> int:
    pair = list(divmod(x, across))
    sizes = down, across
    for t in reversed(range(24)) if back else range(24):
        moved = t % 2
        value = pair[1 - moved]
        words = keys[moved], keys[moved] >> 32
        for multiplier, word, weyl in zip(MULTIPLIERS, words, WEYL, strict=True):
            product = ((value ^ (word + t * weyl)) & 0xFFFFFFFF) * multiplier
            value = (product ^ (product >> 32)) & 0xFFFFFFFF
        turn = value * sizes[moved] >> 32
        pair[moved] = (pair[moved] + (-turn if back else turn)) % sizes[moved]
    return pair[0] * across + pair[1]


MEANING: Final[dict[str, Callable[..., Array]]] = {
    "gamma_tried": lambda *args: _tried(_gamma, *args),
    "poisson_counted": lambda u, first, lam: _counted(u, first, lambda k: lam / k),
    "binomial_counted": lambda u, first, n, odds: np.minimum(
        _counted(u, first, lambda k: ((n + 1) / k - 1) * odds), n
    ),
    "hypergeometric_counted": lambda u, first, good, bad, sample: _counted(
        u, first, lambda k: (good - k + 1) * (sample - k + 1) / (k * (bad - sample + k))
    ),
    "poisson_tried": lambda *args: _tried(_poisson, *args),
    "binomial_tried": lambda *args: _tried(_binomial, *args),
    "hypergeometric_tried": lambda *args: _tried(_hypergeometric, *args),
    "log_binomial": _log_binomial,
    "factorial_rest": _factorial_rest,
    "von_mises_tried": lambda *args: _tried(_von_mises, *args),
    "zeta_tried": lambda *args: _tried(_zeta, *args),
    "permuted": _permuted(False),
    "permuted_back": _permuted(True),
}
