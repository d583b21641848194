"""The loops that an expression needs: those of reductions that read arrays along and across."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc
from speedcube.expr.space import build


def _extents(array: sc.Array) -> tuple[int, ...]:
    return build(array._expr, (0, 1)).extents


@pytest.mark.parametrize(
    ("length", "cut"),
    [
        (4000, (5, 4000, 800)),  # the least part above half of a tile
        (2048, (2, 2048, 1024)),
        (1000, (1000, 1000)),  # a tile as it is
        (4001, (4001, 4001)),  # a prime
    ],
)
def test_a_matrix_read_along_and_across_is_walked_in_blocks(
    length: int, cut: tuple[int, ...]
) -> None:
    x = sc.asarray(np.broadcast_to(np.float32(1), (length, length)).copy())
    assert _extents(x + x.T) == cut
    assert _extents(x + x) == (length * length,)
    drawn = sc.random.default_rng(1).normal(size=(length, length))
    assert _extents(x + x.T + drawn) == (length, length)


@pytest.mark.parametrize("name", ["sum", "max", "argmax", "std", "count_nonzero", "mean"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_blocks_give_the_same_bits(name: str, dtype: str) -> None:
    values = np.random.default_rng(3).normal(size=(1200, 1200)) * 100
    values = values.astype(dtype)
    x = sc.asarray(values)
    mixed = x - x.T * 2
    assert _extents(mixed) == (2, 1200, 600)
    ours = getattr(sc, name)(mixed).compute(on="core")
    flat = getattr(sc, name)(sc.asarray(mixed.compute())).compute(on="core")
    assert np.asarray(ours).tobytes() == np.asarray(flat).tobytes()
