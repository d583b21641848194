"""Recomputes the table of `kernel/math/samplers/rejection.py` and the error of its series.

Needs mpmath. ``python tools/samplers.py`` prints the entries and, where the series takes over, what
it misses.
"""

from __future__ import annotations

import mpmath

from speedcube.kernel.math.samplers.rejection import DELTA_SERIES

ENTRIES = 16


def delta(k: int) -> mpmath.mpf:
    """Log k! - (h log h - h + log(2 pi) / 2) with h = k + 1/2."""
    h = mpmath.mpf(k) + mpmath.mpf(1) / 2
    return mpmath.log(mpmath.factorial(k)) - (h * mpmath.log(h) - h + mpmath.log(2 * mpmath.pi) / 2)


def series(k: int) -> mpmath.mpf:
    h = mpmath.mpf(k) + mpmath.mpf(1) / 2
    return sum(mpmath.mpf(c) / h ** (2 * i + 1) for i, c in enumerate(DELTA_SERIES))


if __name__ == "__main__":
    mpmath.mp.dps = 40
    print(",\n".join(repr(float(delta(k))) for k in range(ENTRIES)))
    print(f"from {ENTRIES} on the series misses {mpmath.nstr(series(ENTRIES) - delta(ENTRIES), 3)}")
