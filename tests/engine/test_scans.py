"""Products, running products and running sums: fixed by position, the same bits however cut."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, elements

import speedcube as sc
from speedcube import dtypes
from speedcube.engine.scans import odd
from speedcube.errors import AxisError, UnsupportedError
from speedcube.expr import scans
from speedcube.kernel.llvm.compile import QUICK, compile_object, load_object, source
from speedcube.kernel.llvm.scans.layout import SCRATCH, STATE
from speedcube.kernel.llvm.simd import targets
from speedcube.kernel.program import Scan

RNG = np.random.default_rng(11)
WIDE = RNG.normal(size=5000) * np.exp(RNG.normal(size=5000) * 100)  # hundreds of binades
SPECIAL = np.array([1.0, -0.0, np.inf, 2.0, 1e308, -np.inf, 3.0, np.nan, 1.0])


def prefix_sums(values: np.ndarray) -> np.ndarray:
    return np.array([math.fsum(values[: k + 1]) for k in range(len(values))])


def defined(x: sc.Array) -> np.ndarray:
    """By `speedcube.expr.scans`, of elements by the IR evaluator."""
    return elements(x._expr)


# Definitions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=1500),
        RNG.uniform(1, 2, size=2048),  # as large as a tile's sums can be
        WIDE[:1100],
        np.array([1e16, 1.0, -1e16, 2.0**-60]),
        np.array([1.0, 2.0**-53, 2.0**-112, -(2.0**-112), -(2.0**-112)]),  # about half way
    ],
    ids=["normals", "of one sign", "wide", "cancelling", "ties"],
)
def test_running_sums_are_fsums(values: np.ndarray) -> None:
    assert_same_bits(sc.cumsum(values).compute(), prefix_sums(values))


def test_the_last_running_sum_is_the_sum() -> None:
    for x in (sc.random.default_rng(3).normal(size=200_001), sc.asarray(WIDE)):
        for y in (x, x.astype("float32")):
            assert_same_bits(y.cumsum()[-1].compute(), y.sum().compute())


def test_float32_is_rounded_once() -> None:
    values = np.array([1.0, 2.0**-24, 2.0**-60], "float32")
    computed = sc.cumsum(values).compute()
    assert_same_bits(computed, np.array([1.0, 1.0, 1.0 + 2.0**-23], "float32"))


def test_an_overflow_on_the_way_comes_back() -> None:
    values = np.array([1.7e308, 1.7e308, -1.7e308, -1.7e308, 5e-324])
    assert_same_bits(sc.cumsum(values).compute(), np.array([1.7e308, np.inf, 1.7e308, 0.0, 5e-324]))


def test_products_are_a_tree_of_neighbours() -> None:
    a, b, c, d, e = RNG.normal(size=5).tolist()
    assert sc.prod([a, b, c, d, e]).compute() == ((a * b) * (c * d)) * e
    assert sc.prod([[a, b, c], [d, e, a]], axis=1).compute().tolist() == [a * b * c, d * e * a]


def test_a_running_product_starts_anew_every_1024() -> None:
    values = 1 + RNG.normal(size=2500) / 30
    computed = sc.cumprod(values).compute()
    inside = np.multiply.accumulate(values[2048:])
    assert_same_bits(computed[2048:], sc.prod(values[:2048]).compute() * inside)
    assert_same_bits(computed[:1024], np.multiply.accumulate(values[:1024]))


def test_float32_products_are_made_in_float64() -> None:
    values = np.array([1e30, 1e30, 1e-30, 1e-30], "float32")
    wanted = np.prod(values.astype("float64")).astype("float32")
    assert_same_bits(sc.prod(values).compute(), wanted)
    assert sc.cumprod(values).compute()[-1] == wanted


def test_nothing() -> None:
    empty = sc.zeros((3, 0))
    assert_same_bits(empty.prod(axis=1).compute(), np.ones(3))
    assert empty.cumsum(axis=1).compute().shape == (3, 0)
    assert empty.cumsum(axis=0).compute().shape == (3, 0)
    assert empty.cumprod().compute().shape == (0,)
    computed = sc.cumulative_prod(empty, axis=1, include_initial=True).compute()
    assert_same_bits(computed, np.ones((3, 1)))
    assert_same_bits(sc.full((), 3.0).cumsum().compute(), np.array([3.0]))


@pytest.mark.parametrize("dtype", dtypes.ALL)
def test_numpys_dtypes_and_values(dtype: str) -> None:
    values = RNG.integers(0, 2 if dtype == "bool" else 4, (3, 40, 5)).astype(dtype)
    for axis in (None, 0, 1, -1):
        for name in ("cumsum", "cumprod", "prod"):
            computed = getattr(sc, name)(values, axis=axis).compute()
            with np.errstate(all="ignore"):
                wanted = getattr(np, name)(values, axis=axis)
            assert computed.dtype == wanted.dtype
            np.testing.assert_allclose(computed, wanted, 1e-4 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "uint64", "float32", "bool"])
def test_a_dtype_is_honoured(dtype: str) -> None:
    values = RNG.integers(-100, 100, (7, 9))
    for name in ("cumsum", "cumprod", "prod"):
        computed = getattr(sc, name)(values, axis=1, dtype=dtype).compute()
        wanted = getattr(np, name)(values, axis=1, dtype=dtype)
        if name == "cumsum" and dtype == "bool":
            wanted = np.logical_or.accumulate(values, axis=1)
        assert computed.dtype == wanted.dtype
        np.testing.assert_allclose(computed, wanted, 1e-5)


def test_floats_are_truncated_to_an_integer_dtype_first() -> None:
    assert sc.cumsum([1.7, 1.7, -1.7], dtype="int64").compute().tolist() == [1, 2, 1]


# Special values ---------------------------------------------------------------------------------


@pytest.mark.parametrize("start", range(len(SPECIAL)))
def test_nan_and_infinities_in_running_sums(start: int) -> None:
    values = np.concatenate([RNG.normal(size=1500), SPECIAL[start:], RNG.normal(size=1500)])
    computed = sc.cumsum(np.stack([values, np.ones_like(values)]), axis=1).compute()
    with np.errstate(invalid="ignore"):
        wanted = np.add.accumulate(np.where(np.isfinite(values), 0.0, values))
    assert_same_bits(computed[0][~np.isfinite(wanted)], wanted[~np.isfinite(wanted)])
    assert np.isfinite(computed[0][:1500]).all()
    assert_same_bits(computed[1], np.arange(1.0, len(values) + 1))  # the next line is not touched


def test_sums_of_zeros_are_positive() -> None:
    assert_same_bits(sc.cumsum([-0.0, -0.0, 1.0, -1.0]).compute(), np.array([0.0, 0.0, 1.0, 0.0]))


def test_every_nan_of_a_product_is_numpys() -> None:
    odd = np.array([0x7FF0_0000_0000_0001, 0xFFF8_0000_0000_0007], np.uint64).view("f8")
    for values in (odd, np.array([np.inf, 0.0, -1.0])):
        for computed in (sc.prod(values).compute(), sc.cumprod(values).compute()[-1]):
            assert np.float64(computed).tobytes() == np.float64(np.nan).tobytes()


# The same bits, however cut ---------------------------------------------------------------------

CASES: dict[str, Any] = {
    "running sum": lambda x: x.cumsum(),
    "float32 running sum": lambda x: x.astype("float32").cumsum(),
    "running sums of columns": lambda x: x.reshape(-1, 3).cumsum(axis=0),
    "running sums of few lines": lambda x: x.reshape(2, -1).cumsum(axis=1),
    "running sums of many lines": lambda x: x.reshape(-1, 7).cumsum(axis=1),
    "running sums from nothing": lambda x: sc.cumulative_sum(
        x.reshape(2, -1), axis=1, include_initial=True
    ),
    "from nothing, in columns": lambda x: sc.cumulative_sum(
        x.reshape(-1, 7), axis=0, include_initial=True
    ),
    "from nothing, in rows": lambda x: sc.cumulative_prod(
        x.reshape(-1, 7), axis=1, include_initial=True
    ),
    "running sums of two columns": lambda x: x[:36_000].reshape(-1, 2).cumsum(axis=0),
    "running products of two, from nothing": lambda x: sc.cumulative_prod(
        (x[:36_000] / 100 + 1).reshape(-1, 2), axis=0, include_initial=True
    ),
    "running product": lambda x: (x / 100 + 1).cumprod(),
    "running products of few lines": lambda x: (x / 100 + 1).reshape(3, -1).cumprod(axis=1),
    "product": lambda x: (x / 100 + 1).prod(),
    "products of few lines": lambda x: (x / 100 + 1).reshape(-1, 3).prod(axis=0),
    "products of many lines": lambda x: x.reshape(-1, 9).prod(axis=1),
    "products over axes": lambda x: (x / 100 + 1).reshape(21, -1, 50).prod(axis=(0, 2)),
    "integers": lambda x: (x * 1e18).astype("int64").cumsum(),
    "integer products": lambda x: ((x * 1e18).astype("uint64") | 1).cumprod(),
    "of a view": lambda x: x[::-3].cumsum()[5::2] * 2 + 1,
    "in further arithmetic": lambda x: x.cumsum() / (x + 3).cumsum() - x.mean(),
    "of a running sum": lambda x: x.cumsum().cumsum().reshape(7, -1).prod(axis=1),
    "wide": lambda x: (x * sc.exp(x * 100)).cumsum(),
}


@pytest.mark.parametrize("name", CASES)
def test_same_bits_on_any_number_of_workers(name: str) -> None:
    x = sc.random.default_rng(5).normal(size=37_800)
    y = CASES[name](x)
    wanted = y.compute(on="core")
    assert_same_bits(wanted, defined(y))
    for workers in range(2, 6):
        assert_same_bits(y.compute(on=f"cores:{workers}"), wanted, workers)


@pytest.mark.parametrize("block", [1, 700, 1025])
def test_same_bits_in_any_block(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that end inside of pieces, tiles and lines."""
    x = sc.random.default_rng(6).normal(size=(3, 1400)) / 30 + 1
    arrays = [x.cumsum(), x.cumprod(axis=1), x.prod(), x.prod(axis=1), x[:, :7].cumprod()]
    arrays += [x.reshape(-1, 7).cumsum(axis=1), x.reshape(-1, 7).prod(axis=1), x.cumprod()]
    wanted = [y.compute(on="core") for y in arrays]
    monkeypatch.setattr("speedcube.engine.cpu.BLOCK", block)
    for y, values in zip(arrays, wanted, strict=True):
        assert_same_bits(y.compute(on="core"), values, y)


