"""NumPy's answers where dtypes meet: comparisons of integers, Python and NumPy scalars, booleans,
reductions of nothing. Every row is computed by both libraries."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube import dtypes
from speedcube.errors import DTypeError, ParameterError, RangeError, ShapeError
from speedcube.kernel.builder import Builder
from speedcube.kernel.evaluate import evaluate
from speedcube.kernel.lower.rules import RULES

COMPARE = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def same(ours: Any, numpys: Any, what: str = "") -> None:
    """The values, shape and dtype that NumPy gives."""
    assert isinstance(ours, sc.Array), what
    computed = ours.compute(on="core")
    assert_same_bits(computed, numpys, what)
    assert type(computed) is type(numpys), what


# Comparisons ------------------------------------------------------------------------------------


def edges(dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    return np.unique(np.array([info.min, info.min + 1, 0, 1, 5, info.max - 1, info.max], dtype))


@pytest.mark.parametrize("compare", COMPARE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("signed", dtypes.SIGNED)
def test_signed_against_uint64_is_exact(signed: str, compare: Callable[..., Any]) -> None:
    wide = np.concatenate([edges("uint64"), np.array([2**63 - 1, 2**63, 2**63 + 1], "uint64")])
    for x, y in ((edges(signed), wide), (wide, edges(signed))):
        p, q = (g.ravel() for g in np.meshgrid(x, y))
        exact = [compare(int(a), int(b)) for a, b in zip(p, q, strict=True)]
        compared = compare(sc.asarray(p), sc.asarray(q))
        assert compared.compute(on="core").tolist() == exact
        b = Builder()
        rule = RULES[{"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal"}.get(
            compare.__name__, {"gt": "greater", "ge": "greater_equal"}.get(compare.__name__, "")
        )]  # fmt: skip
        b.output("x", rule(b, b.input("x", p.dtype.name), b.input("y", q.dtype.name)))
        assert evaluate(b.body(), {"x": p, "y": q})["x"].tolist() == exact


OUTSIDE = (-(2**64), -(2**63) - 1, -129, -1, 300, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**400)


@pytest.mark.parametrize("compare", COMPARE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", dtypes.INTEGERS)
def test_python_integers_are_compared_exactly(dtype: str, compare: Callable[..., Any]) -> None:
    x = edges(dtype)
    for value in (*OUTSIDE, *(int(v) for v in x)):
        exact = [compare(int(v), value) for v in x]
        assert compare(sc.asarray(x), value).compute(on="core").tolist() == exact, value


def test_what_was_compared_wrongly() -> None:
    assert not (sc.asarray([2**63 - 1]) == sc.asarray(np.array([2**63], "uint64"))).compute()[0]
    assert (sc.asarray(np.array([2**64 - 1], "uint64")) < 2**64).compute().all()
    assert (sc.asarray([1.0]) < 10**400).compute().all()
    assert (sc.asarray(np.array([1.0], "float32")) > -(10**400)).compute().all()
    assert (sc.asarray([True]) < 2**64).compute().all()
    with pytest.raises(DTypeError, match="numbers beyond int64 are compared with arrays only"):
        sc.less(2**65, 2**66)


# Scalars ----------------------------------------------------------------------------------------

I1, I4, U8, F4, B = (
    np.array(v, d) for v, d in (
        ([1, 0, -7], "int8"), ([4, 9, 100], "int32"), ([2, 3, 2**40], "uint64"),
        ([2.5, -3.0, 4.0], "float32"), ([True, False, True], "bool"),
    )
)  # fmt: skip


def _raised(x: np.ndarray, y: Any, m: Any, a: Callable[..., Any]) -> Any:
    return a(x) ** y


ROWS: dict[str, Callable[[Any, Callable[..., Any]], Any]] = {
    # (module, asarray) -> array
    "int8 / 300": lambda m, a: a(I1) / 300,
    "300 / int8": lambda m, a: 300 / a(I4.astype("int8")),
    "int8 / 2**70": lambda m, a: a(I1) / 2**70,
    "logical_xor(int8, 300)": lambda m, a: m.logical_xor(a(I1), 300),
    "logical_and(300, int8)": lambda m, a: m.logical_and(300, a(I1)),
    "float32 * np.float64": lambda m, a: a(F4) * np.float64(0.1),
    # powers
    **{
        f"{x.dtype}**{y!r}": partial(_raised, x, y)
        for x, y in itertools.product(
            (I1, I4, U8, F4, B),
            (np.int64(2), np.int8(3), np.uint64(2), np.float32(2), np.float64(2), np.int64(0)),
        )
    },
    "float32**np.float64(0.5)": lambda m, a: abs(a(F4)) ** np.float64(0.5),
    "float32**np.int64(-2)": lambda m, a: a(F4) ** np.int64(-2),
    "int32**True": lambda m, a: a(I4) ** True,
    "int32**np.bool_": lambda m, a: a(I4) ** np.bool_(True),
    "int32**2.0": lambda m, a: a(I4) ** 2.0,
    "bool**0": lambda m, a: a(B) ** 0,
    "bool**2": lambda m, a: a(B) ** 2,
    "bool**3": lambda m, a: a(B) ** 3,
    "bool**bool": lambda m, a: a(B) ** a(B[::-1]),
    "2**int32": lambda m, a: 2 ** a(I4 % 20),
    "3**uint64": lambda m, a: 3 ** a(U8 % 20),
    "np.int64(3)**int8": lambda m, a: m.pow(np.int64(3), a(np.array([3, 4], "int8"))),
    "int32**int32": lambda m, a: a(I4) ** a(I4[::-1] % 7),
    "np.power(int32, int8)": lambda m, a: np.power(a(I4), a(np.array([2, 3, 4], "int8"))),
    "np.power(2, int32)": lambda m, a: np.power(2, a(I4 % 30)),
    "np.power(float32, 2)": lambda m, a: np.power(a(F4), 2),
    # booleans and integers where NumPy has floats
    "square of bool": lambda m, a: m.square(a(B)),
    "bool // bool": lambda m, a: a(B) // a(B[::-1]),
    "bool % bool": lambda m, a: a(B) % a(B[::-1]),
    "bool << bool": lambda m, a: a(B) << a(B[::-1]),
    "bool >> bool": lambda m, a: a(B) >> a(B[::-1]),
    "bool << 1": lambda m, a: a(B) << 1,
    "bool // 2": lambda m, a: a(B) // 2,
    "rint of int32": lambda m, a: m.rint(a(I4)),
    "np.rint of uint64": lambda m, a: np.rint(a(U8)),
    "rint of float32": lambda m, a: m.rint(a(F4)),
    "fabs of int32": lambda m, a: np.fabs(a(I4 - 50)),
    "fabs of float32": lambda m, a: np.fabs(a(F4)),
    # creation
    "linspace of ints": lambda m, a: m.linspace(0, -5, 4, dtype=int),
    "linspace of int8": lambda m, a: m.linspace(-2.5, 2.5, 3, dtype="int8"),
    "linspace of one": lambda m, a: m.linspace(-2.5, 7, 1, dtype=int),
    "linspace of bool": lambda m, a: m.linspace(-0.5, 0.5, 4, dtype=bool),
    "arange of uint64": lambda m, a: m.arange(2**63, 2**63 + 2, dtype="u8"),
    "arange up to uint64": lambda m, a: m.arange(2**63 - 2, 2**63 + 2, dtype="u8"),
    "arange to the last": lambda m, a: m.arange(2**64 - 3, 2**64 - 1, dtype="u8"),
    "arange down": lambda m, a: m.arange(2**64 - 1, 5, -(2**62), dtype="u8"),
    "arange of all int64": lambda m, a: m.arange(-(2**63), 2**63 - 1, 2**62),
    "arange down to 1": lambda m, a: m.arange(5, 0, -1, dtype="u1"),
    "arange of NumPy's": lambda m, a: m.arange(np.int8(3), np.uint64(9), np.int64(2), dtype="i8"),
    "arange of nothing": lambda m, a: m.arange(300, 300, dtype="i1"),
    "arange of floats": lambda m, a: m.arange(0.5, 5, dtype="i4"),
    "arange to 2**63": lambda m, a: m.arange(2**62, 2**63, 2**61),
    # sums
    "sum of floats as int": lambda m, a: a([1.5, 2.5]).sum(dtype=int),
    "sum of float32 as int8": lambda m, a: a(F4 * 30).sum(dtype="int8"),
    "sum of floats as bool": lambda m, a: a([0.5, -0.5]).sum(dtype=bool),
    "sum of ints as bool": lambda m, a: a([2, -2]).sum(dtype=bool),
    "sum of ints as int8": lambda m, a: a([100, 100]).sum(dtype="int8"),
    "sum of rows as int": lambda m, a: a([[1.5, 2.5], [-1.5, 0.9]]).sum(axis=1, dtype="int32"),
    "sum of float32 as float64": lambda m, a: a(F4).sum(dtype="float64"),
    # any and all of nothing
    "any": lambda m, a: m.zeros((0, 3)).any(axis=0),
    "all": lambda m, a: m.zeros((0, 3)).all(axis=0),
    "any of all axes": lambda m, a: m.zeros((0, 3)).any(),
    "all of all axes": lambda m, a: m.zeros((0, 3)).all(),
    "any, nothing left": lambda m, a: m.zeros((0, 3)).any(axis=1),
    "all, kept": lambda m, a: m.zeros((2, 0, 3)).all(axis=(1, 2), keepdims=True),
    "all of a sum": lambda m, a: m.all(m.zeros((0, 3)) == 1, axis=0) & a(B),
}


@pytest.mark.parametrize("name", ROWS)
def test_numpy_gives_the_same(name: str) -> None:
    with np.errstate(all="ignore"):
        wanted = ROWS[name](np, np.asarray)
    same(ROWS[name](sc, sc.asarray), wanted, name)


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if not dtypes.is_float(d)])
def test_functions_of_small_integers_are_the_floats_that_numpy_has(dtype: str) -> None:
    x = np.array([0, 1, 100], dtype)
    for function in (np.fabs, np.rint, np.sqrt, np.spacing):
        same(function(sc.asarray(x)), function(x))
    for other in (x, 2, 0.5, True, np.ones(3, "int8"), np.ones(3, "uint16"), np.ones(3, "float32")):
        for function in (np.copysign, np.arctan2, np.logaddexp):
            assert function(sc.asarray(x), other).dtype == function(x, other).dtype
    same(sc.round(sc.asarray(x)), np.round(x))


def test_aranges_are_counted_exactly() -> None:
    """NumPy counts in floats: it leaves out the last."""
    computed = sc.arange(-(2**63), 2**63 - 1, 2**63 - 1).compute(on="core")
    assert computed.tolist() == [-(2**63), -1, 2**63 - 2]
    assert sc.arange(0, 2**60 + 1).shape == (2**60 + 1,)


def test_powers_of_other_exponents() -> None:
    """Whole powers up to 64 are products; the others are `power`, within an ulp."""
    x = np.array([0.5, 2.0, 3.7])
    for exponent in (0.3, 100, -2.5, np.float64(1.7), [2.0, 3.0, 0.1]):
        computed = (sc.asarray(x) ** exponent).compute(on="core")
        assert_same_bits(computed, sc.power(sc.asarray(x), exponent).compute(on="core"))
        np.testing.assert_allclose(computed, x**exponent, rtol=1e-15)
    np.testing.assert_allclose((2.5 ** sc.asarray(x)).compute(on="core"), 2.5**x, rtol=1e-15)
    assert (sc.asarray([4, 9]) ** 1.5).compute(on="core").tolist() == [8.0, 27.0]


def test_booleans_are_compared_as_such() -> None:
    compared = sc.asarray(B) == True  # noqa: E712
    assert {arg.dtype for arg in compared._expr.args} == {"bool"}
    same(compared, B == True)  # noqa: E712


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "bool minus": (lambda: -sc.asarray(B), DTypeError, "negative takes int8"),
    "bool difference": (lambda: sc.asarray(B) - sc.asarray(B), DTypeError, "subtract takes int8"),
    "sign of bool": (lambda: sc.sign(sc.asarray(B)), DTypeError, "sign takes int8"),
    "int8 + 300": (lambda: sc.asarray(I1) + 300, DTypeError, "300 does not fit int8"),
    "int8**300": (lambda: sc.asarray(I1) ** 300, DTypeError, "300 does not fit int8"),
    "int32**np.int64(-1)": (
        lambda: sc.asarray(I4) ** np.int64(-1),
        ParameterError,
        "integers to negative integer powers are not allowed",
    ),
    **{
        f"{x.dtype}**{y}": (
            partial(_raised, x, y, sc, sc.asarray),
            ParameterError,
            "integers to negative integer powers are not allowed",
        )
        for x, y in itertools.product((I1, I4, B), (-1, -100))
    },
    **{  # NumPy raises an OverflowError: -1 is no uint64
        f"uint64**{y}": (partial(_raised, U8, y, sc, sc.asarray), RangeError, f"{y} does not fit")
        for y in (-1, -100)
    },
    "an integer beyond floats": (
        lambda: sc.asarray(F4) + 10**400,
        DTypeError,
        "an integer of 1329 bits does not fit float32",
    ),
    "a quotient beyond floats": (lambda: sc.asarray(I1) / 10**400, DTypeError, "1329 bits"),
    "arange past int64": (
        lambda: sc.arange(2**63 - 2, 2**63 + 2, dtype="i8"),
        ParameterError,
        "arange: 9223372036854775809 does not fit int64 (-9223372036854775808.."
        "9223372036854775807); give another dtype, for example dtype='uint64' or 'float64'",
    ),
    "arange past int8": (lambda: sc.arange(300, dtype="i1"), ParameterError, "299 does not fit"),
    "arange below 0": (
        lambda: sc.arange(-3, 3, dtype="u8"),
        ParameterError,
        "-3 does not fit uint",
    ),
    "arange of floats past int8": (
        lambda: sc.arange(0.0, 300.0, dtype="i1"),
        ParameterError,
        "299 does not fit int8",
    ),
    "max of no booleans": (
        lambda: sc.zeros((0, 3), bool).max(axis=0).compute(),
        ShapeError,
        "max of no elements",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    ask, kind, message = REFUSED[name]
    with pytest.raises(kind, match=re.escape(message)):
        ask()


def test_fractional_powers_of_small_integers_are_float64() -> None:
    for dtype in ("bool", "int8", "uint16"):
        x = np.ones(3, dtype)
        same(sc.asarray(x) ** 0.5, x**0.5)
        same(sc.asarray(x) ** 1.5, x**1.5)
