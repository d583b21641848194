"""NumPy's numerical functions beside ours: values, dtypes, shapes and kinds of errors.

Sums are exact here, and elementary functions our own: those are compared within an error.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import speedcube as sc

FLOATS: Final = ("float16", "float32", "float64")
ALL: Final = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *FLOATS,
)
SHAPES: Final = ((), (0,), (1,), (7,), (3, 4), (2, 3, 2), (0, 3))
SPECIAL: Final = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 100.0)
NEAR: Final = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-9}

# No sum of floats and no elementary function: NumPy's bits.
EXACT: Final = """
np.fmin(x, y); np.fmax(x, y); np.fmod(x, y); np.copysign(x, y); np.heaviside(x, y); np.fabs(x)
np.reciprocal(x); np.isposinf(x); np.isneginf(x); np.fix(x); np.nan_to_num(x); np.isreal(x)
np.iscomplex(x); np.nan_to_num(x, nan=1, posinf=2, neginf=3); np.round(x); np.round(x, 1)
np.round(x, -1); np.round(x, 400); np.clip(x, -3, 300); np.clip(x, 1, None)
np.clip(x, max=1, min=0); np.ptp(x); np.ptp(x, axis=0); np.nanmin(x); np.nanmax(x, axis=0)
np.nanmin(x, axis=-1, keepdims=True); np.isclose(x, y); np.allclose(x, y)
np.array_equal(x, y); np.array_equal(x, x, equal_nan=True); np.array_equiv(x, y[..., :1])
np.isclose(x, y, rtol=0.1, atol=1, equal_nan=True); np.diff(x); np.diff(x, n=2, axis=0)
np.diff(x, axis=0, prepend=1); np.ediff1d(x, to_begin=x, to_end=y); np.max(x, initial=1)
np.min(x, axis=0, initial=1, where=y > 0); np.any(x, axis=0, where=y > 0)
np.all(x, where=y > 0); np.mod(x, y); np.true_divide(x, 4); np.bitwise_count(x)
np.packbits(x); np.packbits(x, axis=-1, bitorder='little'); np.unpackbits(x)
np.unpackbits(x, axis=0, count=-3); x == None; x != 'a'; np.argmax(x, axis=1); np.max(x, axis=0)
np.add(x, y, dtype='float64'); np.power(x, 2)
np.maximum(x, y, dtype='float32'); np.less(x, y, dtype=bool)
np.divmod(x, y); np.modf(x); np.ldexp(x, 3); np.frexp(x); np.nextafter(x * 1.0, y)
np.spacing(x * 1.0); np.cross(x[..., :1].repeat(3, -1), x[..., -1:].repeat(3, -1))
np.vander(x); np.polyadd(x, y)
np.polyder(x.ravel()); np.fmax.reduce(x); np.bitwise_left_shift(x, 1)
np.multiply.outer(x, y[..., :1]); np.gcd(x, y); np.lcm(x, y)
np.amax(x, axis=0); np.amin(x); np.bitwise_not(x); np.left_shift(x, 1); np.right_shift(x, 2)
np.nanargmax(x, axis=-1); np.nanargmin(x); np.real_if_close(x); np.polysub(x, y); np.repeat(x, 2.0)
np.maximum.accumulate(x, axis=0); np.minimum.accumulate(x, axis=-1); np.fmax.accumulate(x, axis=-1)
np.logical_or.accumulate(x, axis=0); np.logical_xor.reduce(x, axis=-1); np.bitwise_or.reduce(x)
np.bitwise_xor.accumulate(x, axis=-1); np.gcd.accumulate(x, axis=0); np.gcd.reduce(x, axis=-1)
np.maximum.reduceat(x, [0, 1, 0], axis=-1); np.logical_and.reduceat(x, [0], axis=0)
np.where(y > 0, x, 7); np.where(y > 0, -1, x); np.minimum.outer(y[..., :1], x)
"""
# Of few elements: a sum's order is seen in the last places only.
ROUNDED: Final = """
np.logaddexp(x, y); np.logaddexp2(x, y); np.float_power(x, y); np.degrees(x); np.radians(x)
np.rad2deg(x); np.deg2rad(x); np.sinc(x); np.nansum(x); np.nansum(x, axis=0); np.nanprod(x)
np.nansum(x, axis=(0, 1)); np.nanmean(x); np.nanmean(x, axis=-1, keepdims=True)
np.nanmean(x, axis=(0, -1)); np.nanvar(x, axis=0); np.nanstd(x); np.nanstd(x, ddof=1)
np.nanvar(x, axis=1, ddof=3); np.nancumsum(x, axis=-1); np.nancumprod(x, axis=0)
np.average(x); np.average(x, axis=0); np.trapezoid(x); np.trapezoid(x, dx=2, axis=0)
np.gradient(x * 1.0, 0.5, axis=-1); np.gradient(x, axis=-1, edge_order=2); np.unwrap(x, period=6)
np.unwrap(x); np.unwrap(x, axis=0, discont=4.0); np.cov(x); np.cov(x, rowvar=False)
np.sum(x, axis=()); np.sum(x, axis=0, initial=3, where=y > 0); np.sum(x, axis=1)
np.prod(x, where=y > 0, initial=2)
np.arccos(x); np.arccosh(x); np.arcsin(x); np.arctanh(x); np.arctan2(x, y)
np.polymul(np.append(1, x)[:3], np.append(2, y)[:2]); np.add.reduceat(x, [0, 1], axis=-1)
np.subtract.accumulate(x * 1.0, axis=0); np.subtract.reduce(x * 1.0, axis=-1)
np.nanpercentile(x * 1.0, 30.0, axis=0); np.cross(x[..., :2], y[..., :2])
np.mean(x, where=y > 0); np.mean(x, axis=0, where=y > 0); np.var(x, axis=0, where=y > 0)
np.std(x, where=y > 0); np.var(x, axis=0, correction=1); np.cumsum(x, axis=0)
np.std(x, axis=0, mean=np.mean(x, axis=0, keepdims=True)); np.mean(x, axis=(0, 1))
np.i0(x); np.polyval(x.ravel(), y); np.polyint(x.ravel()); np.gradient(y * 1.0, axis=-1)
np.convolve(x, y, 'same')
np.correlate(x, y); np.interp(x, np.arange(5.0), [1, 3, 2, 5, 4]); np.interp(x, [1], [2])
np.interp(x, [0.0, 2, 1], [1, 3, 2], period=2.5)
np.add.reduce(x, axis=0, where=y > 0, initial=1)
np.add.accumulate(x + [0.5], axis=-1)
"""


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        values = rng.normal(size=shape) * rng.choice([0.01, 1.0, 30.0])
        special = rng.random(shape) < rng.choice([0.0, 0.3])
        return np.where(special, rng.choice(SPECIAL, size=shape), values).astype(dtype)
    limits = np.iinfo(dtype)
    low, high = (max(limits.min, -9), 9) if seed % 2 else (limits.min, limits.max)
    return rng.integers(low, high, shape, dtype=dtype, endpoint=True)


def outcome(text: str, **names: Any) -> Any:
    """The value of ``text``, or the exception."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = eval(text, {"np": np, **names})
            several = value if isinstance(value, tuple) else (value,)
            return tuple(one.compute() if isinstance(one, sc.Array) else one for one in several)
        except (ValueError, TypeError, OverflowError, IndexError) as err:
            return err


