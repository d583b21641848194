"""Distributions by formulas: their far ends, their bits, and parameters in arrays.

How often each number comes is in random/test_randomness.py.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import mpmath
import numpy as np
import pytest
from scipy import stats

import speedcube as sc
from speedcube.errors import DTypeError, ParameterError, ShapeError
from speedcube.expr.nodes import Random, leaves
from speedcube.philox import derive_key
from speedcube.random.draws import sources

GOLDEN = Path(__file__).parents[1] / "golden" / "distributions.json"
LEAST: Final = 1e-6  # of a p-value; the seeds are fixed


def rng() -> sc.random.Generator:
    return sc.random.default_rng(11)


PARAMETERS: Final[dict[str, tuple[float, ...]]] = {
    "normal": (1.5, 2.0),
    "uniform": (-1.0, 3.0),
    "exponential": (2.0,),
    "standard_exponential": (),
    "lognormal": (0.5, 0.7),
    "laplace": (1.0, 2.0),
    "logistic": (1.0, 2.0),
    "gumbel": (1.0, 2.0),
    "standard_cauchy": (),
    "weibull": (1.7,),
    "pareto": (1.7,),
    "power": (1.7,),
    "rayleigh": (2.0,),
    "triangular": (-1.0, 0.0, 3.0),
    "wald": (2.0, 3.0),
    "geometric": (0.3,),
}
NAMES: Final = tuple(PARAMETERS)
# Of the sources, and of lognormal, numbers are parameters inside the stream: one rounding less.
INSIDE: Final = ("normal", "uniform", "exponential", "lognormal")
BY_FORMULA: Final = tuple(n for n in NAMES if PARAMETERS[n] and n not in INSIDE)


def drawn(name: str, *parameters: Any, size: Any = None, **options: Any) -> Any:
    return getattr(rng(), name)(*parameters, size=size, **options)


def test_rows_of_one_draw_are_independent() -> None:
    values = rng().gumbel(np.zeros((2, 1)), 1.0, size=(2, 200_000)).compute()
    assert abs(np.corrcoef(values)[0, 1]) < 5 / math.sqrt(200_000)


# Far ends ----------------------------------------------------------------------------------------

STEP: Final = 2.0**-53
FOLDS: Final = [0.1, 0.25 - 2 * STEP, 0.25, 0.3, 0.5 - 2 * STEP, 0.5, 0.5 + 2.0**-20, 0.7, 0.75]
UNIFORMS: Final = np.array(
    [0.0, 2 * STEP, 1e3 * STEP, 2.0**-30, *FOLDS, 1 - 2.0**-30, 1 - 2 * STEP]
)
EXPONENTIALS: Final = np.array([STEP, 1e-12, 0.003, 0.4, 1.0, 2.5, 11.0, 36.7])


CHOSEN: Final = {"uniform": UNIFORMS, "exponential": EXPONENTIALS}


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> sc.random.Generator:
    """Its formulas draw these numbers from the sources, and no others."""

    def sources(draws: Any, names: Any, shape: Any) -> Any:
        return [sc.asarray(CHOSEN[name]) for name in names]

    monkeypatch.setattr("speedcube.random.formulas.sources", sources)
    return rng()


mp = mpmath.mp.clone()
mp.prec = 300
U: Final = [mp.mpf(float(u)) + mp.mpf(2) ** -53 for u in UNIFORMS]
E: Final = [mp.mpf(float(e)) for e in EXPONENTIALS]
QUANTILES: Final[dict[str, tuple[tuple[float, ...], list[Any], Callable[[Any], Any]]]] = {
    "laplace": ((0, 1), U, lambda u: mp.log(2 * u) if u < 0.5 else -mp.log(2 * (1 - u))),
    "logistic": ((0, 1), U, lambda u: mp.log(u / (1 - u))),
    "standard_cauchy": ((), U, lambda u: mp.tan(mp.pi * (u - mp.mpf(0.5)))),
    "triangular": (
        (0, 0.25, 1),
        U,
        lambda u: mp.sqrt(u / 4) if u <= 0.25 else 1 - mp.sqrt((1 - u) * 3 / 4),
    ),
    "gumbel": ((0, 1), E, lambda e: -mp.log(e)),
    "weibull": ((0.25,), E, lambda e: e**4),
    "pareto": ((0.25,), E, lambda e: mp.expm1(4 * e)),
    "power": ((0.125,), E, lambda e: mp.exp(-8 * e)),
    "rayleigh": ((1,), E, lambda e: mp.sqrt(2 * e)),
}


@pytest.mark.parametrize("name", QUANTILES)
def test_far_ends(name: str, chosen: sc.random.Generator) -> None:
    """Within a few units in the last place of the exact quantile, at both ends of the source."""
    parameters, source, quantile = QUANTILES[name]
    values = getattr(chosen, name)(*parameters).compute()
    for value, x in zip(values.tolist(), source, strict=True):
        exact = quantile(x)
        assert abs(mp.mpf(value) - exact) <= 6 * mp.mpf(2) ** -53 * abs(exact), (name, x)


def test_least_and_largest(chosen: sc.random.Generator) -> None:
    largest = chosen.standard_cauchy().compute()
    assert largest.min() == pytest.approx(-(2.0**53) / math.pi, rel=1e-15)
    assert largest.max() == -largest.min()
    least = chosen.laplace().compute().min()
    assert least == pytest.approx(-52 * math.log(2), rel=1e-15)


@pytest.mark.parametrize(
    ("p", "least", "largest"),
    [
        (1.0, 1, 1),
        (1 - 2.0**-53, 1, 1),
        (0.5, 1, 53),
        (1e-12, 1, 36_700_000_000_000),
        (1e-300, 2**63 - 1, 2**63 - 1),
        (5e-324, 2**63 - 1, 2**63 - 1),
    ],
)
def test_edges_of_geometric(
    p: float, least: int, largest: int, chosen: sc.random.Generator
) -> None:
    values = chosen.geometric(p).compute()
    assert values.dtype == np.int64
    assert values.min() == least
    assert values.max() == pytest.approx(largest, rel=1e-9)


def test_edges_of_the_domains() -> None:
    for name, parameters, value in [
        ("laplace", (3.0, 0.0), 3.0),
        ("logistic", (3.0, 0.0), 3.0),
        ("gumbel", (3.0, 0.0), 3.0),
        ("rayleigh", (0.0,), 0.0),
        ("weibull", (0.0,), 0.0),
        ("weibull", ([0.0],), 0.0),
        ("lognormal", (0.0, 0.0), 1.0),
        ("exponential", (0.0,), 0.0),
        ("normal", ([3.0], [0.0]), 3.0),
        ("uniform", ([3.0], 3.0), 3.0),
        ("power", (math.inf,), 1.0),
        ("geometric", ([1.0],), 1),
    ]:
        assert set(drawn(name, *parameters, size=50).compute().tolist()) == {value}, name
    for ends in [(0, 0, 1), (0, 1, 1), (-1e308, 0, 5e307), (1, 1, 1 + 2.0**-52)]:
        values = rng().triangular(*ends, size=5000).compute()
        assert ends[0] <= values.min() <= values.max() <= ends[2]
    steep = rng().wald(1e300, 1e-300, size=50).compute()
    assert np.isfinite(steep).all()
    assert (steep >= 0).all()
    assert rng().wald(1.0, 1e300, size=50).compute() == pytest.approx(np.ones(50))


# Bits --------------------------------------------------------------------------------------------


def test_golden(update_golden: bool) -> None:
    digests = {}
    for name in NAMES:
        values = drawn(name, *PARAMETERS[name], size=5000).compute()
        digest = hashlib.sha256(values.astype(values.dtype.newbyteorder("<")).tobytes())
        first = values[:3].tolist()
        digests[name] = [
            *(v.hex() if isinstance(v, float) else v for v in first),
            digest.hexdigest(),
        ]
    if update_golden:
        GOLDEN.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")
    assert digests == json.loads(GOLDEN.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_on_two_cores_and_through_views(name: str) -> None:
    lazy = drawn(name, *PARAMETERS[name], size=(400, 150))
    values = lazy.compute(on="core")
    assert lazy.compute(on="cores:2").tobytes() == values.tobytes()
    for view in [np.s_[3:, ::7], np.s_[::-2], np.s_[17], np.s_[:, None, 5]]:
        assert lazy[view].compute().tobytes() == np.ascontiguousarray(values[view]).tobytes()


@pytest.mark.parametrize("name", BY_FORMULA)
def test_arrays_give_the_bits_of_numbers(name: str) -> None:
    parameters = PARAMETERS[name]
    wanted = drawn(name, *parameters, size=(40, 50)).compute()
    columns = [np.full((40, 1), p) for p in parameters]
    for arguments in (
        columns,
        [sc.asarray(p) for p in columns],
        [np.full(50, p).tolist() for p in parameters],
    ):
        assert drawn(name, *arguments, size=(40, 50)).compute().tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arrays_for_sources(dtype: str) -> None:
    """Two roundings where numbers have one; the documented formulas."""
    loc, scale = np.array([1.5, -2.0], dtype), np.array([[3.0], [0.1]], dtype)
    z, u, e = (
        getattr(rng(), name)(size=(2, 2), dtype=dtype).compute()
        for name in ("standard_normal", "random", "standard_exponential")
    )
    values = rng().normal(loc, scale, dtype=dtype).compute()
    assert values.dtype == dtype
    assert (values == loc + scale * z).all()
    high = loc + scale
    assert (rng().uniform(loc, high, dtype=dtype).compute() == loc + (high - loc) * u).all()
    assert (rng().exponential(scale, (2, 2), dtype=dtype).compute() == scale * e).all()


def test_call_numbers() -> None:
    """One a draw, two for wald, none for a draw that is refused."""
    g = rng()
    keys = []
    with pytest.raises(ParameterError):
        g.gumbel(0, [1, -1])
    for array in (g.gumbel(size=3), g.wald(1, [2.0, 3.0]), g.normal([1, 2]), g.integers([4, 5])):
        leaf_sources = {leaf.source for leaf in leaves(array._expr)}
        keys.append({s.key for s in leaf_sources if isinstance(s, Random)})
    assert keys == [
        {derive_key((11,), (), k) for k in calls} for calls in [(0,), (1, 2), (3,), (4,)]
    ]


# Shapes ------------------------------------------------------------------------------------------

SIZES: Final = (None, 3, (3,), (2, 3), (4, 2, 3), (), (0,), (2, 0), (1,), (2, 1), [2, 3])
SHAPES: Final = ((), (3,), (2, 1), (2, 3), (1,), (0,), (1, 3), (4, 1, 3))


def outcome(generator: Any, name: str, arguments: Sequence[Any], **options: Any) -> Any:
    try:
        array = getattr(generator, name)(*arguments, **options)
    except ValueError:
        return "refused"
    return np.shape(array), array.dtype if hasattr(array, "dtype") else np.dtype(type(array))


@pytest.mark.parametrize("name", NAMES)
def test_shapes_and_dtypes_are_numpys(name: str) -> None:
    for size in SIZES:
        for shape in SHAPES if PARAMETERS[name] else SHAPES[:1]:
            full = [np.full(shape, p) if shape else p for p in PARAMETERS[name]]
            for arguments in ([*PARAMETERS[name][:-1], *full[-1:]], full):
                theirs = outcome(np.random.default_rng(0), name, arguments, size=size)
                assert outcome(rng(), name, arguments, size=size) == theirs, (size, shape)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "int32"])
def test_shapes_of_integers(dtype: str) -> None:
    """Those of NumPy's other distributions: its integers drops bounds that do not fit the size."""
    for size in SIZES:
        for shape in SHAPES:
            high = np.full(shape, 9)
            theirs = outcome(np.random.default_rng(0), "poisson", [high], size=size)
            ours = outcome(rng(), "integers", [1, high], size=size, dtype=dtype)
            wanted = theirs if theirs == "refused" else (theirs[0], np.dtype(dtype))
            assert ours == wanted, (size, shape)


