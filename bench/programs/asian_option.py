"""An option on the mean price of a year: 252 days a path."""

import numpy as np

DRAWS = True


def data(scale):
    return (60_000 * scale,)


def run(paths):
    rng = np.random.default_rng(0)
    z = rng.standard_normal((paths, 252))
    start, strike, rate, sigma, years = 100.0, 100.0, 0.03, 0.2, 1.0
    dt = years / 252
    steps = (rate - sigma**2 / 2) * dt + sigma * np.sqrt(dt) * z
    prices = start * np.exp(np.cumsum(steps, axis=1))
    payoff = np.exp(-rate * years) * np.maximum(prices.mean(axis=1) - strike, 0)
    return payoff.mean(), payoff.std()
