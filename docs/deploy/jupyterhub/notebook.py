"""The first cell of a notebook: where its arrays are computed.

With SPEEDCUBE_SCHEDULER (an address, or the path of a scheduler file) on that cluster, whose
certificates DASK_CONFIG names; without on the cores that the hub gives this notebook.
"""

import os

import speedcube as sc

WHERE = os.environ.get("SPEEDCUBE_SCHEDULER", "cores")

if __name__ == "__main__":
    x = sc.random.default_rng(0).normal(size=(100_000, 1_000))
    with sc.on(WHERE):
        print(float(x.mean().compute()).hex())