def wider(dtype: Any, numpys: Any) -> bool:
    """Of small integers some functions are float64 here and less in NumPy, as documented."""
    return dtype == np.float64 and numpys in (np.float16, np.float32)


def compare(text: str, x: Any, y: Any, near: bool) -> None:
    wanted = outcome(text, x=x, y=y)
    ours = outcome(text, x=sc.asarray(x), y=sc.asarray(y))
    if isinstance(wanted, Exception):
        kinds = (ValueError, TypeError, OverflowError, IndexError)
        assert isinstance(ours, tuple(k for k in kinds if isinstance(wanted, k))), (ours, wanted)
        return
    assert not isinstance(ours, Exception), ours
    for mine, numpys in zip(ours, wanted, strict=True):
        a, b = np.asarray(mine), np.asarray(numpys)
        assert a.dtype == b.dtype or (x.dtype.kind != "f" and wider(a.dtype, b.dtype))
        assert a.shape == b.shape
        if near and b.dtype.kind == "f":
            rtol = max(NEAR[str(b.dtype)], NEAR.get(str(x.dtype), 0))
            finite = b[np.isfinite(b)]
            size = float(np.abs(finite).max(initial=0.0)) + 1.0
            np.testing.assert_allclose(
                a.astype(float), b.astype(float), rtol=rtol, atol=rtol * size
            )
        else:
            np.testing.assert_array_equal(a.astype(b.dtype), b)


def texts(table: str) -> list[str]:
    return [text.strip() for text in table.replace("\n", ";").split(";") if text.strip()]