def test_chunks_is_a_hint() -> None:
    x = rng().gumbel([[1.0], [2.0]], size=(2, 10), chunks=(1, 5))
    assert x.chunks == ((1, 1), (5, 5))
    assert (x.compute() == rng().gumbel([[1.0], [2.0]], size=(2, 10)).compute()).all()


# Integers and bytes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "dtype", "endpoint"),
    [
        (0, 10, "int64", False),
        (-5, 2**31, "int64", True),
        (-(2**63), -(2**63) + 2**32 - 1, "int64", False),
        (2**63 - 2**32 + 1, 2**63, "int64", False),
        (2**64 - 7, 2**64 - 1, "uint64", True),
        (2**63 - 3, 2**63 + 3, "uint64", False),
        (-128, 127, "int8", True),
        (-128, 128, "int8", False),
        (7, 8, "uint16", False),
    ],
)
def test_integers_of_arrays_have_the_bits_of_numbers(
    low: int, high: int, dtype: str, endpoint: bool
) -> None:
    wanted = rng().integers(low, high, (50, 60), dtype, endpoint).compute()
    lows, highs = np.array([low] * 60), np.array([[high]] * 50)
    for bounds in [(lows, highs), (low, highs), (lows, high), (lows.tolist(), highs.tolist())]:
        values = rng().integers(*bounds, (50, 60), dtype, endpoint).compute()
        assert values.dtype == dtype
        assert (values == wanted).all()


