"""Sums that their kernel finishes have the exact bits; the few that it cannot are made by records.

Every kind of data is summed along columns and along rows, so that both kernels see it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, bits, dot_row, reduce_row

import speedcube as sc
from speedcube.engine.finished import cpu as finished
from speedcube.engine.known import memory
from speedcube.engine.prepare import prepare_many
from speedcube.engine.small import call, known, lines
from speedcube.kernel.llvm import simd
from speedcube.kernel.lower import alike
from speedcube.kernel.lower import many as lower_many
from speedcube.kernel.lower.certificates import COUNTED
from speedcube.plan.stages import make_stage

OPS = ("sum", "mean", "var", "std")


class Counted:
    """How many results kernels gave, and how many they left to records."""

    def __init__(self) -> None:
        self.results = self.failed = 0
        self.places, self.made = finished.failed_places, call.results_of

    def __call__(self, results: Any, *arguments: Any) -> Any:
        failed = self.places(results, *arguments)
        self.results += len(results)
        self.failed += len(failed)
        return failed

    def small(self, *arguments: Any) -> Any:
        """Results of a small computation, which looks for places only where some failed."""
        before = self.results
        results = self.made(*arguments)
        self.results = before + results.size
        return results


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counter = Counted()
    monkeypatch.setattr(finished, "failed_places", counter)
    monkeypatch.setattr(call, "results_of", counter.small)
    return counter


def check(x: np.ndarray, axis: int, op: str, ddof: int = 0, array: Any = None) -> None:
    """``op`` of ``x`` along ``axis`` is what exact fractions give."""
    options = {"ddof": ddof} if op in ("var", "std") else {}
    y = sc.asarray(x) if array is None else array
    result = getattr(y, op)(axis=axis, **options).compute(on="core")
    rows = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
    with np.errstate(all="ignore"):
        wanted = [reduce_row(op, row, result.dtype.name, ddof) for row in rows]
    assert_same_bits(result, np.array(wanted, result.dtype).reshape(result.shape), (op, axis))


def both(x: np.ndarray, op: str, ddof: int = 0) -> None:
    """Down the columns of ``x`` (count, results), and along the rows of its transpose."""
    check(x, 0, op, ddof)
    check(np.ascontiguousarray(x.T), 1, op, ddof)


def normals(count: int, results: int, dtype: str = "float64") -> np.ndarray:
    return np.random.default_rng(count + results).standard_normal((count, results)).astype(dtype)


# Ordinary data ---------------------------------------------------------------------------------


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9, 64, 200])
def test_normals(op: str, dtype: str, count: int, counted: Counted) -> None:
    both(normals(count, 37, dtype), op)
    # A record costs thousands of elements: a certificate that always failed would show here.
    assert counted.results == 2 * 37
    assert counted.failed <= 3


@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("op", OPS)
def test_every_target(op: str, target: str) -> None:
    with simd.limited(target):
        both(normals(50, 70), op)
        both(normals(50, 70, "float32") * np.float32(1e30), op)


def growing(kind: str, count: int) -> np.ndarray:
    """Columns whose later rows are larger than any unit of the first ones."""
    rng = np.random.default_rng(count)
    x = rng.standard_normal((count, 40))
    if kind == "ever":
        x *= 2.0 ** (np.arange(count)[:, None] * rng.integers(-2, 3, 40) % 900 - 300)
    elif kind == "wide":
        x *= 10.0 ** rng.integers(-20, 20, x.shape)
    else:
        x[count - 9 :] *= 1e60
        x[:9, 1], x[count - 3, 2], x[-1, 3], x[-2, 4] = 0.0, np.inf, np.nan, 1e308
        x[-(count // 2) :, 5] = -x[: count // 2, 5][::-1]  # cancels
    return x


@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("kind", ["ever", "wide", "late"])
@pytest.mark.parametrize("count", [17, 130, 259, 900])
def test_units_that_grow(kind: str, count: int, target: str, counted: Counted) -> None:
    with simd.limited(target):
        for op in ("sum", "mean"):
            check(growing(kind, count), 0, op)
    assert counted.results == 80
    assert counted.failed <= 16  # infinities; of these data a few are near ties


def test_units_that_grow_in_tall_columns(counted: Counted) -> None:
    for kind in ("wide", "late"):
        check(growing(kind, 9000)[:, :17], 0, "sum")  # fewer are made by records
    assert counted.results == 34
    assert counted.failed <= 3


@pytest.mark.parametrize(
    ("dtype", "rows"), [("float64", 1024), ("float32", 1024), ("float16", 512)]
)
def test_a_tile_is_as_long_a_row_as_processors_ask_for(dtype: str, rows: int) -> None:
    x: Any = sc.asarray(np.zeros((20, 3000), dtype)).sum(axis=0)._expr
    stage = make_stage(x.source.arg, x.source, 1)
    prepared = prepare_many(stage, stage.parts[0])
    assert prepared is not None
    assert (prepared.tiling.rows, prepared.program.sink.rows) == (rows, False)


@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("op", ["sum", "mean"])
def test_units_that_grow_at_the_ends_of_blocks_and_tiles(
    op: str, target: str, counted: Counted
) -> None:
    """Blocks have 32 rows, which are looked at eight at a time; the second tile is no vector."""
    x = normals(139, 1029)
    for k, row in enumerate((7, 8, 31, 32, 63, 64, 71, 72, 95, 96, 127, 128, 135, 136, 137, 138)):
        x[row, [k, 1024 - k, 1028 - k % 5]] *= 10.0 ** (6 * k + 40)
    columns = [*range(16), *range(1008, 1029)]
    with simd.limited(target), np.errstate(all="ignore"):
        result = getattr(sc.asarray(x), op)(axis=0).compute(on="core")
        wanted = [reduce_row(op, row, "float64", 0) for row in x[:, columns].T]
    assert_same_bits(result[columns], np.array(wanted), op)
    assert (counted.results, counted.failed) == (1029, 0)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "bool"])
@pytest.mark.parametrize("op", ["mean", "var", "std"])
def test_integers(op: str, dtype: str) -> None:
    info = np.iinfo(dtype) if dtype != "bool" else np.iinfo("uint8")
    x = np.random.default_rng(1).integers(info.min, info.max, (60, 33), dtype=info.dtype)
    both(x.astype(dtype), op)


@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("dtype", COUNTED)
def test_spreads_of_integers_that_are_as_large_as_can_be(
    dtype: str, target: str, counted: Counted
) -> None:
    """Squares of 32 bits are added up in halves; a lane that is left over counts for nothing."""
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max, info.max - 1], dtype)
    x = np.random.default_rng(2).choice(ends, (7, 4003))
    x[1], x[2, ::2] = info.min, info.max
    with simd.limited(target):
        for op in ("var", "std"):
            check(x, 1, op, 1)
            check(x[:, ::-3], 1, op)
    assert counted.failed == 0


def rows_of_singles() -> np.ndarray:
    """Long rows of float32: such as have sums of a tile, and such as have none, or not always."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((16, 12_345)).astype("f4")
    last = np.arange(12_345)
    x[1] *= np.float32(10.0) ** rng.integers(-12, 12, 12_345)
    x[2, ::2] = 0.0
    x[3] *= np.float32(2.0**-140)
    x[4, 4000::1000] = 3e7
    x[5] = 0.1
    x[6] = np.where(rng.random(12_345) < 0.5, 1 + 2.0**-23, 2.0**-18)  # the width that is exact
    x[7] = np.where(rng.random(12_345) < 0.5, 1 + 2.0**-23, 2.0**-19 + 2.0**-42)  # and more
    x[8] = np.where(last < 6000, 0.0, x[8])
    x[9], x[9, 7::1024] = 2.0**-19 + 2.0**-42, -(2 - 2.0**-23)
    x[10] *= np.float32(2.0) ** (last // 300)
    x[11], x[11, 6000] = 2.0**60, -(2.0**60) + 2.0**37
    x[12, 9000], x[13, 9000] = np.nan, np.inf
    # In a tile's lane what is large cancels, but not before there is what no double has beside it.
    signs = np.array([1.0, 0.0, 0.0, -1.0])[last // 32 % 4]
    x[14] = np.where(signs == 0, 2.0**-55, signs)
    x[15] = np.where((last < 512) | (signs == 0), 1.0, signs * 2.0**60)
    x[14:, -(12_345 % 1024) :] = 0.0
    return x


@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize("op", OPS)
def test_long_rows_of_float32(op: str, target: str) -> None:
    x = rows_of_singles()
    with simd.limited(target):
        check(x, 1, op)
        check(x[:, ::-1], 1, op)
        check(x[:, 1:], 1, op, 1)


def test_long_rows_of_float32_are_finished(counted: Counted) -> None:
    """A tile that does not pass is no reason for a record."""
    for op in ("mean", "std"):
        check(rows_of_singles()[:10], 1, op)
    assert counted.results == 20
    assert counted.failed <= 5


@pytest.mark.parametrize("low", [-100, -(2**53) - 3, 2**53 - 3, 2**63 - 9, -(2**63)])
def test_wide_integers(low: int) -> None:
    for dtype in ("int64", "uint64") if low > 0 else ("int64",):
        x = np.random.default_rng(1).integers(low, low + 9, (20, 33), dtype=dtype)
        for op in ("mean", "var", "std"):
            both(x, op)
            both(x[:2], op)


def test_long_lines(counted: Counted) -> None:
    x = normals(9000, 5)
    x[:, 2] += 1e6
    for op in ("sum", "std"):
        both(x, op)
    assert counted.failed <= 2


def test_many_results(counted: Counted) -> None:
    x = normals(3, 100_000)
    for array, axis in ((x, 0), (np.ascontiguousarray(x.T), 1)):
        result = sc.asarray(array).sum(axis=axis).compute(on="core")
        places = np.arange(0, 100_000, 997)
        wanted = [reduce_row("sum", x[:, k], "float64") for k in places]
        assert_same_bits(result[places], np.array(wanted))
    assert counted.failed == 0


# Hard data -------------------------------------------------------------------------------------

_STEPS = 2.0 ** np.arange(-30, 31)
HARD: dict[str, list[float]] = {
    "ties": [1.0, 2.0**-53, 3.0, 2.0**-52, -1.0, 2.0**53, 1.0, 2.0**-106],
    "powers of two": [1.0, -(2.0**-54), 2.0**-60, -(2.0**-60), 2.0**-108, 0.5],
    "zeros": [0.0, -0.0, 0.0, -0.0],
    "infinities": [1.0, np.inf, 0.0, -0.0, 2.0],
    "both infinities": [np.inf, 1.0, -np.inf, 0.0],
    "NaN": [1.0, np.nan, np.inf, -1e300],
    "subnormals": [5e-324, -5e-324, 1e-310, 2e-308, 3e-323],
    "huge": [1.7e308, 1.7e308, -1.7e308, -1.7e308, 1e292],
    "huge range": [1e300, 1e-300, -1e300, 1.0, 5e-324, 1e150],
    "squares out of range": [1e200, 1e-200, 1e-170, 3e-162, 1e155],
    "cancelling": [1e16, 1.0, -1e16, 1e-5, 3.0, -3.0],
    "constant": [0.1],
    "short": [1.0, 2.0, 255.0, 0.0, 17.0],
    "large mean": [1e9 + 0.1, 1e9 + 0.2, 1e9 - 0.3],
    "steps": list(_STEPS),
}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", HARD)
def test_hard_data(kind: str, op: str) -> None:
    rng = np.random.default_rng(7)
    for count, results in ((2, 60), (5, 40), (70, 30)):
        both(rng.choice(HARD[kind], (count, results)), op)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", ["var", "std"])
def test_columns_of_one_number_are_not_left_to_records(
    op: str, dtype: str, counted: Counted
) -> None:
    x = normals(30, 90, dtype)
    x[:, ::3] = x[0, ::3]
    x[:, 3:5] = 0.0, -0.0
    check(x, 0, op)
    assert counted.failed == 0
    x[:, 6:12:3] = np.inf, -np.inf
    check(x, 0, op)
    assert counted.failed == 2


@pytest.mark.parametrize("ddof", [0, 1])
def test_spreads_of_two(ddof: int) -> None:
    values = [x for kind in HARD.values() for x in kind]
    x = np.random.default_rng(ddof).choice(values, (2, 300))
    for op in ("var", "std"):
        both(x, op, ddof)
        with np.errstate(over="ignore"):
            both(x.astype(np.float32), op, ddof)
        both(normals(2, 200, "float32"), op, ddof)
        both(normals(2, 200), op, ddof)


@pytest.mark.parametrize("op", OPS)
def test_hard_columns_beside_ordinary_ones(op: str) -> None:
    x = normals(40, 60)
    for k, values in enumerate(HARD.values()):
        x[:, 4 * k] = np.random.default_rng(k).choice(values, 40)
    both(x, op)
    with np.errstate(all="ignore"):
        both(x.astype(np.float32), op)


@pytest.mark.parametrize("op", ["sum", "mean"])
def test_values_that_grow_after_the_rows_that_are_probed(op: str, counted: Counted) -> None:
    x = normals(41, 50) * 1e-9
    x[33, 10:] = 1e12
    x[39, 20] = np.nan
    check(x, 0, op)
    assert counted.failed == 0  # the tile is made once more


def test_ties_of_short_columns_are_certain_by_their_least_magnitude(counted: Counted) -> None:
    x = normals(24, 5000)
    x[::3, ::2] = 0.0  # which is no least magnitude
    check(x, 0, "sum")
    assert counted.failed == 0
    # Half a last place, and what is below all that a rest may have.
    tiny = np.ldexp(1.0, -np.arange(54, 120))
    x = np.zeros((32, 3 * len(tiny)))
    x[0], x[5], x[20] = 1.0, 2.0**-53, np.concatenate([tiny, -tiny, 0 * tiny])
    check(x, 0, "sum")
    check(x[::-1], 0, "mean")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_ties_round_to_even(dtype: str, counted: Counted) -> None:
    """Halves of last places: a rest that rounds would leave them all uncertain."""
    last = float(np.spacing(np.ones(1, dtype))[0])
    rng = np.random.default_rng(3)
    x = 1.0 + rng.integers(0, 8, (4, 200)) * last
    both(x.astype(dtype), "sum")
    both(x.astype(dtype), "mean")
    assert counted.failed == 0


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("count", [3, 16, 24, 25])
def test_float32_at_the_limits_of_the_quick_way(op: str, count: int, counted: Counted) -> None:
    """Ties of sums and of quotients, sums that cancel, ranges just too wide to add exactly."""
    rng = np.random.default_rng(count)
    whole = rng.integers(-(2**24), 2**24, (count, 60)).astype(np.float32)
    wide = whole * 2.0 ** rng.integers(-14, 14, (count, 60))
    cancelling = np.concatenate([whole[: count // 2], -whole[: (count + 1) // 2]])
    cancelling[0] += rng.integers(0, 3, 60)
    halves = rng.choice(np.array([0.0, 1.0, 2.0**24, 2.0**25 + 2, 3.0]), (count, 60))
    for x in (whole, wide, wide * 2.0**-130, cancelling, halves, wide * 1e25):
        check(x.astype(np.float32), 0, op)
    if op in ("sum", "mean"):
        assert counted.failed <= 60


@pytest.mark.parametrize("op", OPS)
def test_degrees_of_freedom(op: str) -> None:
    x = normals(3, 20)
    for ddof in (0, 1, 2, 3, 4):
        both(x, op, ddof)


words = st.one_of(
    st.integers(0, 2**64 - 1).map(lambda w: float(np.uint64(w).view(np.float64))),
    st.builds(lambda m, e: float(m) * 2.0**e, st.integers(-5, 5), st.integers(-60, 60)),
    st.floats(-1e3, 1e3),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(words, min_size=6, max_size=6), min_size=1, max_size=20),
    st.sampled_from(OPS),
    st.sampled_from(["float32", "float64"]),
)
def test_any_words(columns: list[list[float]], op: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array(columns, np.float64).astype(dtype)
    both(np.concatenate([x, np.ones_like(x[:1])], axis=0), op)


def check_dots(x: np.ndarray, y: np.ndarray) -> None:
    """Dots down the columns, and along the rows of the transposes, are what fractions give."""
    for a, b, axis in ((x, y, 0), (np.ascontiguousarray(x.T), np.ascontiguousarray(y.T), 1)):
        result = sc.vecdot(sc.asarray(a), sc.asarray(b), axis=axis).compute(on="core")
        with np.errstate(all="ignore"):
            pairs = zip(x.T, y.T, strict=True)
            wanted = np.array([dot_row(u, v, result.dtype.name) for u, v in pairs], result.dtype)
        assert_same_bits(result, wanted, axis)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_dots(dtype: str, counted: Counted) -> None:
    for count in (2, 9, 70):
        x, y = normals(count, 41, dtype), normals(count, 42, dtype)[:, :41]
        check_dots(x, np.ascontiguousarray(y))
    assert counted.results == 6 * 41
    assert counted.failed <= 3


def test_dots_of_hard_data() -> None:
    rng = np.random.default_rng(8)
    values = [x for kind in HARD.values() for x in kind]
    for count in (2, 5, 30):
        x, y = rng.choice(values, (2, count, 80))
        check_dots(x, y)
        for data in HARD.values():
            check_dots(rng.choice(data, (count, 12)), rng.choice(data, (count, 12)))
    # A tie that a product below the least number breaks.
    tie = np.array([[1.0], [2.0**-53], [2.0**-600]])
    check_dots(np.repeat(tie, 2, 1), np.array([[1.0, 1.0], [1.0, 1.0], [2.0**-600, -(2.0**-600)]]))


@pytest.mark.parametrize("target", simd.runnable())
def test_dots_on_every_target(target: str) -> None:
    with simd.limited(target):
        check_dots(normals(33, 50), normals(34, 50)[:33])


# A certificate that fails ----------------------------------------------------------------------


def _forget() -> None:
    for met in (known._known, known._met, lines._known, memory._known, alike._patterns):
        met.clear()


@pytest.fixture
def uncertain(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kernels whose bound is too wide for any certificate; of those met before nothing is known."""
    _forget()
    numbers = lower_many._numbers

    def planted(source: Any, parameters: Any) -> int:
        first = numbers(source, parameters)
        parameters.words[first + 2] = int(np.float64(1e300).view(np.uint64))
        return first

    monkeypatch.setattr(lower_many, "_numbers", planted)
    yield
    _forget()


@pytest.mark.usefixtures("uncertain")
@pytest.mark.parametrize("op", OPS)
def test_planted_failures_are_made_by_records(op: str, counted: Counted) -> None:
    both(np.exp(9 * normals(90, 50)), op)
    assert counted.failed > 50


# Where the elements lie ------------------------------------------------------------------------


def _views(x: np.ndarray, y: Any) -> list[tuple[np.ndarray, Any]]:
    return [
        (x, y),
        (x[::-1], y[::-1]),
        (x[:, ::3], y[:, ::3]),
        (x[..., ::-2], y[..., ::-2]),
        (x.transpose(2, 0, 1), y.transpose(2, 0, 1)),
        (x.transpose(1, 2, 0)[::2], y.transpose(1, 2, 0)[::2]),
        (x[:, :1], y[:, :1]),
        (x[:, :, 4:5], y[:, :, 4:5]),
    ]


@pytest.mark.parametrize("op", ["mean", "std"])
def test_views_and_axes(op: str) -> None:
    stored = normals(12, 9 * 20).reshape(12, 9, 20)
    for x, y in _views(stored, sc.asarray(stored)):
        for axis in range(3):
            check(x, axis, op, array=y)


def test_two_axes_at_once() -> None:
    x = normals(6, 7 * 8 * 9).reshape(6, 7, 8, 9)
    y = sc.asarray(x)
    for axes in ((0, 2), (1, 3), (0, 3), (1, 2), (0, 1, 3)):
        kept = tuple(k for k in range(4) if k not in axes)
        rows = x.transpose(*kept, *axes).reshape(*(x.shape[k] for k in kept), -1)
        wanted = np.apply_along_axis(lambda r: reduce_row("sum", r, "float64"), -1, rows)
        assert_same_bits(y.sum(axis=axes).compute(on="core"), wanted, axes)


@pytest.mark.parametrize("axis", [0, 1])
def test_expressions(axis: int) -> None:
    a, b = normals(50, 80), normals(80, 50).T
    y = sc.asarray(a) * 2 + sc.exp(sc.asarray(b))
    check(y.compute(), axis, "sum", array=y)
    check(y.compute(), axis, "var", array=y)


@pytest.mark.parametrize("axis", [0, 1])
def test_generated(axis: int) -> None:
    rng = sc.random.default_rng(5)
    for y in (rng.normal(size=(20, 1100)), rng.random((300, 20)), rng.gamma(2.0, size=(20, 30))):
        check(y.compute(), axis, "mean", array=y)


def test_two_workers_give_the_same_bits() -> None:
    x = normals(40, 2000)
    for axis in (0, 1):
        y = sc.asarray(x).std(axis=axis)
        alone = y.compute(on="core")
        assert (bits(alone) == bits(y.compute(on="cores"))).all()


# The rule --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "axes", "rows"),
    [
        ((20, 300, 600), (0,), False),
        ((1_000_000, 3), (1,), False),  # short rows: side by side
        ((1000, 2000), (1,), True),
        ((1000, 2000), (0,), False),
        ((10, 1 << 23), (1,), None),  # long rows, few results
        ((1 << 25, 10), (0,), None),
        ((1000, 1000), (0, 1), True),  # one result: a row
    ],
)
def test_which_sums_have_records(
    shape: tuple[int, ...], axes: tuple[int, ...], rows: bool | None
) -> None:
    y = sc.asarray(np.broadcast_to(np.zeros(1), shape).copy() if np.prod(shape) < 1e7 else 0.0)
    if y.shape != shape:
        y = sc.random.default_rng(1).random(shape)
    source = y.sum(axis=axes)._expr.source
    stage = make_stage(source.arg, source, 1)
    prepared = prepare_many(stage, stage.parts[0])
    assert (None if prepared is None else prepared.program.sink.many.rows) is rows


@pytest.mark.parametrize("op", ["sum", "std", "max", "argmin"])
def test_lanes_that_run_backwards(op: str) -> None:
    """They are walked forwards, and their results stored backwards."""
    x = normals(40, 1500).reshape(40, 50, 30)
    for view in (x[::-1, ::-1, ::-1], x[..., ::-1], x.T[::-1, :, ::-2]):
        plain = sc.asarray(np.ascontiguousarray(view))
        for axis in range(3):
            backwards = getattr(sc.asarray(view), op)(axis=axis).compute(on="core")
            assert_same_bits(backwards, getattr(plain, op)(axis=axis).compute(on="core"), axis)
            # Beside one that runs forwards they are gathered.
            mixed = getattr(sc.asarray(view) + plain, op)(axis=axis).compute(on="core")
            assert_same_bits(mixed, getattr(plain + plain, op)(axis=axis).compute(on="core"), axis)


@pytest.mark.parametrize("target", simd.runnable())
def test_rows_that_begin_with_zeros_or_small_numbers(target: str, counted: Counted) -> None:
    x = normals(6, 1500)
    x[1, :255] = x[2, :1100] = x[3, 1:] = 0.0
    x[4, :512] *= 1e-3
    with simd.limited(target):
        for op in OPS:
            check(x, 1, op)
        check(x[:, :600], 1, "sum")
    assert counted.results == 30
    assert counted.failed <= 10  # what begins with a tile of zeros
