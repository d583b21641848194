"""Random numbers: what is refused, with which words, beside what NumPy does with the same call.

Every method meets every bad value in every parameter. Where NumPy raises ValueError or TypeError,
ours is an error of speedcube that is one too; where NumPy draws, so do we, of the same shape and
dtype, except for what is named under ``STRICTER``.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import (
    AxisError,
    AxisTypeError,
    DTypeError,
    ParameterError,
    ParameterTypeError,
    ShapeError,
    ShapeTypeError,
    SpeedcubeError,
    UnsupportedError,
)
from speedcube.random import discrete

# method -> parameters that are in order, each of which is replaced by every bad value in turn
GOOD: Final[dict[str, tuple[Any, ...]]] = {
    "beta": (1.5, 2.0),
    "binomial": (9, 0.3),
    "bytes": (3,),
    "chisquare": (2.0,),
    "exponential": (1.0,),
    "f": (2.0, 3.0),
    "gamma": (1.5, 2.0),
    "geometric": (0.5,),
    "gumbel": (0.0, 1.0),
    "hypergeometric": (5, 6, 7),
    "integers": (1, 9),
    "laplace": (0.0, 1.0),
    "logistic": (0.0, 1.0),
    "lognormal": (0.0, 1.0),
    "logseries": (0.5,),
    "negative_binomial": (4, 0.3),
    "noncentral_chisquare": (2.0, 1.0),
    "noncentral_f": (2.0, 3.0, 1.0),
    "normal": (0.0, 1.0),
    "pareto": (1.5,),
    "poisson": (3.0,),
    "power": (1.5,),
    "rayleigh": (1.0,),
    "spawn": (3,),
    "standard_gamma": (1.5,),
    "standard_t": (3.0,),
    "triangular": (0.0, 1.0, 2.0),
    "uniform": (0.0, 1.0),
    "vonmises": (0.0, 1.0),
    "wald": (1.0, 1.0),
    "weibull": (1.5,),
    "zipf": (2.5,),
}
# Those whose parameters are no numbers that broadcast; their bad input is in the table of words.
OTHERS: Final = {
    *("choice", "dirichlet", "multinomial", "multivariate_hypergeometric", "multivariate_normal"),
    *("permutation", "permuted", "random", "shuffle", "standard_cauchy", "standard_exponential"),
    "standard_normal",
}
WITHOUT_SIZE: Final = ("bytes", "spawn")
# (method, parameter) that takes integers: fractions and bools are refused, NumPy casts them
WHOLE: Final = {
    *(("binomial", "0"), ("integers", "0"), ("integers", "1"), ("bytes", "0"), ("spawn", "0")),
    *(("hypergeometric", str(k)) for k in range(3)),
}
NOT_WHOLE: Final = {
    *("True", "bools", "number 1.5", "number -1.5", "list [1.0, -1.0]", "list [1j]"),
    *("texts", "times"),
}

VALUES: Final[dict[str, Any]] = {
    **{repr(text): text for text in ("a", "1.5", b"x")},
    **{
        f"list {v!r}": v for v in (["a"], [1j], [1, [2, 3]], [], [[]], [1.0, math.nan], [1.0, -1.0])
    },
    **{f"large {n}": n for n in (2**63, 2**64, 10**400)},
    **{f"large list {n}": [n] for n in (2**63, 2**64, 2**70, 10**400)},
    **{str(v): v for v in (None, 1j, True, {}, {1}, slice(3), range(1, 3), object)},
    **{f"number {v!r}": v for v in (-1, -1.5, 0, 1.5, 2, 1e308, math.inf, -math.inf, math.nan)},
    "float32 NaN": np.float32(math.nan),
    "0-d NaN": np.array(math.nan),
    "0-d -1": np.array(-1),
    "bools": [True, False],
    "texts": np.array(["1", "2"]),
    "objects": np.array([1, None], object),
    "date": np.datetime64("2020"),
    "times": np.array([np.timedelta64(1, "s")]),
}
SIZES: Final[dict[str, Any]] = {
    **{repr(v): v for v in (-1, 1.5, True, None, (), [], (2, -1), (2, 1.5), "a", "12", [2, "a"])},
    **{repr(v): v for v in (2**63, 2**64, 10**30, {}, 1j, math.nan, (None,), ((2,),), b"a")},
    "array": np.array([2]),
    "floats": np.array([2.0]),
    "0-d": np.array(3),
    "int8": np.int8(3),
    "NumPy's bool": np.bool_(True),
}


class Call(NamedTuple):
    method: str
    what: str  # the parameter's number, or size
    value: str
    arguments: tuple[Any, ...]
    options: dict[str, Any]


def calls(method: str) -> Iterator[Call]:
    good = GOOD[method]
    for k in range(len(good)):
        for name, value in VALUES.items():
            yield Call(method, str(k), name, (*good[:k], value, *good[k + 1 :]), {})
    if method not in WITHOUT_SIZE:
        for name, value in SIZES.items():
            yield Call(method, "size", name, good, {"size": value})


def stricter(call: Call) -> bool:
    """What NumPy draws from and we refuse."""
    if call.what == "size":
        return call.value == "b'a'"  # bytes, as a sequence of integers
    if call.value in ("'1.5'", "date") or "nan" in call.value.lower():
        return True  # text and dates taken for numbers; NaN gives NaN, or what means nothing
    if (call.method, call.what) in WHOLE:
        below_zero = call.method in WITHOUT_SIZE and call.value in ("number -1", "0-d -1")
        return call.value in NOT_WHOLE or below_zero
    return call.method == "triangular" and "inf" in call.value  # NumPy gives NaN


def answer(kind: Any, call: Call) -> Any:
    """What a generator draws, or the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return getattr(kind, call.method)(*call.arguments, **call.options)
        except Exception as err:
            return err


