"""Rows with gaps between them, out of larger tables: some rows ahead of them are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.known.text import source_of
from speedcube.kernel.llvm import simd

TABLE: Final = np.random.default_rng(0).normal(size=(6000, 3, 68))
VIEWS: Final[dict[str, Callable[[Any], Any]]] = {
    "columns": lambda x: x[:, 0, 3:20],
    "every other row": lambda x: x[::2, 1],
    "backwards": lambda x: x[::-1, 2, :24],
    "upside down": lambda x: x[:, ::-1, 1:-1],
    "every other column": lambda x: x[:, 0, 1::2],
    "columns backwards": lambda x: x[:, 0, 40:3:-1],
    "planes": lambda x: x[:, :2, 5:12],
    "a corner of it": lambda x: x[:9, 0, :9],
    "one column": lambda x: x[:, :, 7],
    "turned": lambda x: x[:, 1].T,
    "no rows": lambda x: x[:0, 0],
}
USES: Final[dict[str, Callable[[Any], Any]]] = {
    "map": lambda x: x * 2 + 1,
    "narrower": lambda x: x.astype("float32"),
    "with itself": lambda x: x + x[::-1],
    "sum": lambda x: x.sum(),
    "bytes": lambda x: x > 0,
}


@pytest.mark.parametrize("target", simd.runnable())
def test_values(target: str) -> None:
    with simd.limited(target):
        for name, view in VIEWS.items():
            own = sc.asarray(np.ascontiguousarray(view(TABLE)))
            for what, use in USES.items():
                for on in ("core", "cores:2"):
                    found = use(view(sc.asarray(TABLE))).compute(on=on)
                    assert np.array_equal(found, use(own).compute(on=on)), (name, what, on)
                if what != "sum":
                    assert np.array_equal(found, use(view(TABLE))), (name, what)


def test_they_are_asked_for_where_they_do_not_follow_one_another() -> None:
    x = sc.asarray(TABLE)
    asked = "inttoptr i64"  # whole lines of memory
    assert asked in source_of((x[:, 0, 3:20] + 1)._expr, "cpu")
    assert asked not in source_of((x + 1)._expr, "cpu")


def test_a_stencil_asks_for_none() -> None:
    """Its leaves are one array, whose rows come again: Life took a fifth longer."""
    x = sc.asarray(TABLE)[:, 0]
    stencil = x[2:, 1:-1] + x[1:-1, 1:-1] + x[:-2, 1:-1]
    assert "inttoptr i64" not in source_of(stencil._expr, "cpu")
