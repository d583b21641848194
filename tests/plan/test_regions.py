"""Arrays of pieces in a plan: which regions there are, and what is put together in memory."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.writer import Writer
from speedcube.errors import MemoryLimitError, UnsupportedError
from speedcube.expr.graph import below
from speedcube.plan import pieces
from speedcube.plan.regions import regions_of

DATA = np.random.default_rng(3).normal(size=(600, 500))
X = sc.asarray(DATA)


def regions(array: sc.Array, on: str = "core") -> list[int]:
    """How many regions the first part of each stage has: 0 where it is one kernel."""
    return [len(regions_of(stage, stage.parts[0])) for stage in array.plan(on=on).stages]


def shapes(array: sc.Array) -> list[tuple[int, ...]]:
    stage = array.plan(on="core").stages[-1]
    return [region.stage.root.shape for region in regions_of(stage, stage.parts[0])]


def stencil(p: Any) -> Any:
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * p[1:-1, 1:-1]


def rolled(u: Any) -> Any:
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def test_a_stencil_over_a_pad_is_one_stage_of_nine_regions() -> None:
    y = stencil(sc.pad(X, 1))
    assert regions(y) == [9]
    assert (598, 498) in shapes(y)
    assert sum(a * b for a, b in shapes(y)) == DATA.size
    assert_same_bits(y.compute(on="core"), stencil(np.pad(DATA, 1)))


def test_rolls_in_four_directions_are_one_stage_of_nine_regions() -> None:
    assert regions(rolled(X)) == [9]
    assert_same_bits(rolled(X).compute(on="core"), rolled(DATA))
    assert_same_bits(rolled(X).compute(on="cores"), rolled(DATA))


def test_a_concatenation_has_a_region_for_each_array() -> None:
    y = sc.concatenate([X + 1, X * 2])
    assert regions(y) == [2]
    assert shapes(y) == [(600, 500), (600, 500)]
    assert regions(y[100:400]) == [1]
    assert regions(y[::2, 7]) == [2]


@pytest.mark.parametrize("name", ["sum", "mean", "max", "argmin"])
def test_a_reduction_folds_each_region(name: str) -> None:
    y, n = sc.concatenate([X, X[::-1]]), np.concatenate([DATA, DATA[::-1]])
    alone = getattr(sc.asarray(n), name)
    ours = getattr(y, name)
    assert regions(ours()) == [2]
    assert_same_bits(ours().compute(on="core"), alone().compute(on="core"))
    assert_same_bits(ours().compute(on="cores"), alone().compute(on="core"))
    assert regions(ours(axis=1)) == [2]  # no result has elements of both
    assert_same_bits(ours(axis=1).compute(on="core"), alone(axis=1).compute(on="core"))
    assert regions(ours(axis=0)) == [2, 0]  # five hundred records would be long
    assert_same_bits(ours(axis=0).compute(on="core"), alone(axis=0).compute(on="core"))


def test_few_results_across_regions_are_merged_from_records() -> None:
    y, n = sc.concatenate([X[:, :3], X[:, 3:9]], axis=1), DATA[:, :9]
    assert regions(y.sum(axis=0)) == [2]
    z = sc.concatenate([X[:, :9], X[:50, :9]])
    m = np.concatenate([n, n[:50]])
    assert regions(z.sum(axis=0)) == [2]
    assert_same_bits(z.sum(axis=0).compute(on="cores"), sc.asarray(m).sum(axis=0).compute())
    assert regions(z.std()) == [2, 0]  # what is known of a region shapes its record


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "prod"])
def test_what_takes_elements_in_order_reads_them_from_memory(name: str) -> None:
    y, n = sc.pad(X[:40, :30], 2, constant_values=1), np.pad(DATA[:40, :30], 2, constant_values=1)
    ours = getattr(y, name)(axis=0)
    assert regions(ours)[0] == 5
    assert regions(ours)[-1] == 0
    assert_same_bits(ours.compute(on="cores"), getattr(sc.asarray(n), name)(axis=0).compute())


def test_too_many_regions_are_put_together_first() -> None:
    parts = [X[:3] + k for k in range(pieces.MOST_REGIONS + 1)]
    many = sc.concatenate(parts)
    assert regions(many) == [len(parts)]
    assert regions(many + 1) == [len(parts), 0]
    assert regions(sc.concatenate(parts[:-1]) + 1) == [len(parts) - 1]
    expected = np.concatenate([DATA[:3] + k for k in range(len(parts))])
    assert_same_bits((many + 1).compute(on="core"), expected + 1)


def test_a_time_loop_has_a_stage_a_step_and_few_regions() -> None:
    u, v = X, DATA
    for _ in range(6):
        u, v = u + rolled(u) * 0.1, v + rolled(v) * 0.1
    counts = regions(u)
    assert len(counts) <= 6
    assert max(counts) <= pieces.MOST_REGIONS
    assert_same_bits(u.compute(on="core"), v)
    w, n = X, DATA
    for _ in range(6):
        w, n = sc.pad(stencil(w), 1), np.pad(stencil(n), 1)
    assert len(regions(w)) <= 6
    assert max(regions(w)) <= pieces.MOST_REGIONS
    assert_same_bits(w.compute(on="cores"), n)


def test_a_long_loop_is_planned_in_linear_time() -> None:
    u = X[:50, :40]
    for _ in range(60):
        u = np.roll(u, 1, 0) + u
    assert len(below(u._expr)) < 8 * 60
    counts = regions(u)
    assert max(counts) <= pieces.MOST_REGIONS
    v = X[:30]
    for _ in range(100):
        v = np.roll(v, 1, 1)
    assert_same_bits(v.compute(on="core"), np.roll(DATA[:30], 100, 1))


def test_a_map_that_is_read_whole_and_rolled_is_made_once() -> None:
    f = np.exp(np.sin(np.cos(X)))
    y = f - np.roll(f, 1, 0)
    assert [stage.why for stage in y.plan(on="core").stages] == ["read in 3 ways", "the result"]


def test_a_copy_of_a_stage_is_no_stage() -> None:
    y = (X + 1).T.reshape(-1)
    assert len(y.plan(on="core").stages) == 1
    assert_same_bits(y.compute(on="cores"), (DATA + 1).T.reshape(-1))
    assert_same_bits(sc.repeat(X, 2).compute(on="core"), np.repeat(DATA, 2))


def test_a_gather_reads_pieces_from_memory() -> None:
    y = sc.take(sc.concatenate([X, X * 2]), [700, 3, 3], axis=0)
    n = np.concatenate([DATA, DATA * 2])[[700, 3, 3]]
    assert_same_bits(y.compute(on="core"), n)


def test_random_numbers_are_drawn_where_they_are_read() -> None:
    z = sc.random.default_rng(1).normal(size=(40, 30))
    values = z.compute(on="core")
    y = np.roll(z, 7, 0) + sc.pad(z[1:-1, 1:-1], 1)
    expected = np.roll(values, 7, 0) + np.pad(values[1:-1, 1:-1], 1)
    assert_same_bits(y.compute(on="cores"), expected)
    assert all(stage.parts for stage in y.plan(on="core").stages)


def test_a_thousand_arrays() -> None:
    parts = [np.full(k % 3, k, "int32") for k in range(1000)]
    y = sc.concatenate(parts)
    assert_same_bits(y.compute(on="core"), np.concatenate(parts))
    assert y.sum().compute(on="core") == np.concatenate(parts).sum()


def test_what_does_not_fit_is_told_with_both_numbers() -> None:
    with pytest.raises(MemoryLimitError, match=r"needs [0-9,]+ bytes"):
        sc.concatenate([sc.zeros((10**7, 10**6)), sc.ones((10**7, 10**6))]).compute(on="core")
    assert sc.pad(sc.zeros((10**6, 10**6)), 1, constant_values=2).max().plan(on="core")


def test_nothing_is_kept_of_what_was_computed() -> None:
    def run() -> None:
        y = sc.concatenate([X + 1, X * 2]) - sc.concatenate([X, X])
        y.compute(on="core")

    run()
    tracemalloc.start()
    run()
    now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert now < DATA.nbytes / 2
    assert peak < 2 * DATA.nbytes + (2 << 20)


def test_a_batch_refuses_what_needs_a_copy() -> None:
    with pytest.raises(UnsupportedError, match=r"a concatenation.*\.persist\(\)"):
        Writer(sc.concatenate([X, X])._expr)


def test_every_printer_shows_pieces() -> None:
    y = stencil(sc.pad(X, 1))
    assert "9 regions" in repr(y.plan(on="core"))
    assert y.explain().covered
    assert "store" in y.source("ir")
    assert (sc.concatenate([X, X]) > 0).mean().explain().covered
    assert "pad(a, 1)" in repr(y)


def test_assigned_boxes_are_written_in_the_order_of_memory() -> None:
    """Whatever order they were assigned in: fresh pages are written while they are in the cache."""
    x, y = X + 0, DATA.copy()
    for k in (50, 3, 20, 41):
        x[k * 10 : k * 10 + 7] = k
        y[k * 10 : k * 10 + 7] = k
    stage = x.plan(on="core").stages[-1]
    places = [region.at for region in regions_of(stage, stage.parts[0])]
    assert places == sorted(places)
    assert len(places) == 9
    assert_same_bits(x.compute(on="core"), y)


def test_what_is_only_moved_is_copied_piece_by_piece() -> None:
    """More elements than are copied at once, with gaps, backwards and repeated."""
    a = np.random.default_rng(1).integers(0, 100, (2300, 2000)).astype("int8")
    x = sc.asarray(a)
    assert_same_bits(np.concatenate([x, x[::-1]]).compute(on="core"), np.concatenate([a, a[::-1]]))
    assert_same_bits(np.dstack([x, x]).compute(on="cores"), np.dstack([a, a]))
    assert_same_bits(np.repeat(x, 2, axis=1).compute(on="core"), np.repeat(a, 2, axis=1))
    assert_same_bits(np.tile(x, (2, 1)).compute(on="core"), np.tile(a, (2, 1)))


def test_a_routine_of_a_stack_and_a_vector_is_planned() -> None:
    rng = np.random.default_rng(3)
    a, b, v = rng.random((6, 6)), rng.random((6, 6)), rng.random(6)
    stacked, vector = sc.stack([sc.asarray(a) * 2, sc.asarray(b)]), sc.asarray(v) * 2
    np.testing.assert_allclose(sc.matmul(vector, stacked[1]).compute(), (v * 2) @ b, rtol=1e-12)
    np.testing.assert_allclose(
        sc.linalg.solve(stacked[0], vector).compute(), np.linalg.solve(a * 2, v * 2), rtol=1e-9
    )


@pytest.mark.parametrize("name", ["concatenate", "pad", "roll", "insert"])
def test_pieces_of_columns_are_laid_out_as_columns(name: str) -> None:
    """As NumPy has it: they are read and written from one end to the other."""
    values = np.asfortranarray(np.random.default_rng(1).normal(size=(300, 200)))
    calls: dict[str, Any] = {
        "concatenate": lambda m, x: m.concatenate([x, x + 1], axis=1),
        "pad": lambda m, x: m.pad(x, 1) * 2,
        "roll": lambda m, x: m.roll(x, (3, 4), axis=(0, 1)) - x,
        "insert": lambda m, x: m.insert(x, 3, 0.0, axis=0),
    }
    wanted = calls[name](np, values)
    made = calls[name](sc, sc.asarray(values)).compute(on="core")
    np.testing.assert_array_equal(made, wanted)
    assert made.strides == wanted.strides
    rows = calls[name](sc, sc.asarray(values.copy("C"))).compute(on="core")
    assert rows.flags.c_contiguous
