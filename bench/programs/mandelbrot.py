"""How long points of the plane stay near the origin, forty steps in real parts."""

import numpy as np


def data(scale):
    return (int(1000 * scale**0.5),)


def run(side):
    x0 = np.linspace(-2.0, 0.6, side)[None, :]
    y0 = np.linspace(-1.2, 1.2, side)[:, None]
    x, y = x0 + 0 * y0, y0 + 0 * x0
    count = 0 * x
    for _ in range(40):
        near = x * x + y * y < 4
        x, y = np.where(near, x * x - y * y + x0, x), np.where(near, 2 * x * y + y0, y)
        count = count + near
    return count