def test_no_method_is_forgotten() -> None:
    methods = {n for n in dir(sc.random.Generator) if n[0] != "_"}
    named = {*GOOD, *OTHERS, "entropy", "spawn_key"}
    assert methods <= named


@pytest.mark.parametrize("method", [m for m in GOOD if hasattr(sc.random.Generator, m)])
def test_as_numpy_does(method: str) -> None:
    theirs, ours = np.random.default_rng(1), sc.random.default_rng(1)
    for call in calls(method):
        wanted, reply = answer(theirs, call), answer(ours, call)
        if not isinstance(reply, Exception):
            assert not isinstance(wanted, Exception), (call, wanted)
            if isinstance(reply, sc.Array):
                assert reply.shape == np.shape(wanted), call
                assert reply.dtype == np.asarray(wanted).dtype, call
            continue
        assert isinstance(reply, SpeedcubeError), (call, reply)
        assert str(reply), call
        for kind in (ValueError, TypeError):
            assert not isinstance(wanted, kind) or isinstance(reply, kind), (call, wanted, reply)
        assert isinstance(wanted, Exception) or stricter(call), (call, reply)
    again, once = sc.random.default_rng(1), sc.random.default_rng(1)
    drawn = sum(not isinstance(answer(again, call), Exception) for call in calls(method))
    getattr(once, method)(*GOOD[method])
    # What is refused takes no call number; bytes beyond the memory are refused as they are made.
    wide = 1 if method == "integers" else 0  # [2**63] numbers take a second one
    assert method == "bytes" or again.bit_generator.calls == drawn * once.bit_generator.calls + wide


