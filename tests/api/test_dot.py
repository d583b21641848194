"""Dot products are the exact sums of the exact products, rounded once, on every rung."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, dot_row, draw, numpy_elements

import speedcube as sc
from speedcube import dtypes
from speedcube.engine.finished import cpu as finished
from speedcube.engine.stepwise.choice import by_kernels
from speedcube.errors import AxisError, DTypeError, ShapeError, UnsupportedError
from speedcube.expr.interpret import interpret
from speedcube.plan import costs

INF, NAN, LEAST, MOST = math.inf, math.nan, 5e-324, 1.7976931348623157e308

# Pairs of vectors in which a loop of multiplications and additions goes wrong, or could.
PAIRS: dict[str, tuple[list[float], list[float]]] = {
    "nothing": ([], []),
    "one": ([0.1], [0.1]),
    "rounded products cancel": ([1 + 2.0**-52, 1.0], [1 - 2.0**-53, -1.0]),
    "from end to end of the exponents": ([2.0**1000], [2.0**-1074]),
    "largest times least": ([MOST, MOST], [LEAST, -LEAST]),
    "both overflow, and cancel": ([1e308, 1e308, 3.0], [1e308, -1e308, 2.0]),
    "overflow and its rounding error": ([1e200, 1e200], [1e200 * (1 + 2.0**-52), -1e200]),
    "overflow to inf": ([1e200, 1.0], [1e200, 1.0]),
    "overflow to -inf": ([1e200, 1.0], [-1e200, 1.0]),
    "a partial overflows": ([1.7e308, 1.7e308, -1.7e308], [1.0, 1.0, 1.0]),
    "products below the least": ([LEAST] * 3, [LEAST] * 3),
    "many of them make one": ([2.0**-537] * 1000, [2.0**-538] * 1000),
    "a tie, and a product below the least": ([1.0, 2.0**-53, LEAST], [1.0, 1.0, LEAST]),
    "below the tie": ([1.0, 2.0**-53, LEAST], [1.0, 1.0, -LEAST]),
    "subnormals": ([3e-310, 1.0], [1.0, 7e-312]),
    "errors below the least": ([1 + 2.0**-52] * 2, [(1 + 2.0**-52) * 2.0**-1000] * 2),
    "a tie, and an error below the least": (
        [1 + 2.0**-52, -1 - 2.0**-51, 1.0, 2.0**-53],
        [(1 + 2.0**-52) * 2.0**-990, 2.0**-990, 1.0, 1.0],
    ),
    "at 2**-900": ([2.0**-450, 2.0**-450], [2.0**-450, (2 - 2.0**-52) * 2.0**-451]),
    "signs of zero": ([-0.0, 0.0, -1.0], [0.0, -0.0, 0.0]),
    "zero times large": ([0.0, 1e308], [1e308, 0.0]),
    "inf": ([INF, 1.0], [2.0, 3.0]),
    "inf times the least": ([INF, LEAST], [LEAST, -INF]),
    "inf of one sign": ([INF, -INF], [LEAST, -1e308]),
    "inf - inf": ([INF, 1.0], [1.0, -INF]),
    "inf and an overflow the other way": ([INF, 1e200], [1.0, -1e200]),
    "inf times zero": ([INF, 1.0], [0.0, 1.0]),
    "NaN": ([NAN, 1.0], [0.0, 1.0]),
    "NaN beside inf": ([NAN, INF], [1.0, 1.0]),
}


@pytest.mark.parametrize("dtype", dtypes.FLOATS)
@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str, dtype: str) -> None:
    with np.errstate(over="ignore"):
        x, y = (np.array(side, dtype) for side in PAIRS[name])
    values = sc.asarray(x).dot(y).compute(on="core")
    assert_same_bits(values, dot_row(x, y, dtype))


def test_what_is_expected_of_pairs() -> None:
    """Some of the answers by hand, so that the oracle is not believed alone."""

    def dot(name: str) -> float:
        return float(sc.dot(*PAIRS[name]))

    assert dot("rounded products cancel") == 2.0**-53 - 2.0**-105
    assert dot("from end to end of the exponents") == 2.0**-74
    assert dot("both overflow, and cancel") == 6.0
    assert dot("products below the least") == 0.0
    assert dot("many of them make one") == 500 * LEAST
    assert dot("a tie, and a product below the least") == 1 + 2.0**-52
    assert dot("below the tie") == 1.0
    assert dot("a tie, and an error below the least") == 1 + 2.0**-52
    assert math.isnan(dot("inf times the least"))
    assert dot("inf of one sign") == dot("inf and an overflow the other way") == INF
    assert math.copysign(1, dot("signs of zero")) == 1, "an exact zero is +0.0"


def _wild(rng: np.random.Generator, count: int, dtype: str = "float64") -> np.ndarray:
    """Finite numbers of every exponent, both signs."""
    word = f"u{np.dtype(dtype).itemsize}"
    raw = rng.integers(0, np.iinfo(word).max, 2 * count + 64, word, endpoint=True).view(dtype)
    return raw[np.isfinite(raw)][:count]


@pytest.mark.parametrize("dtype", dtypes.FLOATS)
@pytest.mark.parametrize("rung", ["core", "cores:3"])
def test_every_exponent(dtype: str, rung: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "FEW", 1)
    rng = np.random.default_rng(5)
    x, y = _wild(rng, 5000, dtype), _wild(rng, 5000, dtype)
    lazy = sc.asarray(x) @ y
    assert lazy.plan(on=rung).workers == int(rung[-1] if ":" in rung else 1)
    assert_same_bits(lazy.compute(on=rung), dot_row(x, y, dtype))
    cancelling = sc.dot(np.concatenate([x, -x, x[:1]]), np.concatenate([y, y, y[:1]]))
    assert_same_bits(cancelling.compute(on=rung), dot_row(x[:1], y[:1], dtype))


numbers = st.one_of(
    st.floats(width=64),
    st.floats(-10, 10),
    st.builds(
        math.ldexp,
        st.sampled_from([1.0, -1.0, 1 + 2.0**-52, 2 - 2.0**-52]),
        st.integers(-1074, 1023),
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(numbers, numbers), max_size=12), st.booleans())
def test_any_vectors(pairs: list[tuple[float, float]], cancel: bool) -> None:
    """Also with every product there twice, once with the other sign, beside the last ones."""
    x, y = (np.array([p[k] for p in pairs], np.float64) for k in (0, 1))
    if cancel:
        x, y = np.concatenate([x, -x[1:]]), np.concatenate([y, y[1:]])
    assert_same_bits(sc.dot(x, y).compute(on="core"), dot_row(x, y, "float64"), pairs)


# What is known of generated operands decides how their products are split.
GENERATED: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "normals": lambda g: (g.normal(size=3000), g.normal(size=3000)),
    "with itself": lambda g: (lambda x: (x, x))(g.normal(10, 1, size=3000)),
    "float32": lambda g: (g.normal(size=3000, dtype="float32"), g.random(3000, dtype="float32")),
    "mixed": lambda g: (g.normal(size=3000, dtype="float32"), g.normal(size=3000)),
    "a float and integers": lambda g: (g.normal(size=3000), g.integers(-9, 10**15, 3000)),
    "float32 and int8": lambda g: (
        g.normal(size=3000, dtype="float32"),
        g.integers(-128, 128, 3000, dtype="int8"),
    ),
    "positions": lambda g: (sc.arange(3000) * 0.1, g.exponential(size=3000)),
    "roots": lambda g: (sc.sqrt(g.random(3000)), sc.sqrt(g.random(3000))),
    "tiny": lambda g: (g.normal(size=3000) * 1e-200, g.normal(size=3000) * 1e-200),
    "tiny among ordinary": lambda g: (
        sc.where(g.random(3000) < 0.5, 1e-250, g.normal(size=3000)),
        sc.where(g.random(3000) < 0.5, 1e-250, g.normal(size=3000)),
    ),
    "large": lambda g: (g.normal(size=3000) * 1e200, g.normal(size=3000) * 1e100),
    "huge": lambda g: (g.normal(size=3000) * 1e200, g.normal(size=3000) * 1e200),
    "unknown": lambda g: (1 / g.normal(size=3000), 1 / g.normal(size=3000)),
    "constant": lambda g: (g.normal(size=3000), sc.full(3000, 0.1)),
    "views": lambda g: (g.normal(size=(100, 200))[3, ::-2], g.normal(size=(200, 9)).T[5, ::2]),
}


@pytest.mark.parametrize("name", GENERATED)
def test_generated(name: str) -> None:
    x, y = GENERATED[name](sc.random.default_rng(7))
    lazy = x @ y
    a, b = (v.compute(on="core").astype(lazy.dtype) for v in (x, y))
    assert_same_bits(lazy.compute(on="core"), dot_row(a, b, lazy.dtype.name))
    assert_same_bits(lazy.compute(on="cores:3"), dot_row(a, b, lazy.dtype.name))


SHAPES: dict[str, tuple[Any, Any, int]] = {
    "rows": ((9, 40), (9, 40), -1),
    "columns": ((40, 9), (40, 9), -2),
    "rows and one vector": ((30, 7), (7,), -1),
    "three axes and two": ((2, 5, 4), (5, 4), -2),
    "first axis": ((33, 3), (33, 3), 0),
    "outer": ((6, 1, 50), (1, 4, 50), -1),
    "none": ((0, 4), (0, 4), -1),
    "of nothing": ((4, 0), (4, 0), -1),
    "single": ((12, 1), (12, 1), -1),
}


@pytest.mark.parametrize("name", SHAPES)
def test_vecdot_of_shapes(name: str) -> None:
    """More than a few results are rounded together, by other code than one."""
    *shapes, axis = SHAPES[name]
    rng = np.random.default_rng(3)
    x, y = (_wild(rng, math.prod(shape)).reshape(shape) for shape in shapes)
    lazy = sc.vecdot(sc.asarray(x), y, axis=axis)
    a, b = np.broadcast_arrays(np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1))
    wanted = [dot_row(p, q, "float64") for p, q in zip(_rows(a), _rows(b), strict=True)]
    assert lazy.shape == a.shape[:-1]
    assert_same_bits(lazy.compute(on="core"), np.array(wanted, "float64").reshape(a.shape[:-1]))


def _rows(a: np.ndarray) -> np.ndarray:
    return a.reshape(math.prod(a.shape[:-1]), a.shape[-1])


def test_special_values_of_many_results() -> None:
    values = np.array([0.0, -0.0, 1.0, -1e200, 1e200, LEAST, INF, -INF, NAN])
    x, y = (np.stack([v, np.ones(81)], -1) for v in (values.repeat(9), np.tile(values, 9)))
    with np.errstate(all="ignore"):
        wanted = [dot_row(p, q, "float64") for p, q in zip(x, y, strict=True)]
    assert_same_bits(sc.vecdot(x, y).compute(on="core"), np.array(wanted))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "int64", "uint64"])
def test_integers_are_numpys(dtype: str) -> None:
    rng = np.random.default_rng(1)
    top = 2 if dtype == "bool" else np.iinfo(dtype).max
    x, y = (rng.integers(0, top, 300, "uint64", endpoint=dtype != "bool") for _ in "xy")
    x, y = x.astype(dtype), y.astype(dtype)
    assert_same_bits((sc.asarray(x) @ sc.asarray(y)).compute(), np.dot(x, y))
    assert_same_bits(sc.vecdot(x[:0], y[:0]).compute(), np.vecdot(x[:0], y[:0]))


def test_doors() -> None:
    """Every way to ask for it, ours on either side."""
    rng = np.random.default_rng(2)
    n, m = rng.normal(size=100), rng.normal(size=100)
    x, y = sc.asarray(n), sc.asarray(m)
    wanted = dot_row(n, m, "float64")
    asked: list[Any] = [x @ y, x @ m, n @ y, n.tolist() @ y, x.dot(y), x.dot(m), sc.matmul(n, m)]
    asked += [sc.dot(n, m), sc.vdot(n, m), sc.vecdot(n, m), np.dot(x, y), np.dot(n, y)]
    asked += [np.vdot(x, m), np.matmul(n, y), np.vecdot(x, y), np.linalg.vecdot(n, y, axis=0)]
    for lazy in asked:
        assert isinstance(lazy, sc.Array)
        assert_same_bits(lazy.compute(), wanted)
    assert_same_bits(sc.vdot(n.reshape(4, 25), m.reshape(10, 10)).compute(), wanted)
    assert_same_bits(np.dot(x, 2.0).compute(), n * 2.0)
    assert_same_bits(sc.dot(3, y).compute(), 3 * m)


def test_repr_plan_and_chunks() -> None:
    x, y = sc.arange(10, dtype="float64"), sc.ones((10,))
    assert "dot(" in repr(x @ y)
    assert "dot(" in repr(sc.vecdot(x.reshape(2, 5), y.reshape(2, 5)))
    assert "stage 0: dot over axes (0,) of (10,) -> () float64" in repr((x @ y).plan(on="core"))
    z = sc.ones((6, 8), chunks=(2, 4))
    assert sc.vecdot(z, z).chunks == ((2, 2, 2),)


@pytest.mark.parametrize("dtype", dtypes.FLOATS)
def test_inside_a_larger_expression(dtype: str) -> None:
    """The interpreter gives the same bits."""
    x = sc.random.default_rng(1).normal(size=(20, 30)).astype(dtype)
    lazy = (x - sc.vecdot(x, x)[:, None]) * 2
    products = lazy.compute(on="core")
    assert_same_bits(products, numpy_elements(lazy._expr))
    assert_same_bits(products, interpret(lazy._expr, draw))
    wild = _wild(np.random.default_rng(8), 300, dtype)
    for values in (wild, np.append(wild, INF), np.append(wild, NAN)):
        lazy = sc.dot(values, values[::-1])
        assert_same_bits(lazy.compute(on="core"), interpret(lazy._expr, draw))


def test_variance_of_tiny_numbers_whose_range_is_known() -> None:
    """Their squares are below the least subnormal, and their range does not say so."""
    k = sc.arange(4)
    x = sc.where(k < 0, 1.0, sc.where(k < 2, 1e-200, 3e-200))
    assert_same_bits(x.var().compute(on="core"), np.float64(0.0))
    assert_same_bits(x.std().compute(on="core"), np.float64(1e-200))
    assert_same_bits((x @ x).compute(on="core"), np.float64(0.0))


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "lengths": (
        lambda: sc.ones(3) @ sc.ones(4),
        ShapeError,
        "vectors of 3 and 4 elements have no dot product: give both the same length",
    ),
    "one and many": (lambda: sc.dot(sc.ones(1), sc.ones(4)), ShapeError, "of 1 and 4 elements"),
    "matmul of a number": (
        lambda: sc.ones(3) @ 2,
        ShapeError,
        "of shapes (3,) and (): use * for numbers",
    ),
    "vecdot, lengths": (
        lambda: sc.vecdot(sc.ones((2, 3)), sc.ones((2, 1))),
        ShapeError,
        "vectors of 3 and 1 elements",
    ),
    "vecdot, other axes": (
        lambda: sc.vecdot(sc.ones((2, 3)), sc.ones((4, 3))),
        ShapeError,
        "do not broadcast",
    ),
    "vecdot, axis": (lambda: sc.vecdot(sc.ones(3), sc.ones(3), axis=1), AxisError, "axis 1 is out"),
    "vecdot of a number": (lambda: sc.vecdot(3.0, sc.ones(3)), AxisError, "0 dimensions"),
    "vdot, sizes": (lambda: sc.vdot(sc.ones((2, 3)), sc.ones(5)), ShapeError, "of 6 and 5 elem"),
    "text": (lambda: sc.ones(2).dot("ab"), DTypeError, "'ab' is neither a number"),
    "objects": (
        lambda: sc.dot(sc.ones(2), np.array([1, None])),
        DTypeError,
        "object arrays are not supported; convert to a number dtype first",
    ),
    "wide complex": (
        lambda: sc.ones(2) @ np.array([1j, 2], np.clongdouble),
        DTypeError,
        "is not supported; supported: bool",
    ),
    "out": (
        lambda: np.dot(sc.ones(2), sc.ones(2), [1.0]),  # type: ignore[call-overload]
        UnsupportedError,
        "takes an array of speedcube or of NumPy, not list",
    ),
    "axes": (
        lambda: np.vecdot(sc.ones(2), sc.ones(2), axes=(0, 0, ())),
        TypeError,
        "axes= takes a list of tuples",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    ask, kind, message = REFUSED[name]
    with pytest.raises(kind, match=re.escape(message)):
        ask()


def test_operators_leave_what_is_no_array_to_python() -> None:
    with pytest.raises(TypeError, match="unsupported operand type"):
        sc.ones(2) @ "ab"
    with pytest.raises(TypeError, match="unsupported operand type"):
        None @ sc.ones(2)  # type: ignore[operator]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 16, 40, 64])
@pytest.mark.parametrize("by_rows", [True, False])
def test_short_dots_of_float32_numbers_end_in_ties(
    count: int, by_rows: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in twelve did not know where its tie goes, and was made by records: 170 ms a million."""
    x, y = np.random.default_rng(count).uniform(-9, 9, (2, 700, count)).astype("float32")
    x, y = x.astype("float64"), y.astype("float64")
    wanted = np.array([dot_row(*both, "float64") for both in zip(x, y, strict=True)])
    pair = (x, y) if by_rows else (np.ascontiguousarray(x.T).T, np.ascontiguousarray(y.T).T)
    if not by_rows or count < 9:  # longer rows may have lanes along them
        monkeypatch.setattr(finished, "run_some", None)  # calling it would fail
    with by_kernels():
        assert_same_bits(sc.vecdot(*map(sc.asarray, pair)).compute(on="core"), wanted)


def test_short_dots_of_special_values() -> None:
    """Beside others, so that a vector of results has some of each."""
    rows = [pair for pair in PAIRS.values() if 0 < len(pair[0]) <= 3] * 9
    x, y = np.ones((2, len(rows), 3))
    for k, pair in enumerate(rows):
        x[k], y[k] = 0.0, 1.0
        x[k, : len(pair[0])], y[k, : len(pair[1])] = pair
    wanted = np.array([dot_row(*both, "float64") for both in zip(x, y, strict=True)])
    for turned in (np.asarray, lambda a: np.ascontiguousarray(a.T).T):
        found = sc.vecdot(sc.asarray(turned(x)), sc.asarray(turned(y))).compute(on="core")
        assert_same_bits(found, wanted)
