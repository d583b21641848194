"""Sums of a file's elements times those of a smaller array, which are made as it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc

RNG = np.random.default_rng(0)
DATA: Any = RNG.normal(size=(40, 200, 300))
OTHERS: dict[str, Any] = {
    "tyx,yx->t": RNG.normal(size=(200, 300)),
    "tyx,x->ty": RNG.normal(size=300),
    "tyx,t->yx": RNG.normal(size=40),
    "tyx,tx->yt": RNG.normal(size=(40, 300)),
}


@pytest.mark.parametrize("letters", OTHERS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_with_a_smaller_array(tmp_path: Path, letters: str, dtype: str) -> None:
    data, other = DATA.astype(dtype), OTHERS[letters].astype(dtype)
    np.save(tmp_path / "x.npy", data)
    x = sc.open(tmp_path / "x.npy")
    want = np.einsum(letters, data.astype("f8"), other.astype("f8"))
    (one, two), kept = letters.split("->")[0].split(","), letters.split("->")[1]
    for made in (sc.einsum(letters, x, other), sc.einsum(f"{two},{one}->{kept}", other, x)):
        assert "library" not in str(made.plan())
        values = made.compute()
        assert values.dtype == dtype
        np.testing.assert_allclose(values, want, rtol=0, atol=1e-4 if dtype == "float32" else 1e-11)


def test_two_files_and_matrices_are_left_to_a_library(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DATA)
    x = sc.open(tmp_path / "x.npy")
    for made in (sc.einsum("tyx,xk->tyk", x, np.ones((300, 2))), sc.einsum("tyx,tyx->t", x, x + 1)):
        assert made.shape[0] == 40
    assert "library" in str(sc.einsum("tyx,xk->tyk", x, np.ones((300, 2))).plan())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_products_with_a_map_of_the_same_file(tmp_path: Path, dtype: str) -> None:
    data = DATA.astype(dtype)
    sc.asarray(data).to_zarr(tmp_path / "x.zarr", chunks=(9, 200, 300), codecs=["zstd"])
    x = sc.open(tmp_path / "x.zarr")
    made = sc.einsum("tyx,yx->t", x, x[3])
    assert "library" not in str(made.plan())
    assert made.plan().peak_bytes < 10 * data[:9].nbytes + 2e8
    want = np.einsum("tyx,yx->t", data.astype("f8"), data[3].astype("f8"))
    np.testing.assert_allclose(made.compute(), want, rtol=1e-6 if dtype == "float32" else 1e-12)