def test_integers_of_many_ranges() -> None:
    high = np.arange(1, 2001)
    values = rng().integers(high, size=(500, 2000)).compute()
    assert (values >= 0).all()
    assert (values < high).all()
    assert stats.kstest(((values + 0.5) / high)[:, 1000:].ravel(), "uniform").pvalue > LEAST
    state = sc.random.RandomState(11)
    assert (state.randint(high, size=(500, 2000)).compute() == values).all()


def test_integers_of_wide_and_lazy_ranges() -> None:
    """From 2**32 numbers on a word of the next call counts too; lazy bounds change nothing."""
    generator = rng()
    words = sources(generator, ["bits64", "bits64"], (7,), "uint64")
    a, b = ([int(v) for v in word.compute(on="core")] for word in words)
    low = [-5, 0, -(2**63), -(2**63), 7, 0, -1]
    high = [5, 2**31, 2**63 - 1, 2**63, 8, 2**62 + 12345, 2**32 - 1]
    wanted = []
    for k, n in enumerate(h - v for v, h in zip(low, high, strict=True)):
        word = a[k] * n >> 64 if n < 2**32 else (a[k] << 64 | b[k]) * n >> 128
        wanted.append(low[k] + word)
    generator = rng()
    numbers = generator.integers(low, np.array(high, object))
    assert generator.bit_generator.calls == 2
    assert (numbers.dtype, numbers.compute(on="core").tolist()) == (np.int64, wanted)
    ends = np.array(high, object) - 1
    lazy = [sc.asarray(bound.astype("int64")) + 0 for bound in (np.array(low), ends)]
    assert rng().integers(*lazy, endpoint=True).compute(on="core").tolist() == wanted
    unsigned = rng().integers([0, 0], [2**64, 2**64 - 1], dtype="uint64").compute(on="core")
    assert unsigned.tolist() == [a[0], (a[1] << 64 | b[1]) * (2**64 - 1) >> 128]
    few = rng().integers(sc.asarray(np.array([3, 9], "uint8")), size=(50, 2), dtype="uint8")
    assert (few.compute(on="core") == rng().integers([3, 9], size=(50, 2)).compute()).all()
    assert (rng().integers(sc.asarray(9), size=50) == rng().integers([9] * 50)).all().compute()


