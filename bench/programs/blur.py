"""A picture, blurred by five weights along rows and columns."""

import numpy as np


def data(scale):
    side = int(7000 * scale**0.5)
    return (np.random.default_rng(1).random((side, side), dtype=np.float32),)


def run(image):
    weights = [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]
    n = image.shape[0] - 4
    rows = sum(weights[k] * image[k : k + n] for k in range(5))
    return sum(weights[k] * rows[:, k : k + n] for k in range(5))