@pytest.mark.parametrize("target", targets())
def test_same_bits_on_every_target(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of another length and no vectors at all."""
    values = RNG.normal(size=4000) * np.exp(RNG.normal(size=4000) * 3)
    values[1600:1700] *= 2.0 ** -np.arange(100)
    for op, dtype in (("cumsum", "float64"), ("prod", "float64"), ("cumprod", "float64")):
        program = Scan(op, dtype, dtype)
        text = source(program, target, QUICK[target])
        kernel = load_object(compile_object(text, target))
        words = np.array([len(values), 0, 1500, 1, 0, 0], np.int64)
        state, out = np.zeros(STATE), np.empty_like(values)
        scratch = np.empty(SCRATCH + 64, np.uint8)
        kernel.function(
            *(a.ctypes.data for a in (words, values, state)),
            (scratch.ctypes.data + 63) & ~63,
            out.ctypes.data,
        )
        lines = [values[k : k + 1500] for k in range(0, len(values), 1500)]
        if op == "cumsum":
            wanted = np.concatenate([prefix_sums(line) for line in lines])
        elif op == "cumprod":
            wanted = np.concatenate([scans.running_products(line) for line in lines])
        else:
            pieces = [line[k : k + 1024] for line in lines for k in range(0, len(line), 1024)]
            wanted = np.array([scans.product(piece) for piece in pieces])
        assert_same_bits(out[: len(wanted)], wanted, (target, op))


def line_after_line(values: np.ndarray, name: str, axis: int) -> np.ndarray:
    """``name`` along ``axis`` of values whose lines are put one after the other."""
    lines = np.ascontiguousarray(np.moveaxis(values, axis, -1))
    computed = getattr(sc, name)(lines, axis=-1).compute(on="core")
    return computed if name == "prod" else np.moveaxis(computed, -1, axis)


# Few columns; several matrices at once; more columns than a panel has; those whose axes are uneven
# in memory (read backwards, or transposed); more rows than a panel, a piece and a group have.
COLUMNS = {
    "few": RNG.normal(size=(2300, 3)),
    "many": RNG.normal(size=(70, 1300)),
    "in panels": RNG.normal(size=(1030, 3, 900)),
    "backwards": RNG.normal(size=(9, 5, 2500))[::-1, ::-1],
    "transposed": RNG.normal(size=(700, 5, 30)).T,
    "several": RNG.normal(size=(40, 9, 5)),
    "in steps": RNG.normal(size=(60, 90))[:, ::2],
    "float32": RNG.normal(size=(90, 70)).astype("float32"),
    "integers": RNG.integers(-9, 9, (90, 3, 70)),
}


@pytest.mark.parametrize("op", ["cumsum", "cumprod", "prod"])
@pytest.mark.parametrize("name", COLUMNS)
def test_columns_have_the_bits_of_lines(name: str, op: str) -> None:
    values = COLUMNS[name] if op == "cumsum" else 1 + COLUMNS[name] // 1 / 32
    for axis in range(values.ndim - 1):
        wanted = line_after_line(values, op, axis)
        for x in (sc.asarray(values), sc.asarray(values) * 1):  # read in memory, and made
            for rung in ("core", "cores:3"):
                computed = getattr(x, op)(axis=axis).compute(on=rung)
                assert computed.flags.c_contiguous
                assert_same_bits(computed, wanted, (axis, rung))


@pytest.mark.parametrize("shape", [(50, 3, 40), (3000, 20), (3, 1200, 3)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_odd_columns_beside_others(shape: tuple[int, ...], dtype: str) -> None:
    """Columns that are too wide, infinite or no number somewhere; their neighbours are not."""
    values = RNG.normal(size=shape)
    values[..., 2] *= np.exp(RNG.normal(size=shape[:-1]) * 30)
    values[RNG.random(shape) < 0.002] = np.nan
    values[RNG.random(shape) < 0.002] = np.inf
    with np.errstate(over="ignore"):
        values = values.astype(dtype)
    axis = len(shape) - 2
    assert_same_bits(
        sc.cumsum(values, axis=axis).compute(on="core"), line_after_line(values, "cumsum", axis)
    )


@pytest.mark.parametrize("share", [0.1, 0.0005])
@pytest.mark.parametrize("what", [np.nan, np.inf])
def test_a_column_is_left_alone_once_it_is_no_number(
    what: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sums stay so: it is taken apart from its neighbours where it becomes so, and no more."""
    taken: list[int] = []
    sums = odd.OddColumns._sums

    def counted(self: odd.OddColumns, lines: np.ndarray, place: int) -> Any:
        taken.append(lines.size)
        return sums(self, lines, place)

    monkeypatch.setattr(odd.OddColumns, "_sums", counted)
    values = RNG.normal(size=(1300, 1100))
    values[RNG.random(values.shape) < share] = what
    made = sc.cumsum(values, axis=0).compute(on="core")
    assert_same_bits(made, sc.cumsum(values.T.copy(), axis=1).compute(on="core").T)
    assert 0 < sum(taken) < values.size // 10


def test_what_comes_behind_odd_elements_of_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Infinities meet their opposites; sums beyond float64, and wide ones, come back."""
    values = RNG.normal(size=(3000, 40))
    values[[5, 2000], 1] = np.inf, -np.inf
    values[[900, 901], 2] = -np.inf, np.inf
    values[[900, 1500, 2100], 3] = np.inf, np.inf, np.nan
    values[[5, 6, 1000, 1700], 4] = 1.5e308, 1.5e308, -1.5e308, -1.5e308
    values[[1200, 2400], 5] = 1e300, -1e300
    values[[0, 2999], 6] = 2.0**-1000, np.inf
    values[[1100, 1101, 2800], 7] = 1.7e308, 1.7e308, -np.inf
    values[:, 8] *= 10.0 ** RNG.integers(-150, 150, 3000)
    left: list[int] = []
    take = odd.OddColumns.take

    def counted(self: odd.OddColumns, *args: Any) -> Any:
        found = take(self, *args)
        left.append(len(self.places))
        return found

    monkeypatch.setattr(odd.OddColumns, "take", counted)
    for dtype in ("float64", "float32"):
        with np.errstate(over="ignore"):
            x = values.astype(dtype)
        for lazy in (sc.asarray(x), sc.asarray(x) * 1):
            made = sc.cumsum(lazy, axis=0).compute(on="core")
            assert_same_bits(made, line_after_line(x, "cumsum", 0), dtype)
    assert left[:2] == [2, 1]  # what was beyond float64 fits again


def test_a_wide_sum_is_rounded_by_its_last_bit_wherever_that_is() -> None:
    """Ties, with a bit of either sign far below, or without."""
    ends = [(e, k) for e in range(-1000, 1001, 37) for k in (*range(1, 130), *range(130, 2000, 61))]
    lines = np.array(
        [
            [sign * 2.0**e, odd * 2.0 ** (e - 52), 2.0 ** (e - 53), low * 2.0 ** (e - 53 - k)]
            for e, k in ends
            if e - 53 - k >= -1074
            for sign, odd, low in ((1, 0, 1), (1, 1, -1), (-1, 1, 1), (-1, 0, -1), (1, 1, 0))
        ]
    )
    wanted = [[math.fsum(line[: k + 1]) for k in range(4)] for line in lines.tolist()]
    assert_same_bits(sc.cumsum(lines, axis=1).compute(on="core"), np.array(wanted) + 0.0)


def test_columns_of_scales_of_their_own() -> None:
    """A column has its own units: one of 1e300 beside one of 1e-300 needs no limbs."""
    values = RNG.normal(size=(2000, 8)) * 10.0 ** np.linspace(-300, 300, 8)
    computed = sc.cumsum(values, axis=0).compute(on="core")
    assert_same_bits(computed, line_after_line(values, "cumsum", 0))
    from_nothing = sc.cumulative_sum(values, axis=0, include_initial=True).compute(on="core")
    assert_same_bits(from_nothing[1:], computed)
    assert not from_nothing[0].any()


@settings(max_examples=60, deadline=None)
@given(
    shape=st.sampled_from([(7,), (1,), (2, 1030), (1500,), (3, 4, 5), (40, 30), (2, 3, 700)]),
    dtype=st.sampled_from(["float64", "float32", "int64", "uint8", "bool"]),
    name=st.sampled_from(["cumsum", "cumprod", "prod"]),
    spread=st.sampled_from([0.0, 1.0, 20.0, 300.0]),
    order=st.randoms(use_true_random=False),
    seed=st.integers(0, 9),
)
def test_any_shape_axis_view_and_dtype(
    shape: tuple[int, ...], dtype: str, name: str, spread: float, order: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        values = (rng.normal(size=shape) * np.exp(spread * rng.normal(size=shape))).astype(dtype)
    x = sc.asarray(values)
    axes = list(range(x.ndim))
    order.shuffle(axes)
    x = x.transpose(axes)[tuple(slice(None, None, order.choice([1, -1, 2])) for _ in axes)]
    axis = order.choice([None, *range(x.ndim)])
    y = getattr(x, name)(axis=axis)
    assert_same_bits(y.compute(on="core"), defined(y), f"{name} {axis} of {x}")
    assert_same_bits(y.compute(on="cores:3"), defined(y))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("length", [1, 10, 850, 3000])
def test_sums_that_need_limbs(dtype: str, length: int) -> None:
    """Every exponent, cancellation, ties, what overflows and what is least, in lines."""
    info = np.finfo(dtype)
    exponents = RNG.integers(info.minexp - info.nmant, info.maxexp, 3000)
    with np.errstate(over="ignore", under="ignore"):
        values = np.ldexp(RNG.integers(-(2**24), 2**24, 3000) * 2.0**-24, exponents).astype(dtype)
        tie = np.array([1.0, 2.0**-info.nmant / 2, info.smallest_subnormal], dtype)
    values[1::3] = -values[::3]
    values[300:303], values[903:906] = tie, [info.max, info.max, -info.max]
    x = sc.asarray(values)[: 3000 // length * length].reshape(-1, length)
    assert_same_bits(x.cumsum(axis=1).compute(on="core"), defined(x.cumsum(axis=1)))
    assert_same_bits(x.cumsum(axis=1)[:, -1].compute(), x.sum(axis=1).compute())


# How they behave --------------------------------------------------------------------------------


def test_numpys_functions_are_ours() -> None:
    values = RNG.normal(size=(4, 6))
    x = sc.asarray(values)
    for function, keywords in (
        (np.cumsum, {"axis": 1}),
        (np.cumprod, {"axis": 0}),
        (np.prod, {"axis": (0, 1), "keepdims": True}),
        (np.cumulative_sum, {"axis": 0, "include_initial": True}),
        (np.cumulative_prod, {"axis": 1, "include_initial": True}),
        (np.add.accumulate, {"axis": 1}),
        (np.multiply.accumulate, {}),
        (np.multiply.reduce, {"axis": 1}),
    ):
        result = function(x, **keywords)
        assert isinstance(result, sc.Array)
        np.testing.assert_allclose(result.compute(), function(values, **keywords), 1e-13)


def test_plans_are_small_and_nothing_is_computed() -> None:
    x = sc.random.default_rng(1).normal(size=2**40)
    plan = x.prod().plan(on="cores:4")
    assert (plan.tasks, plan.result_bytes) == (5, 8)
    assert plan.peak_bytes < 1 << 27
    y = sc.random.default_rng(1).normal(size=2**20).cumsum()
    assert y.plan(on="cores:4").tasks == 10
    assert y.reshape(2**10, 2**10)[::2].shape == (512, 1024)
    assert repr(y).startswith("<speedcube.Array (1048576,) float64: normal(0, 1).cumsum")
    with pytest.raises(sc.errors.MemoryLimitError, match="bytes per worker"):
        x.cumsum().compute()


def test_bad_requests() -> None:
    x = sc.ones((3, 4))
    for bad in (2, -3):
        with pytest.raises(AxisError, match="out of range"):
            x.cumsum(axis=bad)
        with pytest.raises(AxisError, match="out of range"):
            x.prod(axis=bad)
    with pytest.raises(AxisError, match="must be an integer"):
        x.cumprod(axis=(0, 1))
    with pytest.raises(AxisError, match="given twice"):
        x.prod(axis=(0, 0))
    with pytest.raises(AxisError, match="cumulative_sum of an array of 2 dimensions needs axis="):
        sc.cumulative_sum(x)
    with pytest.raises(UnsupportedError, match="of speedcube or of NumPy, not list"):
        np.cumsum(x, out=[0.0])  # type: ignore[call-overload]
    np.cumsum(x, out=(given := np.empty(12)))
    np.testing.assert_array_equal(given, np.arange(1.0, 13.0))


def test_a_kernel_lives_as_long_as_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []

    class Kernel:
        """One that nobody but its caller holds, as where two threads made the same."""

        def __init__(self, function: Any) -> None:
            lives = weakref.ref(self)

            def called(*arguments: Any) -> None:
                seen.append(lives() is not None)
                function(*arguments)

            self.function = called

    known = odd.scan_kernel
    monkeypatch.setattr(odd, "scan_kernel", lambda program: Kernel(known(program).function))
    values = np.random.default_rng(1).normal(size=(300, 300))
    values[::7, ::3] = 1e300
    made = sc.cumsum(sc.asarray(values) * 2, axis=0).compute(on="core")
    np.testing.assert_allclose(made, np.cumsum(values * 2, axis=0))
    assert seen
    assert all(seen)
