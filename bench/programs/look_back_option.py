"""An option on the highest price of a year against the last."""

import numpy as np

DRAWS = True


def data(scale):
    return (60_000 * scale,)


def run(paths):
    rng = np.random.default_rng(1)
    z = rng.standard_normal((paths, 252))
    sigma, dt = 0.3, 1 / 252
    prices = 100.0 * np.exp(np.cumsum(-(sigma**2) / 2 * dt + sigma * np.sqrt(dt) * z, axis=1))
    payoff = prices.max(axis=1) - prices[:, -1]
    return payoff.mean()
