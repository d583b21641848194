"""Random expressions: the kernel against the IR evaluator, bit for bit, and both against NumPy.

Hypothesis builds chains of sources, element-wise operations, views and reductions of every dtype,
and shrinks a failing one; the failure prints the chain as code. Reductions are compared with exact
fractions, never with NumPy's sums.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, elements, numpy_elements, reduce_row, ulps

import speedcube as sc
from speedcube import dtypes
from speedcube.errors import SpeedcubeError
from speedcube.expr import build
from speedcube.expr.analysis import analyse
from speedcube.ops import ELEMENTARY, OPS

# Every operation of ops.OPS against NumPy --------------------------------------------------------

NUMPYS_ULPS = 4  # how far NumPy's own functions may be off; ours: tests/kernel/test_elementary.py


def values_of(dtype: str) -> np.ndarray:
    """Edges and a few ordinary numbers of ``dtype``."""
    rng = np.random.default_rng(5)
    if dtype == "bool":
        return np.array([False, True])
    if dtypes.is_integer(dtype):
        info = np.iinfo(dtype)
        edges = np.array([info.min, info.max, 0, 1, 2, 3, 7, 31, 63, info.max - 1], dtype)
        signed = np.array([-1, -2, -3, -7] if info.min else [5], dtype)
        return np.concatenate([edges, signed, rng.integers(info.min, info.max, 8, dtype)])
    info = np.finfo(dtype)
    edges = [0.0, 0.5, 1.0, 1.5, 2.5, 3.0, 0.1, 7.25, 1e10, float(info.max), float(info.tiny)]
    edges += [float(info.smallest_subnormal), 88.7, 103.9, 709.7, 745.1, 1e-9, np.inf]
    with np.errstate(over="ignore", under="ignore"):
        values = np.array(edges).astype(dtype)
    return np.concatenate(
        [values, -values, np.array([np.nan], dtype), rng.normal(size=6).astype(dtype)]
    )


def _accepts(op: str, dtype: str) -> bool:
    rule = OPS[op].rule
    if rule == "same":
        return dtype != "bool" or op in build._INT8_OF_BOOL
    if rule == "bits":
        return not dtypes.is_float(dtype)
    if rule == "integer":
        return dtypes.is_integer(dtype)
    return True


OPERATIONS = [
    (op, dtype)
    for op, row in OPS.items()
    if row.rule not in ("cast", "select")
    for dtype in dtypes.ALL
    if _accepts(op, dtype)
]


@pytest.mark.parametrize(("op", "dtype"), OPERATIONS, ids=["-".join(p) for p in OPERATIONS])
def test_operation_is_numpys(op: str, dtype: str) -> None:
    row, values = OPS[op], values_of(dtype)
    if row.arity == 2:
        x, y = (g.ravel() for g in np.meshgrid(values, values))
    else:
        x = y = values
    if op in ("minimum", "maximum") and dtype == "float16":  # it prefers other zeros than float32
        x, y = (np.where(v == 0, np.float16(0), v) for v in (x, y))
    if row.rule == "integer":
        y = (np.arange(len(y)) % (8 * dtypes.itemsize(dtype) + 3)).astype(dtype)
    if op == "power" and dtypes.is_integer(dtype):
        x, y = x[y >= 0], y[y >= 0]  # NumPy refuses an array that holds a negative exponent
    args = (x, y)[: row.arity]
    computed = getattr(sc, op)(*map(sc.asarray, args)).compute(on="core")
    with np.errstate(all="ignore"):
        wanted = row.numpy(*args)
    if op == "gammaln":  # Python's is good to 1e-13 only beside the zeros
        tolerance = {"float16": 1e-3, "float32": 1e-6}.get(dtype, 1e-13)
        np.testing.assert_allclose(computed, wanted, tolerance, 1e-14)
        return
    if op in ELEMENTARY and dtypes.is_float(computed.dtype.name):
        assert computed.dtype == wanted.dtype
        assert max(ulps(computed, wanted)) <= NUMPYS_ULPS
        assert (np.isnan(computed) == np.isnan(wanted)).all()
        return
    assert_same_bits(
        computed, wanted.astype(computed.dtype, copy=False), f"{op} of {x.tolist()[:5]}"
    )
    assert computed.dtype == wanted.dtype or dtype in ("int8", "uint8", "bool"), "NumPy's dtype"


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if not dtypes.is_float(d)])
def test_rounding_keeps_integers(dtype: str) -> None:
    values = values_of(dtype)
    for name in ("round", "floor", "ceil", "trunc"):  # of bool round is float16, as NumPy's
        rounded = getattr(sc, name)(sc.asarray(values)).compute(on="core")
        assert_same_bits(rounded, getattr(np, name)(values))


CASTS = [(a, b) for a in dtypes.ALL for b in dtypes.ALL if a != b]


@pytest.mark.parametrize(("source", "target"), CASTS, ids=["-to-".join(p) for p in CASTS])
def test_cast_is_numpys(source: str, target: str) -> None:
    values = values_of(source)
    if dtypes.is_float(source) and dtypes.is_integer(target):
        info = np.iinfo(target)
        with np.errstate(invalid="ignore"):
            whole = np.trunc(values.astype("float64"))
            inside = (whole >= info.min) & (whole <= info.max)
            values = values[inside & (whole < float(info.max))]
    with np.errstate(all="ignore"):
        wanted = values.astype(target)
    assert_same_bits(sc.asarray(values).astype(target).compute(on="core"), wanted)


@pytest.mark.parametrize("dtype", dtypes.FLOATS)
@pytest.mark.parametrize("op", ["floor_divide", "remainder"])
@pytest.mark.parametrize(
    ("x", "y"),
    [(5.0, np.inf), (-5.0, np.inf), (np.inf, 2.0), (1.0, 0.0), (0.0, 0.0),
     (-0.0, 3.0), (5e-324, 3.0), (np.nan, 1.0), (6.0, -3.0), (-1e-20, 3.0)],
    ids=str,
)  # fmt: skip
def test_float_division_at_the_edges(x: float, y: float, op: str, dtype: str) -> None:
    a, b = (np.array([v]).astype(dtype) for v in (x, y))
    with np.errstate(all="ignore"):
        wanted = getattr(np, op)(a, b)
    computed = getattr(sc, op)(sc.asarray(a), sc.asarray(b)).compute(on="core")
    assert_same_bits(computed, wanted, f"{op}({x}, {y})")


def test_exp_against_mpmath() -> None:
    import mpmath

    values = np.concatenate([np.linspace(-745.1, 709.7, 700), np.linspace(-1, 1, 300)])
    computed = sc.exp(sc.asarray(values)).compute()
    with mpmath.workprec(160):
        exact = np.array([float(mpmath.exp(mpmath.mpf(v))) for v in values])
    assert max(ulps(computed, exact)) <= 1


# Random chains ----------------------------------------------------------------------------------


@dataclass
class Chain:
    """An expression, and the code that made it."""

    array: sc.Array
    code: list[str] = field(default_factory=list)

    def then(self, array: Any, code: str) -> Chain:
        return Chain(array, [*self.code, code])

    def __repr__(self) -> str:
        return "\n  ".join(["", *self.code])


_SOURCES = ["normal", "uniform", "exponential", "integers", "stored", "arange", "full"]
_STEPS = ["unary", "binary", "scalar", "other", "where", "slice", "view", "cast", "reduce", "scan"]
_SHAPES = [
    (),
    (1,),
    (5,),
    (33,),
    (3, 4),
    (1, 7),
    (40, 30),
    (2, 3, 4),
    (5, 1, 6),
    (2000,),
    (3, 1100),
]


@st.composite
def source(draw: Any) -> Chain:
    shape = draw(st.sampled_from(_SHAPES))
    seed = draw(st.integers(0, 3))
    kind = draw(st.sampled_from(_SOURCES))
    dtype = draw(st.sampled_from(dtypes.ALL))
    rng = sc.random.default_rng(seed)
    if kind in ("normal", "uniform", "exponential"):
        dtype = "float32" if dtype in ("float32", "int32") else "float64"
        return Chain(getattr(rng, kind)(size=shape, dtype=dtype), [f"{kind}({shape}, {dtype})"])
    if kind == "integers" and dtypes.is_integer(dtype):
        return Chain(
            rng.integers(0, 100, shape, dtype=dtype), [f"integers(0, 100, {shape}, {dtype})"]
        )
    if kind == "arange":
        count = math.prod(shape)
        array = sc.arange(count).reshape(shape).astype(dtype)
        return Chain(array, [f"arange({count}).reshape({shape}).astype({dtype})"])
    if kind == "full":
        value = draw(st.sampled_from([0, 1, 3]))
        return Chain(sc.full(shape, value, dtype), [f"full({shape}, {value}, {dtype})"])
    pool = values_of(dtype)
    data = np.resize(pool[np.random.default_rng(seed).permutation(len(pool))], shape)
    layout = draw(st.sampled_from(["C", "F", "reversed"]))
    data = np.asfortranarray(data) if layout == "F" else data
    if layout == "reversed" and shape:
        data = data[::-1]
    return Chain(sc.asarray(data), [f"asarray({layout} {shape} {dtype}, seed {seed})"])


_UNARY = [o for o, r in OPS.items() if r.arity == 1 and r.rule != "cast"]
_BINARY = [o for o, r in OPS.items() if r.arity == 2]
_REDUCE = ["sum", "mean", "var", "std", "min", "max", "any", "all", "argmin", "argmax", "prod"]
_SCAN = ["cumsum", "cumprod"]


def _sliced(draw: Any, chain: Chain) -> Chain:
    items: list[Any] = []
    for n in chain.array.shape:
        if n and draw(st.integers(0, 6)) == 0:
            items.append(draw(st.integers(-n, n - 1)))
            continue
        bound = st.none() | st.integers(-n, n)
        step = st.sampled_from([1, 1, 2, 3, -1, -2, 7])
        items.append(slice(draw(bound), draw(bound), draw(step)))
    if draw(st.integers(0, 4)) == 0:
        items.insert(draw(st.integers(0, len(items))), None)
    shown = ", ".join(
        f"{i.start}:{i.stop}:{i.step}".replace("None", "") if isinstance(i, slice) else str(i)
        for i in items
    )
    return chain.then(chain.array[tuple(items)], f"[{shown}]")


def _step(draw: Any, chain: Chain, other: st.SearchStrategy[Chain]) -> Chain:
    kind = draw(st.sampled_from(_STEPS))
    a = chain.array
    if kind == "unary":
        op = draw(st.sampled_from(_UNARY))
        return chain.then(getattr(sc, op)(a), f"{op}(x)")
    if kind == "binary":
        op = draw(st.sampled_from(_BINARY))
        return chain.then(getattr(sc, op)(a, a[..., ::-1] if a.ndim else a), f"{op}(x, x reversed)")
    if kind == "scalar":
        op = draw(st.sampled_from(_BINARY))
        value = draw(st.sampled_from([1, 2, 3, 0.5, 10.0, True]))
        if draw(st.booleans()):
            return chain.then(getattr(sc, op)(a, value), f"{op}(x, {value})")
        return chain.then(getattr(sc, op)(value, a), f"{op}({value}, x)")
    if kind == "other":
        op, b = draw(st.sampled_from(_BINARY)), draw(other)
        return chain.then(getattr(sc, op)(a, b.array), f"{op}(x, {' '.join(b.code)})")
    if kind == "where":
        return chain.then(sc.where(a > 1, a, 7), "where(x > 1, x, 7)")
    if kind == "slice":
        return _sliced(draw, chain)
    if kind == "view":
        order = draw(st.permutations(range(a.ndim)))
        return chain.then(a.transpose(*order) if a.ndim else a, f"transpose{tuple(order)}")
    if kind == "cast":
        dtype = draw(st.sampled_from(dtypes.ALL))
        if dtypes.is_float(a.dtype.name) and dtypes.is_integer(dtype):
            a = sc.clip(sc.where(sc.isnan(a), 0.0, a), 0, 100)  # others are the platform's
        return chain.then(a.astype(dtype), f"astype({dtype})")
    if kind == "scan":
        op = draw(st.sampled_from(_SCAN))
        axis = draw(st.sampled_from([None, *range(a.ndim)]))
        return chain.then(getattr(a, op)(axis=axis), f"{op}(axis={axis})")
    op = draw(st.sampled_from(_REDUCE))
    axis = draw(st.sampled_from([None, *range(a.ndim)]))
    keep = draw(st.booleans())
    return chain.then(
        getattr(a, op)(axis=axis, keepdims=keep), f"{op}(axis={axis}, keepdims={keep})"
    )


@st.composite
def chains(draw: Any) -> Chain:
    chain = draw(source())
    for _ in range(draw(st.integers(1, 6))):
        try:
            chain = _step(draw, chain, source())
        except (SpeedcubeError, TypeError):
            continue  # an operation that this dtype or shape does not take
    return chain


def _reference(chain: Chain) -> np.ndarray | None:
    try:
        return elements(chain.array._expr)
    except ValueError:
        return None  # an extremum of nothing


FUZZ = settings(
    max_examples=70,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@FUZZ
@given(chain=chains())
def test_chains_give_the_evaluators_bits(chain: Chain) -> None:
    wanted = _reference(chain)
    if wanted is None:
        with pytest.raises(SpeedcubeError, match="of no elements"):
            chain.array.compute(on="core")
        return
    assert_same_bits(chain.array.compute(on="core"), wanted, chain)


_INEXACT = tuple(f"{op}(" for op in sorted(ELEMENTARY))


@FUZZ
@given(chain=chains())
def test_chains_give_numpys_values(chain: Chain) -> None:
    """Chains without the operations that may differ by an ulp equal NumPy's bits."""
    if any(step.startswith(_INEXACT) for step in chain.code):
        return
    if _reference(chain) is None:
        return
    assert_same_bits(chain.array.compute(on="core"), numpy_elements(chain.array._expr), chain)


