"""An array program for any rung: python arrays.py [--on WHERE] [--rows N].

WHERE is what ``on=`` takes: core, cores, gpus, tls://host:port, the path of a scheduler file.
The hash is the same everywhere.
"""

import argparse
import hashlib

import numpy as np

import speedcube as sc


def results(rows: int) -> list[sc.Array]:
    """Means and spreads of the columns, the largest sum of a row, the middle of all numbers."""
    x = sc.random.default_rng(0).normal(size=(rows, 1_000))
    centred = x - x.mean(axis=0)
    return [x.mean(axis=0), (centred**2).mean(axis=0), x.sum(axis=1).max(), x[:, 0].cumsum()]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="cores")
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    values = sc.compute(*results(asked.rows), on=asked.on)
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(v).tobytes() for v in values))
    print(f"{asked.rows} rows: {digest.hexdigest()}")
