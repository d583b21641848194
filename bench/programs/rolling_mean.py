"""Means of thirty neighbours along a long line, by a running sum."""

import numpy as np


def data(scale):
    return (np.random.default_rng(1).standard_normal(60_000_000 * scale),)


def run(x):
    c = np.cumsum(x)
    return (c[30:] - c[:-30]) / 30
