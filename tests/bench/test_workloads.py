"""The workloads of `bench/workloads.py`, at small sizes: ours give what dask.array gives."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any, Final

import dask.array
import numpy as np
import pytest

import speedcube as sc

WORKLOADS: Final[dict[str, Any]] = runpy.run_path(
    str(Path(__file__).parents[2] / "bench" / "workloads.py"), run_name="workloads"
)
ROWS: Final = WORKLOADS["ROWS"]


@pytest.mark.parametrize("name", ROWS)
def test_a_workload_gives_what_dask_gives(name: str) -> None:
    row = ROWS[name]
    if row.needs:
        pytest.importorskip(row.needs)
    given = row.make(0.001)
    ours, theirs = (
        row.run(module, *(WORKLOADS["held"](module, one) for one in given)).compute()
        for module in (sc, dask.array)
    )
    assert np.shape(ours) == np.shape(theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_both_lists_are_whole() -> None:
    """Dask-cuda's ten operations and the one with a filter, and Coiled's."""
    assert len(ROWS) == 11 + 18
    assert {row.needs for row in ROWS.values()} == {"", "scipy", "zarr"}