# Calls whose parameters are no numbers that broadcast, each as a tuple of arguments.
GRID: Final = np.arange(6).reshape(2, 3)
COIN: Final = [0.5, 0.5]
ODD: Final[dict[str, list[tuple[Any, ...]]]] = {
    "choice": [
        *((a,) for a in (5, 0, -1, 2.5, "a", None, 1j, math.nan, math.inf, 2**70, [], [[]])),
        *((a, 2) for a in (range(3), [1, 2, 3], np.float32([1, 2]), [True, False], [[1, 2], [3]])),
        *((5, size) for size in (None, (), -1, 1.5, "a", (0,), (2, 3))),
        *((0, 0), (0, (3, 0)), ([], 0), (0, 0, False), (3, 4, False), ([1, 2, 3], 4, False)),
        *((3, 2, True, p) for p in (COIN, [0.5] * 3, [-0.5, 1, 0.5], [math.nan, 0.5, 0.5])),
        *((3, 2, True, p) for p in ("a", ["a", "b", "c"], 0.5, [[0.2, 0.3, 0.5]], [1j, 0, 0])),
        *((3, 3, False, [0.5, 0.5, 0]), (3, 2, False, [0.5, 0.5, 0]), (3, 2, True, [math.inf] * 3)),
        *((GRID, 4, True, None, axis) for axis in (0, 1, 2, -1, -3, "a")),
        *((GRID, None), (GRID, (2, 2), True, None, 1), (GRID, 2, False, None, 1)),
    ],
    "permutation": [
        *((x,) for x in (5, 0, 2.0, "a", None, 1j, [], [1, 2], {1, 2}, [[1, 2], [3]], np.array(5))),
        *((x,) for x in (np.zeros((0, 3)), np.float16([1, 2]), [True, False], range(4), (1, 2))),
        *((GRID, axis) for axis in (0, 1, 2, -1, -3, "a", 1.0, None)),
    ],
    "permuted": [(x,) for x in (5, [], [1, 2], "a", None, GRID, np.array(5), [[1, 2], [3]])],
    "shuffle": [
        *((x,) for x in (5, [], [1, 2, 3], "abc", None, (1, 2), np.array(5), {1, 2}, range(3))),
        *((GRID.copy(), axis) for axis in (0, 1, 2, "a")),
    ],
    "dirichlet": [
        *((alpha,) for alpha in ([1, 2.0], [0.0, 1], [], 1.0, [[1.0, 2]], [-1.0, 1], "a", ["a"])),
        *((alpha,) for alpha in (None, [1j, 1], [[1], [2, 3]], np.float32([1, 2]), [True, True])),
        *(([1, 2.0], size) for size in (3, (2, 3), (), -1, 1.5, "a")),
    ],
    "multinomial": [
        *((n, COIN) for n in (5, 0, -1, 2.0, "a", None, 2**63, [5, 6], [-1, 2], [], [[5], [6]])),
        *((5, p) for p in ([0.5], [], [[]], 0.5, [1.5, 0.5], [-0.5, 0.5], [math.nan, 0.5])),
        *((5, p) for p in ("a", None, ["a", "b"], [1j, 0], [0.6, 0.6, 0.1], [0, 0], [0, 1.0])),
        *((5, COIN, size) for size in (3, (2, 3), -1, "a")),
        *(([5, 6], [COIN] * 2), ([5, 6, 7], [COIN] * 2), ([[5], [6]], [COIN] * 3)),
        *(([5, 6], COIN, 2), ([5, 6], COIN, 3), ([5, 6], COIN, (3, 2))),
    ],
    "multivariate_normal": [
        *((mean, np.eye(2)) for mean in ([0, 0.0], [0.0], 0.0, [[0, 0.0]], "a", None, [1j, 0])),
        *(([0, 0], cov) for cov in (np.eye(3), [1.0, 2], 1.0, "a", None, [[1j, 0], [0, 1]])),
        *(([0, 0], np.eye(2), size) for size in (3, (2, 3), (), -1, "a")),
        *(([0, 0], [[1, 2], [2, 1]], None, check) for check in ("raise", "ignore", "other")),
        *(([0, 0], [[-1, 0], [0, -1]], None, "raise"), ([0.0], [[0.0]])),
    ],
    "multivariate_hypergeometric": [
        *((colors, 2) for colors in ([3, 4], [3], [-3, 4], [3.5, 4], [], 3, [[3, 4]], "a", ["a"])),
        *((colors, 2) for colors in (None, [1j], [2**70], [10**9, 1], [2**62, 2**62], [1], [0, 0])),
        *(([3, 4], n) for n in (0, 7, 8, -1, "a", None, 2.5, [2], 2**63, np.array(2))),
        *(([3, 4], 2, size) for size in (3, (2, 3), (), -1, "a")),
        ([3, 4], 2, None, "other"),
    ],
}


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("hypergeometric", (10**9 - 1, 5, 3)),
        ("hypergeometric", (10**9, 5, 3)),
        ("hypergeometric", (5, 10**9 - 1, 3)),
        ("hypergeometric", (5, 10**9, 3)),
        ("hypergeometric", (10**9 - 1, 5, 10**9)),
        ("hypergeometric", (10**9 - 1, 10**9 - 1, 2 * 10**9 - 2)),
        ("hypergeometric", (10**9 - 1, 10**9 - 1, 2 * 10**9 - 1)),
        ("poisson", (discrete._LARGEST_MEAN,)),
        ("poisson", (np.nextafter(discrete._LARGEST_MEAN, np.inf),)),
        ("normal", ([2**1023],)),
        ("normal", ([2**1024],)),
        ("normal", ([-(2**1024)],)),
    ],
    ids=str,
)
def test_the_last_that_is_allowed_is_numpys(method: str, arguments: tuple[Any, ...]) -> None:
    try:
        getattr(np.random.default_rng(1), method)(*arguments)
    except (ValueError, OverflowError):
        with pytest.raises(ParameterError):
            getattr(rng(), method)(*arguments)
    else:
        getattr(rng(), method)(*arguments).compute(on="core")


