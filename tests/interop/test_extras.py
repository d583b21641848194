"""What the extras promise: arrays go to Zarr files, clusters show their dashboard."""

from __future__ import annotations

from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest

import speedcube as sc


def test_zarr_stores_the_values_block_by_block(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr", reason="writing Zarr needs speedcube[io]")
    x = sc.random.default_rng(20111115).normal(size=(300, 250), chunks=100)
    x.to_dask_array().to_zarr(str(tmp_path / "x.zarr"))
    stored = zarr.open_array(str(tmp_path / "x.zarr"), mode="r")
    assert stored.chunks == (100, 100)
    assert stored[:].tobytes() == np.asarray(x).tobytes()


@pytest.mark.cluster
def test_the_dashboard_answers() -> None:
    pytest.importorskip("bokeh", reason="a cluster's dashboard needs speedcube[dashboard]")
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        x = sc.random.default_rng(1).uniform(size=(200, 200), chunks=100)
        assert x.sum().compute(on=client) == x.sum().compute(on="core")
        with urlopen(client.dashboard_link, timeout=60) as page:
            text = page.read().decode()
    assert "bokeh.min.js" in text
