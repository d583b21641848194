"""Programs of many steps as people write them: NumPy's values, without doing all steps again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import speedcube as sc

RNG = numpy.random.default_rng


def network(np: Any) -> Any:
    """Matrix products whose arguments are no arrays of one shape."""
    rng = RNG(40)
    x, wanted = np.asarray(rng.normal(size=(5, 2))), np.asarray(rng.normal(size=(5, 1)))
    a, b, found = np.asarray(rng.normal(size=(2, 3))), np.asarray(rng.normal(size=(3, 1))), []
    for _ in range(10):
        hidden = np.tanh(x @ a)
        error = hidden @ b - wanted
        found.append(float((error**2).mean()))
        a, b = a - 0.1 * (x.T @ (error @ b.T * (1 - hidden**2))), b - 0.1 * (hidden.T @ error)
    return found


def factors(np: Any) -> Any:
    rng = RNG(41)
    v, w, h = (np.asarray(rng.random(shape)) for shape in ((8, 6), (8, 2), (2, 6)))
    found = []
    for _ in range(10):
        h *= (w.T @ v) / (w.T @ w @ h)
        w *= (v @ h.T) / (w @ (h @ h.T))
        found.append(float(np.linalg.norm(v - w @ h)))
    return found


def kalman(np: Any) -> Any:
    h, x, p = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0]]), np.zeros(4), np.eye(4) * 10
    for z in np.asarray(numpy.ones((5, 2))):
        p = p + np.eye(4) * 1e-3
        s, y = h @ p @ h.T + np.eye(2), z - h @ x
        if y @ np.linalg.inv(s) @ y < 9.21:
            k = p @ h.T @ np.linalg.inv(s)
            x, p = x + k @ y, (np.eye(4) - k @ h) @ p
    return [float(v) for v in x]


def places(np: Any) -> Any:
    """Each step reads twice what the one before wrote at indices."""
    d, i = np.zeros(12), np.arange(1, 11)
    for _ in range(40):
        d[i] = np.minimum(d[i - 1], d[i + 1]) + 1.0
    return d


def swaps(np: Any) -> Any:
    p, rng = np.arange(40), RNG(0)
    for k in range(39):
        other = k + int(rng.integers(40 - k))
        p[[k, other]] = p[[other, k]]
    return p


def exercise(np: Any) -> Any:
    """Longest in Longstaff and Schwartz' option: a mask of numbers, then all of them."""
    cash, paths = np.linspace(0.0, 1.0, 50), np.asarray(RNG(1).random((50, 25)))
    for t in range(25):
        cash = cash * 0.99
        inside = paths[:, t] < 0.5
        cash[inside] = np.where(paths[inside, t] > 0.3, 0.5, cash[inside])
    return cash


def warping(np: Any) -> Any:
    """Diagonals of a table, of which each is made of two before."""
    rng, n = RNG(17), 20
    x, y = (np.asarray(numpy.cumsum(rng.normal(size=n))) for _ in range(2))
    costs, table = np.abs(x[:, None] - y[None]), np.full((n + 1, n + 1), np.inf)
    table[0, 0] = 0
    for s in range(2, 2 * n + 1):
        i = np.arange(max(1, s - n), min(n, s - 1) + 1)
        j = s - i
        least = np.minimum(np.minimum(table[i - 1, j], table[i, j - 1]), table[i - 1, j - 1])
        table[i, j] = costs[i - 1, j - 1] + least
    return table[n, n]


def shrinking(np: Any) -> Any:
    v, found = np.linspace(0.0, 5.0, 81), []
    for _ in range(80):
        v = 0.5 * (v[1:] + v[:-1])
        high = v > 1.0
        if high.any():
            found.append(float(v[high].max()))
    return found


def reactions(np: Any) -> Any:
    x, rng, t = np.array([5000, 0, 0]), RNG(0), 0.0
    changes = np.array([[-1, 1, 0], [1, -1, 0], [0, -1, 1]])
    for _ in range(60):
        rates = np.array([1.0, 0.5, 0.3]) * x
        total = float(rates.sum())
        t += 1 / total
        x = x + changes[np.searchsorted(np.cumsum(rates), rng.random() * total)]
    return [t, *(int(v) for v in x)]


def tour(np: Any) -> Any:
    """Indices that are turned round in each step."""
    apart, rng = np.asarray(RNG(0).random((30, 30))), RNG(1)
    way, found = np.arange(30), []
    for _ in range(40):
        i, j = sorted(rng.integers(0, 30, 2).tolist())
        way = way.copy()
        way[i:j] = way[i:j][::-1]
        found.append(float(apart[way, np.roll(way, -1)].sum()))
    return found


PROGRAMS = (
    network,
    factors,
    kalman,
    places,
    swaps,
    exercise,
    warping,
    shrinking,
    reactions,
    tour,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_numpys_values(program: Callable[[Any], Any]) -> None:
    found, wanted = numpy.asarray(program(sc)), numpy.asarray(program(numpy))
    assert found.dtype == wanted.dtype
    numpy.testing.assert_allclose(found, wanted, rtol=1e-9)
