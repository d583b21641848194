"""Which stages are one pass: what they share, and what keeps them apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.compute import compute_all
from speedcube.engine.several import sinks_of

N = 70_000


def _stored(dtype: str = "float64") -> sc.Array:
    return sc.asarray((np.random.default_rng(3).normal(size=N) * 50).astype(dtype))


def passes(*arrays: sc.Array, on: str = "core") -> list[list[str]]:
    """The operations of each pass of what is computed together."""
    plan = arrays[0].plan(on=on, together=arrays[1:])
    return [[stage.op or "store" for stage in one.stages] for one in plan.passes]


def same(*arrays: sc.Array) -> None:
    """Together each has the bits that it has alone, on one thread and on three."""
    alone = [array.compute(on="core") for array in arrays]
    for on in ("core", "cores:3"):
        for value, wanted in zip(sc.compute(*arrays, on=on), alone, strict=True):
            assert_same_bits(value, wanted, on)


def test_reductions_of_the_same_elements_are_one_pass() -> None:
    x = _stored()
    arrays = x.sum(), (x * x).sum(), x.max(), x.min(), x.std()
    assert passes(*arrays) == [["sum", "sum", "max", "min", "std"]]
    assert passes(*arrays, on="cores:2") == [["sum", "sum", "max", "min", "std"]]
    text = repr(x.sum().plan(on="core", together=[x.max()]))
    assert "stage 1: max over axes (0,) of (70000,) -> () float64, in one pass with stage 0" in text
    same(*arrays)


def test_dots_of_doubles_have_kernels_of_their_own() -> None:
    """In a pass they would be records, which take ten times as long; others are not dearer."""
    x, y = _stored(), _stored() + 1
    assert passes(x @ y, x @ x, x.sum()) == [["dot"], ["dot"], ["sum"]]
    dear = sc.sin(sc.sin(sc.sin(sc.sin(sc.sin(x)))))
    assert passes(dear @ x, dear.sum()) == [["dot", "sum"]]
    single = _stored("float32")
    assert passes(single @ single, single.sum(), single.max()) == [["dot", "sum", "max"]]
    same(x @ y, x @ x, x.sum())


def test_a_mean_takes_the_sums_of_a_deviation() -> None:
    x = _stored()
    (one,) = x.mean().plan(on="core", together=[x.std(), x.sum(), x.var()]).passes
    sinks = sinks_of(one)
    assert sinks.kinds == ((0, "moments"),)
    assert sinks.of == (0, 0, 0, 0)
    same(x.mean(), x.std(), x.sum(), x.var())


def test_a_sum_of_integers_has_a_sink_of_its_own() -> None:
    """It wraps; the sums of their deviation do not."""
    x = sc.asarray(np.random.default_rng(1).integers(-(2**62), 2**62, N))
    (one,) = x.sum().plan(on="core", together=[x.std(), x.mean()]).passes
    assert sinks_of(one).kinds == ((0, "sum"), (0, "moments"))
    assert sinks_of(one).of == (0, 1, 1)
    same(x.sum(), x.std(), x.mean())


def test_standardising_reads_twice() -> None:
    x = _stored()
    assert passes((x - x.mean()) / x.std()) == [["mean", "std"], ["store"]]
    same((x - x.mean()) / x.std())


def test_results_that_are_stored_share_a_pass() -> None:
    x, y = _stored(), _stored("float32")
    arrays = x + y, x * y, (x * y).sum(), (x > y)
    assert passes(*arrays) == [["store", "store", "sum", "store"]] or passes(*arrays) == [
        ["sum", "store", "store", "store"]
    ]
    same(*arrays)


def test_a_part_that_is_one_number_is_written_beside_the_other() -> None:
    x = _stored()
    for array in (x + 1j, 2j - x, sc.asarray(np.ones((300, 7))) + 1j):
        assert passes(array) == passes(array, on="cores:2") == [["store", "store"]]
        assert len(array.plan(on="core").halves) == 2
        same(array.real, array.imag)
        assert array.compute(on="cores:3").tobytes() == array.compute(on="core").tobytes()
    other = sc.asarray(np.ones(3)) + 1
    assert passes(x + 1, other) == [["store"], ["store"]]  # of other shapes
    assert passes(x + 1, sc.zeros(len(x))) == [["store", "store"]]
    assert passes(x.sum(), sc.zeros(len(x))) == [["sum"], ["store"]]
    same(x + 1, sc.zeros(len(x)))


def test_what_is_drawn_is_drawn_once() -> None:
    x = sc.random.default_rng(8).gamma(2.5, size=N)
    assert passes(x.sum(), x.max(), x.std()) == [["sum", "max", "std"]]
    same(x.sum(), x.max(), x.std())


Pair = tuple[sc.Array, sc.Array]


def _apart() -> dict[str, Pair]:
    x = _stored()
    table = x.reshape(700, 100)
    return {
        "another array": (x.sum(), _stored("float32").sum()),
        "another shape": (x.sum(), x[1:].sum()),
        "one needs the other": (x.sum(), (x / x.sum()).sum()),
        "a scan": (x.sum(), x.cumsum()),
        "a place": (x.sum(), x.argmax()),
        "many results": (table.sum(), table.sum(axis=0)),
        "pieces": (sc.pad(x, 1).sum(), sc.pad(x, 1).max()),
        "nothing to compute": (x[:0].sum(), (x[:0] * 2).sum()),
    }


@pytest.mark.parametrize("name", _apart())
def test_apart(name: str) -> None:
    pair = _apart()[name]
    assert all(len(one) == 1 for one in passes(*pair)), passes(*pair)
    same(*pair)


def test_equal_requests_are_one_stage() -> None:
    x = _stored()
    assert passes(x.sum(), x.sum(), (x * 2).max(), (x * 2).max()) == [["sum", "max"]]
    assert passes(x * 2, x * 2) == [["store"]]


def test_a_result_that_is_read_is_kept() -> None:
    """It is stored in any case: what reads it in other ways does not make it again."""
    x = _stored()
    y = sc.exp(sc.sin(x))
    plan = y.plan(on="core", together=[y[1:] - y[:-1]])
    assert [stage.why for stage in plan.stages] == ["read in 2 ways", "the result"]
    same(y, y[1:] - y[:-1])


def test_results_for_the_user_count_until_the_end() -> None:
    x = _stored()
    big, small = x * 2, x.cumsum()[-1:]
    alone = small.plan(on="core").peak_bytes
    both = big.plan(on="core", together=[small])
    assert both.peak_bytes >= alone + 8 * N
    assert both.result_bytes == 8 * N + 8


def test_a_kernel_has_at_most_twelve_sinks() -> None:
    x = sc.asarray(np.random.default_rng(4).normal(size=300_000))
    sums = [(x * float(k)).sum() for k in range(30)]
    assert [len(one) for one in passes(*sums)] == [12, 12, 6]
    same(*sums)


def test_few_elements_of_one_form_are_made_one_by_one() -> None:
    x, w = _stored("float32")[:6000].reshape(20, 30, 10), _stored("float32")[:90].reshape(3, 30)
    windows = [(x[k : k + 3] * w[:, :, None]).sum(axis=(0, 1)) for k in range(18)]
    assert passes(*windows) == [["sum"]] * 18
    assert [len(one) for one in passes(*windows[:4])] == [4]
    assert passes(*windows, on="cores:2") == [["sum"]] * 18
    same(*windows)


def test_what_is_made_of_the_same_few_elements_is_still_one_pass() -> None:
    x, w = _stored(), _stored()[:5000]
    scaled = [x[k : k + 5000] * w for k in range(6)]
    both = [found for one in scaled for found in (one.sum(), one.max())]
    assert passes(*both) == [["sum", "max"]] * 6
    same(*both)


DTYPES = ("bool", "int8", "uint16", "int64", "uint64", "float16", "float32", "float64")


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: str) -> None:
    x = _stored("float64").astype(dtype)[::-3]
    arrays: list[Any] = [
        x.mean(),
        x.std(),
        x.min(),
        x.max(),
        x.any(),
        x.sum(),
        x,
        x + x,
        x[:, None] + 1,
    ]
    same(*arrays)


def test_special_values() -> None:
    draw = np.random.default_rng(0)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1.7e308, -1.7e308])
    for kind in (special, special[3:], special[1:2], special[3:6]):
        x = sc.asarray(draw.choice(kind, 40_000))
        same(x.sum(), x.std(), x.max(), x.min(), (x * x).sum(), x.mean(), x * 2)


def test_results_made_of_the_same_pieces_share_a_pass() -> None:
    """Region by region."""
    x = _stored().reshape(700, 100)
    wide = sc.roll(x, 1, 0) + sc.roll(x, -1, 1)
    arrays = wide * 2, wide > 0, wide.astype("float32")
    assert passes(*arrays) == [["store", "store", "store"]]
    same(*arrays)
    assert passes(sc.roll(x, 1, 0) + 1, sc.roll(x, 2, 0) + 1) == [["store"], ["store"]]


def test_shapes_that_are_cut_in_tiles() -> None:
    """Transposed, strided, broadcast, short rows: the loops of a store that is also folded."""
    base = sc.asarray(np.random.default_rng(5).normal(size=(90, 70, 6)))
    for x in (base.transpose(2, 0, 1), base[::2, ::-1, 1::2], base[:, :, :1] + base[:, :1], base.T):
        same(x.sum(), x.max(), x * 2, x.std())
        same(x + 1, x * 2)


def test_stages_of_a_pass_in_the_middle_of_a_program() -> None:
    """Results that nobody asked for, some as numbers and some as arrays, read by what follows."""
    x = _stored()
    u = sc.exp(x / 50)
    y = (u[1:] - u[:-1]) * u.sum() / u.max() + u.std()
    values = compute_all([y._expr], "core")
    assert_same_bits(values[0], y.compute(on="cores:2"))
