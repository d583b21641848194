"""Means over time of what was measured: gaps are where the numbers are negative."""

import numpy as np


def data(scale):
    return (np.random.default_rng(1).standard_normal((200, 700 * scale, 400)) * 5 + 5,)


def run(measured):
    there = measured >= 0
    total = np.where(there, measured, 0.0).sum(axis=0)
    return total / there.sum(axis=0)