@settings(FUZZ, max_examples=200)
@given(chain=chains())
def test_what_is_known_beforehand_holds(chain: Chain) -> None:
    """Every element lies in its bounds and is a multiple of their grain: exact sums rely on it."""
    known = analyse(chain.array._expr)
    reference = _reference(chain)
    if reference is None or not known.known:
        return
    for value in np.asarray(reference).reshape(-1)[:: max(1, reference.size // 100)].tolist():
        assert known.low <= value <= known.high, (value, known)
        numerator, denominator = float(value).as_integer_ratio()
        grain = Fraction(2) ** known.grain
        assert (Fraction(numerator, denominator) / grain).denominator == 1, (value, known)


def test_bounds_beyond_the_largest() -> None:
    """Where a sum or product of constants overflows nothing is known, and infinities are right."""
    x = sc.full(3, 1e308)
    for lazy in (x * 10, x + x, -x - x, (x * 10) * sc.full(3, 0.5)):
        assert not analyse(lazy._expr).known
        assert np.isinf(lazy.compute(on="core")).all()


@pytest.mark.parametrize("low", [-(2**62), -7, 0, 2**40])
@pytest.mark.parametrize("count", [1, 2, 1000, 2**31, 2**33, 2**62])
def test_bounds_of_integers(low: int, count: int) -> None:
    x = sc.random.default_rng(1).integers(low, low + count, 3000)
    y = x // 3 - (x % 5) * 2
    for lazy in (x, y, x % -7, -x // 4 + 1, abs(x) * 3):
        known, values = analyse(lazy._expr), lazy.compute(on="core").tolist()
        assert known.low <= min(values)
        assert max(values) <= known.high
    if low == 0 and count == 1000:
        assert (analyse(x._expr).low, analyse(x._expr).high) == (0, 999)
        assert analyse(((x * 2 + 1) % 77)._expr).high == 77
    numbers = [Fraction(v) for v in x.compute(on="core").tolist()]
    mean = sum(numbers) / len(numbers)
    exact = sum((v - mean) ** 2 for v in numbers) / len(numbers)
    assert max(ulps(np.float64(x.var().compute(on="core")), np.float64(float(exact)))) <= 1


@settings(FUZZ, max_examples=25)
@given(chain=chains(), workers=st.sampled_from([2, 3]))
def test_chains_on_threads(chain: Chain, workers: int) -> None:
    wanted = _reference(chain)
    if wanted is not None:
        assert_same_bits(chain.array.compute(on=f"cores:{workers}"), wanted, chain)


@pytest.mark.parametrize("op", ["sum", "var", "argmax"])
@pytest.mark.parametrize("shape", [(70, 600), (600, 70), (3, 11_000), (11_000, 3)], ids=str)
@pytest.mark.parametrize("axis", [0, 1, None], ids=str)
def test_reductions_cut_for_threads(op: str, shape: tuple[int, ...], axis: Any) -> None:
    """Large enough to be cut: along a kept axis, along a reduced one, merged."""
    lazy = sc.random.default_rng(8).integers(-9, 9, shape).astype("float64") * 0.1
    data = lazy.compute(on="core")
    reduced = getattr(lazy, op)(axis=axis)
    rows = data.reshape(1, -1) if axis is None else np.moveaxis(data, axis, -1)
    picked = range(0, len(rows), max(1, len(rows) // 4))
    values = np.asarray(reduced.compute(on="cores:3")).reshape(-1)
    for k in picked:
        assert_same_bits(values[k], reduce_row(op, rows[k], reduced.dtype.name), f"row {k}")
    if op == "sum":
        assert_same_bits(reduced.compute(on="cores:2"), reduced.compute(on="core"))