arguments = st.tuples(st.sampled_from(SHAPES), st.integers(0, 2**20), st.integers(0, 2**20))


@pytest.mark.parametrize("text", texts(EXACT))
@settings(max_examples=5, deadline=None)
@given(dtype=st.sampled_from(ALL), drawn=arguments)
def test_bits(text: str, dtype: str, drawn: Any) -> None:
    shape, first, second = drawn
    compare(text, numbers(dtype, shape, first), numbers(dtype, shape, second), near=False)


@pytest.mark.parametrize("text", texts(ROUNDED))
@settings(max_examples=4, deadline=None)
@given(dtype=st.sampled_from(ALL), drawn=arguments)
def test_values(text: str, dtype: str, drawn: Any) -> None:
    shape, first, second = drawn
    x, y = (numbers(dtype, shape, seed | 1) for seed in (first, second))
    if dtype == "float16":  # NumPy loses what is large on the way
        x, y = (np.where(abs(z) > 5, 5, z).astype(dtype) for z in (x, y))
    compare(text, x, y, near=True)


@pytest.mark.parametrize("name", ["bartlett", "blackman", "hamming", "hanning"])
def test_windows(name: str) -> None:
    for count in (-1, 0, 1, 2, 7):
        ours, numpys = getattr(sc, name)(count), getattr(np, name)(count)
        assert (ours.shape, ours.dtype) == (numpys.shape, numpys.dtype)
        np.testing.assert_allclose(ours.compute(), numpys, atol=1e-15)
    np.testing.assert_allclose(sc.kaiser(9, 8.6).compute(), np.kaiser(9, 8.6), rtol=1e-13)


@pytest.mark.parametrize("dtype", FLOATS)
def test_neighbours_and_exponents_of_every_size(dtype: str) -> None:
    """Of random bits, and of what lies at the ends: NumPy's, every one."""
    word, limits = f"uint{8 * np.dtype(dtype).itemsize}", np.finfo(dtype)
    rng = np.random.default_rng(1)
    ends = [0, 1, 2, np.inf, np.nan, limits.max, limits.tiny, limits.smallest_subnormal]
    bits = rng.integers(0, np.iinfo(word).max, 500, word, endpoint=True).view(dtype)
    x = np.concatenate([bits, np.array(ends, dtype), -np.array(ends, dtype)])
    y, by = rng.permutation(x), rng.integers(-2300, 2300, x.shape)
    subnormal = rng.integers(-1100, -1000, x.shape) - np.frexp(np.nan_to_num(x))[1]
    with np.errstate(all="ignore"):
        for text in ("np.nextafter(x, y)", "np.spacing(x)", "np.ldexp(x, by)", "np.modf(x)[0]",
                     "np.ldexp(x, subnormal)", "np.frexp(x)[0]", "np.fmod(x, y)"):  # fmt: skip
            names = {"np": np, "y": y, "by": by, "subnormal": subnormal}
            ours, wanted = eval(text, {**names, "x": sc.asarray(x)}), eval(text, {**names, "x": x})
            np.testing.assert_array_equal(ours.compute(), wanted, err_msg=text)


def test_long_convolutions_are_exact_sums() -> None:
    rng = np.random.default_rng(2)
    x, v = rng.normal(size=300), rng.normal(size=100)
    for mode in ("full", "same", "valid"):
        np.testing.assert_allclose(np.convolve(sc.asarray(x), v, mode).compute(),
                                   np.convolve(x, v, mode), atol=1e-12)  # fmt: skip
    line = np.zeros(100)
    line[[3, 4, 5]] = [1e16, 1.0, -1e16]
    assert float(np.convolve(sc.asarray(line), np.ones(100), "valid")[0]) == 1.0


def test_ldexp_of_a_python_integer_has_numpys_dtype() -> None:
    """float16, unless both are Python's."""
    for x in (2, -3, 0, 3001, 70_000, 2**40, True, 2.5, np.int16(3)):
        for exponent in (*(np.array([3, 0, 2], dtype) for dtype in ("i1", "i8", "u4")), 1):
            with np.errstate(all="ignore"):
                wanted = np.ldexp(x, exponent)
            ours = sc.ldexp(x, exponent if isinstance(exponent, int) else sc.asarray(exponent))
            assert ours.dtype == wanted.dtype, (x, exponent)
            np.testing.assert_array_equal(ours.compute(), wanted)
    assert np.ldexp(2, sc.asarray([1, 2])).dtype == np.float16
    assert sc.ldexp(2, [True]).dtype == np.ldexp(2, [True]).dtype == np.float64
