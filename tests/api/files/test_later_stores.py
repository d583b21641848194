"""Arrays that are stored later: what `store(..., compute=False)` gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.plan.writing import WritePlan

DATA: Any = np.arange(60.0).reshape(5, 12)


@pytest.mark.parametrize("run", [lambda later: later.compute(), dask.compute, sc.compute])
def test_a_store_that_waits(tmp_path: Path, run: Any) -> None:
    np.save(tmp_path / "x.npy", DATA)
    x, one, two = sc.open(tmp_path / "x.npy"), np.zeros((5, 12)), np.zeros((5, 12))
    later = sc.store([x + 1, x * 2], [one, two], compute=False)
    assert not one.any()
    run(later)
    assert (one == DATA + 1).all()
    assert (two == DATA * 2).all()


def test_its_plan_is_that_of_the_largest() -> None:
    small, large = sc.arange(10.0), sc.arange(1e6)
    later = sc.store([small, large], [np.zeros(10), np.zeros(10**6)], compute=False)
    alone = sc.store(large, np.zeros(10**6), compute=False)
    assert isinstance(later.plan(), WritePlan)
    assert repr(later.plan()) == repr(alone.plan())


def test_what_cannot_be_stored_says_so_at_once() -> None:
    with pytest.raises(ValueError, match=r"the target has shape \(4,\), and the array \(5,\)"):
        sc.store(sc.arange(5), np.zeros(4), compute=False)
