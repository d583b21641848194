"""Loops that write into arrays step by step: with NumPy or CuPy, and with speedcube.

    python bench/steps.py [--on core|cores|gpu] [--only elimination ...] [--json FILE]

As `asking.py` has it: the same text for each library, the first run and the best of three after
it, in seconds, and the values compared.
"""

from __future__ import annotations

from typing import Any, Final

import numpy
from asking import Row, main


def _random(np: Any, *shape: int) -> Any:
    return np.asarray(numpy.random.default_rng(0).normal(size=shape))


def tridiagonal(np: Any, size: int, steps: int) -> list[Any]:
    """Systems of so many steps, as many at once as ``size``: eliminated, and solved backwards."""
    b, d, x = np.full((steps, size), 4.0), _random(np, steps, size).copy(), np.zeros((steps, size))
    for i in range(1, steps):
        w = -1.0 / b[i - 1]
        b[i] += w
        d[i] -= w * d[i - 1]
    x[-1] = d[-1] / b[-1]
    for i in range(steps - 2, -1, -1):
        x[i] = (d[i] + x[i + 1]) / b[i]
    return [float(x.sum())]


def elimination(np: Any, size: int, steps: int) -> list[Any]:
    """The factors of a matrix, one in the place of the other."""
    a = _random(np, size, size) + size * np.eye(size)
    for k in range(steps):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[k, k + 1 :]
    return [float(a.sum())]


def red_black(np: Any, size: int, steps: int) -> list[Any]:
    """Relaxation, of every other element in both directions."""
    u = np.zeros((size, size))
    u[0] = 1.0
    for _ in range(steps):
        for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
            rows, columns = slice(i, size - 1, 2), slice(j, size - 1, 2)
            beside = (
                u[i + 1 : size : 2, columns]
                + u[i - 1 : size - 2 : 2, columns]
                + u[rows, j + 1 : size : 2]
                + u[rows, j - 1 : size - 2 : 2]
            )
            u[rows, columns] += 0.3 * (beside - 4 * u[rows, columns])
    return [float(u.sum())]


def edit_distance(np: Any, size: int, steps: int) -> list[Any]:
    """The table of distances of two texts, a row in each step."""
    rng = numpy.random.default_rng(0)
    one, other = rng.integers(0, 4, steps), np.asarray(rng.integers(0, 4, size))
    table, place = np.zeros((steps + 1, size + 1), dtype=int), np.arange(size + 1)
    table[0] = place
    for i in range(1, steps + 1):
        table[i, 0] = i
        table[i, 1:] = np.minimum(table[i - 1, 1:] + 1, table[i - 1, :-1] + (other != one[i - 1]))
        table[i] = np.minimum.accumulate(table[i] - place) + place
    return [int(table[-1, -1])]


def orthogonal(np: Any, size: int, steps: int) -> list[Any]:
    """Gram's and Schmidt's columns."""
    a, q = _random(np, size, steps), np.zeros((size, steps))
    for k in range(steps):
        v = a[:, k]
        for j in range(k):
            v = v - (q[:, j] * a[:, k]).sum() * q[:, j]
        q[:, k] = v / np.sqrt((v * v).sum())
    return [float(abs(q).sum())]


def adaptive_filter(np: Any, size: int, steps: int) -> list[Any]:
    """Weights that follow the error of the step before."""
    x, d, w = _random(np, steps + size), _random(np, steps + size), np.zeros(size)
    errors = np.zeros(steps + size)
    for t in range(size, steps + size):
        errors[t] = d[t] - (w * x[t - size : t]).sum()
        w = w + 0.01 * errors[t] * x[t - size : t]
    return [float(errors.sum())]


def runge_kutta(np: Any, size: int, steps: int) -> list[Any]:
    """Pendulums that are driven, of other lengths, every state noted."""
    length, h = 1 + np.arange(size) / size, 0.02
    y, found = np.stack([np.ones(size), np.zeros(size)]), np.zeros((steps, 2, size))

    def slope(t: float, y: Any) -> Any:
        return np.stack([y[1], -np.sin(y[0]) / length - 0.1 * y[1] + 0.5 * np.cos(0.7 * t)])

    for i in range(steps):
        t = i * h
        a = slope(t, y)
        b = slope(t + h / 2, y + h / 2 * a)
        c = slope(t + h / 2, y + h / 2 * b)
        y = y + h / 6 * (a + 2 * b + 2 * c + slope(t + h, y + h * c))
        found[i] = y
    return [float(found.sum())]


def background(np: Any, size: int, steps: int) -> list[Any]:
    """What stands still in pictures, and how much of each does not."""
    pictures, still = _random(np, steps, size, size), np.zeros((size, size))
    moves = np.zeros(steps)
    for i in range(steps):
        still = 0.95 * still + 0.05 * pictures[i]
        moves[i] = (abs(pictures[i] - still) > 0.3).mean()
    return [float(moves.sum())]


def oscillation(np: Any, size: int, steps: int) -> list[Any]:
    """Numbers moved by a sine of the time."""
    x, found = _random(np, size), []
    for t in range(steps):
        found.append(float((x * np.sin(0.1 * t) + x).max()))
    return found


def driven_field(np: Any, size: int, steps: int) -> list[Any]:
    """Electric and magnetic fields on a line, one after the other, driven at one place."""
    e, h = np.zeros(size), np.zeros(size)
    for t in range(steps):
        h[:-1] += 0.5 * (e[1:] - e[:-1])
        e[1:] += 0.5 * (h[1:] - h[:-1])
        e[100] += numpy.sin(0.1 * t)
    return [float(abs(e).sum())]


ROWS: Final[tuple[Row, ...]] = (
    (tridiagonal, 3000, 400),
    (elimination, 600, 590),
    (red_black, 500, 30),
    (red_black, 2000, 10),
    (edit_distance, 400, 400),
    (orthogonal, 2000, 60),
    (adaptive_filter, 16, 1500),
    (runge_kutta, 1, 300),
    (runge_kutta, 10_000, 100),
    (background, 64, 600),
    (oscillation, 1000, 300),
    (driven_field, 2000, 300),
    (driven_field, 1_000_000, 40),
)


if __name__ == "__main__":
    main(ROWS, __doc__)
