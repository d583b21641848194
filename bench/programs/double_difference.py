"""Differences of differences along both axes of a map, and their mean size."""

import numpy as np


def data(scale):
    return (np.random.default_rng(1).standard_normal((6000 * scale, 6000)),)


def run(x):
    d = x[1:, :] - x[:-1, :]
    d = d[:, 1:] - d[:, :-1]
    return abs(d).mean(axis=0), (d * d).mean()
