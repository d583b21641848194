"""The mean energy of a wind over time."""

import numpy as np


def data(scale):
    rng = np.random.default_rng(1)
    shape = (100, 500, 1000 * scale)
    return rng.standard_normal(shape), rng.standard_normal(shape)


def run(u, v):
    return (u**2 + v**2).mean(axis=0)
