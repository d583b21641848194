"""Heat that spreads through a plate whose rim stays cold, fifty steps."""

import numpy as np


def data(scale):
    side = int(1200 * scale**0.5)
    plate = np.zeros((side, side))
    plate[side // 3 : side // 2, side // 3 : side // 2] = 100.0
    return plate, 50


def run(u, steps):
    for _ in range(steps):
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u = np.pad(u[1:-1, 1:-1] + 0.2 * (around - 4 * u[1:-1, 1:-1]), 1)
    return u
