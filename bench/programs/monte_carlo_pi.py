"""Pi, from points in a square."""

import numpy as np

DRAWS = True


def data(scale):
    return (25_000_000 * scale,)


def run(n):
    rng = np.random.default_rng(0)
    x = rng.random(n)
    y = rng.random(n)
    return 4 * np.mean(x * x + y * y <= 1)