def test_bytes() -> None:
    words = rng().integers(0, 2**64, 3, dtype="uint64").compute().astype("<u8").tobytes()
    for n in (0, 1, 8, 11, 24):
        assert rng().bytes(n) == words[:n]
    assert type(rng().bytes(np.int64(4))) is bytes
    counts = np.bincount(np.frombuffer(rng().bytes(10**6), np.uint8), minlength=256)
    assert stats.chisquare(counts).pvalue > LEAST


# Refusals ----------------------------------------------------------------------------------------

BAD: Final[dict[str, tuple[Callable[[Any], Any], str]]] = {
    "lognormal": (lambda g: g.lognormal(0, -1), "sigma < 0: sigma is -1.0"),
    "laplace": (lambda g: g.laplace(0, [1, 2, -0.5]), "scale < 0: scale[2] is -0.5"),
    "logistic": (lambda g: g.logistic(0, [[1], [-2]], (2, 3)), "scale < 0: scale[1, 0] is -2"),
    "gumbel": (lambda g: g.gumbel(0, -1), "scale < 0: scale is -1.0"),
    "weibull": (lambda g: g.weibull(-1), "a < 0: a is -1.0"),
    "pareto": (lambda g: g.pareto(0), "a <= 0: a is 0.0"),
    "power": (lambda g: g.power([1.0, 0.0]), "a <= 0: a[1] is 0.0"),
    "rayleigh": (lambda g: g.rayleigh(np.array(-1.0)), "scale < 0: scale is -1.0"),
    "left > mode": (lambda g: g.triangular(2, 1, 3), "left > mode: left is 2.0, mode is 1.0"),
    "mode > right": (
        lambda g: g.triangular(0, [[1.0], [4.0]], [2.0, 3.0]),
        "mode > right: mode[1, 0] is 4.0, right[0] is 2.0",
    ),
    "left == right": (lambda g: g.triangular(1, 1, 1), "left == right: left is 1.0, right is 1.0"),
    "wald mean": (lambda g: g.wald(0, 1), "mean <= 0: mean is 0.0"),
    "wald scale": (lambda g: g.wald(1, [1, -1]), "scale <= 0: scale[1] is -1"),
    "geometric 0": (lambda g: g.geometric(0), "p <= 0 or p > 1: p is 0.0"),
    "geometric 2": (lambda g: g.geometric([0.5, 2]), "p <= 0 or p > 1: p[1] is 2.0"),
    "geometric NaN": (lambda g: g.geometric(math.nan), "p must not be NaN"),
    "normal": (lambda g: g.normal(0, [1, -1]), "scale < 0: scale[1] is -1"),
    "exponential": (lambda g: g.exponential([-1.0]), "scale < 0: scale[0] is -1.0"),
    "integers": (lambda g: g.integers([3, 5], 5), "low >= high: low[1] is 5, high is 5"),
    "integers low": (
        lambda g: g.integers([-129, 0], 5, dtype="int8"),
        "low is out of bounds for int8: low[0] is -129",
    ),
    "integers high": (
        lambda g: g.integers(0, [5, 129], dtype="int8"),
        "high is out of bounds for int8: high[1] is 129",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_refused_as_numpy_does(name: str) -> None:
    ask, message = BAD[name]
    with pytest.raises(ValueError, match=r".") as theirs:
        ask(np.random.default_rng(0))
    assert theirs.type is ValueError
    with pytest.raises(ParameterError, match=re.escape(message)):
        ask(rng())


REFUSED: Final[dict[str, tuple[Callable[[Any], Any], type[Exception], str]]] = {
    "NaN in an array": (
        lambda g: g.gumbel([1, math.nan]),
        ParameterError,
        "loc must not be NaN: loc[1] is nan",
    ),
    "text": (lambda g: g.weibull("a"), ParameterError, "a must be a number, not 'a'"),
    "complex": (lambda g: g.normal(np.array([1j])), ParameterError, "complex128"),
    "ragged": (lambda g: g.normal([[1], [1, 2]]), ParameterError, "this is not an array"),
    "infinite end": (
        lambda g: g.triangular(0, 1, math.inf),
        ParameterError,
        "right must be finite",
    ),
    "too wide": (
        lambda g: g.triangular(-1.7e308, 0, [1.7e308]),
        ParameterError,
        "right - left must be finite",
    ),
    "uniform arrays": (
        lambda g: g.uniform([0, 4], [1, 3]),
        ParameterError,
        "low > high: low[1] is 4, high[1] is 3",
    ),
    "do not broadcast": (lambda g: g.wald([1, 2], [1, 2, 3]), ShapeError, "do not broadcast"),
    "size": (
        lambda g: g.gumbel([1, 2], size=3),
        ShapeError,
        "size (3,) is not compatible with the parameters, which have the shape (2,) together",
    ),
    "method": (
        lambda g: g.standard_exponential(3, method="ziggurat"),
        ParameterError,
        "method must be 'zig' or 'inv', not 'ziggurat'",
    ),
    "bytes": (lambda g: g.bytes(-1), ParameterError, "length must be 0 or more, not -1"),
    "fractions": (lambda g: g.integers(0, [2.5, 3.0]), ParameterError, "must be an integer"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    ask, kind, message = REFUSED[name]
    with pytest.raises(kind, match=re.escape(message)):
        ask(rng())


def test_lazy_parameters_are_not_computed() -> None:
    """Their domain is not checked; they go into the same kernel."""
    scale = sc.asarray(np.array([1.0, 2.0])) - 3.0
    assert (rng().gumbel(0, scale).compute() == -rng().gumbel(0, [2.0, 1.0]).compute()).all()
    stored = np.array([1.0, 2.0])
    lazy = rng().rayleigh(stored)
    stored[:] = 0.0
    assert lazy.compute().tolist() == [0.0, 0.0]


def test_parameters_that_are_computed_with_the_draw() -> None:
    """The mean and the spread of another array, reduced in the same plan."""
    x = rng().normal(5, 2, size=1000)
    values = sc.random.default_rng(3).normal(x.mean(), x.std(), size=50).compute()
    z = sc.random.default_rng(3).standard_normal(50).compute()
    assert (values == float(x.mean()) + float(x.std()) * z).all()


def test_dask_arrays_are_not_computed_behind_the_back() -> None:
    da = pytest.importorskip("dask.array")
    for draw in (rng().rayleigh, rng().integers):
        with pytest.raises(DTypeError, match=re.escape("use speedcube.from_dask_array")):
            draw(da.ones(3, dtype=int))


def test_both_methods_of_standard_exponential() -> None:
    wanted = rng().exponential(1.0, 100).compute()
    for method in ("zig", "inv"):
        assert (rng().standard_exponential(100, method=method).compute() == wanted).all()
