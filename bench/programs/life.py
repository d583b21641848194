"""Conway's Game of Life on a torus, a hundred generations."""

import numpy as np


def data(scale):
    side = int(2800 * scale**0.5)
    return ((np.random.default_rng(1).random((side, side)) < 0.3).astype("int8"), 100)


def run(cells, generations):
    for _ in range(generations):
        near = np.roll(cells, 1, 0) + np.roll(cells, -1, 0) + cells
        near = np.roll(near, 1, 1) + np.roll(near, -1, 1) + near - cells
        cells = ((near == 3) | ((near == 2) & (cells == 1))).astype("int8")
    return cells
