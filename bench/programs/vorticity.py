"""How much a wind turns, and how that varies with time; the field goes round the globe."""

import numpy as np


def data(scale):
    rng = np.random.default_rng(1)
    shape = (60, 500, 1000 * scale)
    return rng.standard_normal(shape), rng.standard_normal(shape)


def run(u, v):
    dvdx = np.roll(v, -1, axis=2) - v
    dudy = np.roll(u, -1, axis=1) - u
    return (dvdx - dudy).std(axis=0)
