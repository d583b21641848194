"""The loops that an expression needs: those of reductions that read arrays along and across."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc
from speedcube.expr.space import build, tile


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


def _rows(array: sc.Array, reduced: bool, gpu: bool = False) -> tuple[int, int]:
    """Steps of a tile, and the elements of each."""
    axes = tuple(range(array.ndim)) if reduced else ()
    tiling = tile(build(array._expr, axes), gpu)
    return tiling.rows, tiling.inner


@pytest.mark.parametrize(
    ("width", "reduced", "rows"),
    [
        (16, True, (64, 16)),  # several rows, each element from an offset
        (17, True, (1024, 1)),  # a row
        (300, True, (1024, 1)),
        (16, False, (64, 16)),
        (300, False, (1024, 1)),
    ],
)
def test_a_tile_of_what_is_stored_is_a_row_on_a_cpu(
    width: int, reduced: bool, rows: tuple[int, int]
) -> None:
    x = sc.asarray(np.zeros((40, 512)))[:, 3 : 3 + width]
    assert _rows(x, reduced) == rows
    assert _rows(x, reduced, gpu=True) == (1024 // width, width)
    drawn = sc.random.default_rng(1).normal(size=(40, 512))[:, 3 : 3 + width]
    assert _rows(drawn, reduced) == (1024 // width, width)


def test_rows_beside_an_array_in_order_are_taken_together_up_to_64() -> None:
    for width, rows in ((64, (16, 64)), (65, (1024, 1))):
        x = sc.asarray(np.zeros((40, width)))
        assert _rows(x - x[0], False) == rows
        assert _rows(x - x[0], True) == (1024, 1)


@pytest.mark.parametrize("width", [5, 16, 17, 31, 33, 64, 65, 130, 511])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int16"])
def test_parts_of_rows_have_the_bits_of_a_copy(width: int, dtype: str) -> None:
    values = (np.random.default_rng(4).normal(size=(70, 700)) * 100).astype(dtype)
    part = np.ascontiguousarray(values[:, 9 : 9 + width])
    x, whole = sc.asarray(values)[:, 9 : 9 + width], sc.asarray(part)
    assert (x + 1).compute(on="core").tobytes() == (part + np.array(1, dtype)).tobytes()
    for name in ("sum", "std"):
        ours = getattr(x, name)().compute(on="core")
        assert ours.tobytes() == getattr(whole, name)().compute(on="core").tobytes()
    spread = (x - x[0]).sum().compute(on="core")
    assert spread.tobytes() == (whole - part[0]).sum().compute(on="core").tobytes()