@pytest.mark.parametrize("method", ODD)
def test_arrays_as_numpy_takes_them(method: str) -> None:
    """Kinds of exceptions, shapes and dtypes; what is refused takes no call number."""
    for arguments in ODD[method]:
        ours = sc.random.default_rng(1)
        call = Call(method, "", "", arguments, {})
        wanted = answer(np.random.default_rng(1), call)
        reply = answer(ours, call)
        if not isinstance(reply, Exception):
            assert not isinstance(wanted, Exception), (call, wanted)
            if isinstance(reply, sc.Array):
                assert (reply.shape, reply.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
                assert reply.compute(on="core").shape == reply.shape
            continue
        assert isinstance(reply, SpeedcubeError), (call, reply)
        assert isinstance(wanted, Exception), (call, reply)
        for kind in (ValueError, TypeError):
            assert not isinstance(wanted, kind) or isinstance(reply, kind), (call, wanted, reply)
        assert ours.bit_generator.calls == 0, call


def rng() -> Any:
    return sc.random.default_rng(7)


def lazy(values: Any) -> sc.Array:
    return sc.asarray(values) + 0


# what -> a call, its exception, its words
WORDS: Final[dict[str, tuple[Callable[[], Any], type[Exception], str]]] = {
    "text": (
        lambda: rng().normal("1.5"),
        ParameterTypeError,
        "loc must be a number, not '1.5'",
    ),
    "list of text": (
        lambda: rng().normal(0, ["a"]),
        ParameterTypeError,
        "scale must be a number or an array of them: dtype 'str32' is not supported",
    ),
    "complex": (lambda: rng().gumbel(1j), ParameterTypeError, "loc must be a number, not 1j"),
    "None": (lambda: rng().weibull(None), ParameterTypeError, "a must be a number, not None"),
    "ragged": (
        lambda: rng().laplace([1, [2, 3]]),
        ParameterTypeError,
        "loc must be a number or an array of them: this is not an array: ",
    ),
    "negative": (lambda: rng().rayleigh(-2), ParameterError, "scale < 0: scale is -2.0"),
    "negative, of an array": (
        lambda: rng().normal(0, [[1, 2], [3, -4]]),
        ParameterError,
        "scale < 0: scale[1, 1] is -4",
    ),
    "the first of several": (
        lambda: rng().power([[1.0, 0.0], [-1.0, 2.0]]),
        ParameterError,
        "a <= 0: a[0, 1] is 0.0",
    ),
    "NaN": (lambda: rng().normal(math.nan), ParameterError, "loc must not be NaN: loc is nan"),
    "NaN in an array": (
        lambda: rng().geometric(np.array([0.5, math.nan], "f4")),
        ParameterError,
        "p must not be NaN: p[1] is nan",
    ),
    "probability": (
        lambda: rng().geometric([0.5, 1.5]),
        ParameterError,
        "p <= 0 or p > 1: p[1] is 1.5",
    ),
    "pair of arrays": (
        lambda: rng().uniform([[0], [5]], [1, 6, 3]),
        ParameterError,
        "low > high: low[1, 0] is 5, high[0] is 1",
    ),
    "order": (
        lambda: rng().triangular(0, 3, 2),
        ParameterError,
        "mode > right: mode is 3.0, right is 2.0",
    ),
    "infinite": (
        lambda: rng().uniform(0, math.inf),
        ParameterError,
        "high - low must be finite: low is 0.0, high is inf",
    ),
    "beyond float64": (
        lambda: rng().normal([1, 10**400]),
        ParameterError,
        "loc is beyond float64: loc[1] is 1000",
    ),
    "parameters that do not meet": (
        lambda: rng().normal([1, 2], [1, 2, 3]),
        ShapeError,
        "(2,) and (3,)",
    ),
    "size that does not fit": (
        lambda: rng().normal([1, 2], 1, size=3),
        ShapeError,
        "size (3,) is not compatible with the parameters, which have the shape (2,) together",
    ),
    "size without an axis": (
        lambda: rng().normal([[1, 2]], 1, size=2),
        ShapeError,
        "leave size out, or give a shape that they broadcast to",
    ),
    "negative size": (lambda: rng().random(-2), ShapeError, "sizes must be 0 or more, not -2"),
    "half a size": (lambda: rng().random((2, 1.5)), ShapeTypeError, "sizes must be integers, not"),
    "size True": (lambda: rng().random(True), ShapeTypeError, "sizes must be integers, not True"),
    "size beyond": (
        lambda: rng().random((2**40, 2**40)),
        ShapeError,
        "has 2**63 elements or more; positions are 63-bit",
    ),
    "low >= high": (
        lambda: rng().integers(5, 5),
        ParameterError,
        "low >= high: low is 5, high is 5",
    ),
    "low >= high in arrays": (
        lambda: rng().integers([1, 5], [[3], [5]]),
        ParameterError,
        "low >= high: low[1] is 5, high[0, 0] is 3",
    ),
    "integers of True": (
        lambda: rng().integers(True),
        ParameterTypeError,
        "high must be an integer, not True",
    ),
    "integers of halves": (
        lambda: rng().integers([1.5, 2]),
        ParameterTypeError,
        "high must be an integer or an array of them, not of float64",
    ),
    "integers beyond": (
        lambda: rng().integers([1, 300], dtype="uint8"),
        ParameterError,
        "high is out of bounds for uint8: high[1] is 300",
    ),
    "integers far beyond": (
        lambda: rng().integers([2**64]),
        ParameterError,
        f"high is out of bounds for int64: high[0] is {2**64}",
    ),
    "bools beyond": (
        lambda: rng().integers(3, dtype=bool),
        ParameterError,
        "[0, 2] is out of bounds for bool",
    ),
    "integers that float": (
        lambda: rng().integers(5, dtype=float),
        DTypeError,
        "integers gives integer dtypes, not float64",
    ),
    "lazy bounds": (
        lambda: rng().integers(lazy([3.0, 4.0])),
        DTypeError,
        "high must be integers, not float64; use .astype('int64')",
    ),
    "choice of what there is not": (
        lambda: rng().choice(3, 4, replace=False),
        ParameterError,
        "cannot take a larger sample than population when replace is False: size (4,) has 4",
    ),
    "choice of texts": (
        lambda: rng().choice(["a", "b"]),
        ParameterTypeError,
        "a must be an array of numbers: dtype 'str32' is not supported",
    ),
    "p of text": (
        lambda: rng().choice(2, p=["a", "b"]),
        ParameterTypeError,
        "p must be a number or an array of them: dtype 'str32' is not supported",
    ),
    "p that is short": (
        lambda: rng().choice(3, p=[0.5, 0.5]),
        ParameterTypeError,
        "a and p must have the same size: a has 3 things, p the shape (2,)",
    ),
    "p that does not sum": (
        lambda: rng().choice(2, p=[0.5, 0.4]),
        ParameterError,
        "probabilities do not sum to 1: they sum to 0.9",
    ),
    "p below 0": (
        lambda: rng().choice(3, p=[0.6, 0.6, -0.2]),
        ParameterError,
        "probabilities must be numbers >= 0: p[2] is -0.2",
    ),
    "permutation beyond": (
        lambda: rng().permutation(2**60 + 1),
        ParameterError,
        "x must be between 0 and 2**60 for a permutation, not 1152921504606846977",
    ),
    "no proportions": (
        lambda: rng().dirichlet([0.0, 0.0]),
        ParameterError,
        "alpha: at least one must be above 0",
    ),
    "one proportion": (
        lambda: rng().dirichlet(1.0),
        ParameterTypeError,
        "alpha must have one axis, not the shape ()",
    ),
    "axis beyond": (
        lambda: rng().permutation(np.zeros((2, 3)), axis=2),
        AxisError,
        "axis 2 is out of range for an array of 2 dimensions",
    ),
    "axis of text": (
        lambda: rng().permutation(np.zeros((2, 3)), axis="a"),
        AxisTypeError,
        "axis must be an integer, not 'a'",
    ),
    "method": (
        lambda: rng().standard_exponential(method="exact"),
        ParameterError,
        "method must be 'zig' or 'inv', not 'exact'",
    ),
    "spawn too many": (lambda: rng().spawn(2**32), ParameterError, "below 2**32, not 4294967296"),
    "bytes below 0": (lambda: rng().bytes(-1), ParameterError, "length must be 0 or more, not -1"),
    "rand of a tuple": (
        lambda: sc.random.RandomState(1).rand((2, 3)),
        ShapeTypeError,
        "sizes must be integers, not (2, 3)",
    ),
    "random_integers": (
        lambda: sc.random.RandomState(1).random_integers(0),
        ParameterError,
        "low >= high: low is 1, high is 1",
    ),
    "randint": (
        lambda: sc.random.randint(5, 5),
        ParameterError,
        "low >= high: low is 5, high is 5",
    ),
    "a function's scale": (lambda: sc.random.normal(0, -1), ParameterError, "scale < 0"),
    "a function's dtype": (
        lambda: sc.random.normal(dtype="f4"),
        UnsupportedError,
        "normal: got an unexpected keyword argument 'dtype'; it takes (loc=0.0, scale=1.0, ",
    ),
}


@pytest.mark.parametrize("what", WORDS)
def test_words(what: str) -> None:
    ask, kind, words = WORDS[what]
    with pytest.raises(kind, match=re.escape(words)) as caught:
        ask()
    assert type(caught.value) is kind


def test_what_is_drawn_after_all() -> None:
    """Values that look wrong and are not."""
    assert rng().normal(range(1, 3), 0).compute().tolist() == [1.0, 2.0]
    assert rng().normal([2**70, -(2**64)], 0).compute().tolist() == [2.0**70, -(2.0**64)]
    assert rng().normal(size=(2**40, 2**20)).shape == (2**40, 2**20)  # lazy: nothing is made
    assert rng().uniform([], 1).shape == (0,)
    assert rng().integers([]).shape == (0,)
    assert rng().integers([[]], dtype="u1").compute().dtype == np.uint8
    wide = rng().integers([2**64 - 9], 2**64, 50, dtype="uint64").compute()
    assert wide.min() >= 2**64 - 9
    assert len(set(wide.tolist())) == 9
    coins = rng().integers(0, 2, 400, dtype=bool).compute()
    assert coins.dtype == bool
    assert 150 < coins.sum() < 250
    assert rng().integers(0, 1, 9, dtype=bool, endpoint=True).compute().dtype == bool
    both = rng().integers([0, 1], [1, 2], (50, 2), dtype=bool).compute()
    assert (both == [False, True]).all()
    assert (rng().integers(2, size=400, dtype="uint8").compute() == coins).all()
    assert sc.random.RandomState(7).randint(2, size=400, dtype=bool).dtype == bool


# Calls at the far ends of their domains, and what each element is.
ENDS: Final[dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]] = {
    "lognormal of inf": (lambda: rng().lognormal(math.inf, 1, 9), lambda x: x == math.inf),
    "weibull": (lambda: rng().weibull(5e-324, 9), lambda x: (x == 0) | (x == math.inf)),
    "vonmises": (lambda: rng().vonmises(0.5, [1e100, 1e308, math.inf]), lambda x: x == 0.5),
    "noncentral_chisquare": (lambda: rng().noncentral_chisquare(1e308, 1, 9), lambda x: x > 1e307),
    "dirichlet": (lambda: rng().dirichlet([0, 1e-300, 2], 9).sum(axis=-1), lambda x: x == 1),
    "dirichlet of 0": (lambda: rng().dirichlet([0, 1, 2], 9)[:, 0], lambda x: x == 0),
    "gamma": (lambda: rng().gamma([0, 5e-324, 1e-300]), lambda x: x == 0),
    "beta": (lambda: rng().beta(1e308, [1e-300, 1, 1e290]), lambda x: x == 1),
    "poisson": (lambda: rng().poisson([0, 5e-324, 1e-300]), lambda x: x == 0),
    "binomial": (lambda: rng().binomial(2**63 - 1, [0, 1, 5e-324]), lambda x: x % (2**63 - 1) == 0),
    "geometric": (lambda: rng().geometric([1e-300, 5e-324]), lambda x: x == 2**63 - 1),
    "normal of inf": (lambda: rng().normal(math.inf, 1, 9), lambda x: x == math.inf),
}


@pytest.mark.parametrize("what", ENDS)
def test_far_ends(what: str) -> None:
    draw, right = ENDS[what]
    values = draw().compute(on="core")
    assert right(values).all(), values
