"""What a hostile user found: values that were wrong without a word."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

W = np.array([1 + 2j, 3 - 1j, 2j])
V = np.array([0.0, 1.0, 1.0])
TIMES = np.arange(10) + 1_700_000_000_000_000_000
U1, I4 = np.array([1, 200], "u1"), np.array([1, 2, 3], "i4")
F4, LAST = np.array([0.1, 0.2], "f4"), np.array([255], "u1")
ODD = np.array([1.0, 2.0, np.nan, 4.0, 5.0])

SAME: Final[tuple[Callable[[Any, Any], Any], ...]] = (
    # Sums of integers of 64 bits wrapped.
    lambda xp, a: a(TIMES).mean(where=a(TIMES) > 0),
    lambda xp, a: a(np.array([2**63, 2**63 + 4, 2**63], "u8")).mean(where=[True, True, True]),
    # Python's numbers were cast to the dtype of the line, or of the array.
    lambda xp, a: xp.searchsorted(a(U1), -1),
    lambda xp, a: xp.searchsorted(a(U1), 300),
    lambda xp, a: xp.searchsorted(a(I4), 2**40),
    lambda xp, a: xp.searchsorted(a(F4), 0.1, side="right"),
    lambda xp, a: xp.isin(300, a(np.array([44], "u1"))),
    lambda xp, a: xp.isin(-1, a(LAST)),
    lambda xp, a: xp.isin(0.1, a(F4)),
    lambda xp, a: xp.dot(a(LAST), 2),
    lambda xp, a: xp.dot(a(LAST), -1),
    lambda xp, a: xp.inner(a(LAST), 2),
    lambda xp, a: xp.convolve(a(LAST), -1),
    lambda xp, a: xp.dot(a(F4), 0.1),
    lambda xp, a: xp.choose([0, 1], [a(U1), 1]),
    lambda xp, a: xp.choose([0, 1], [a(F4), 1.5]),
    lambda xp, a: xp.choose([0, 1], [1, 2.5]),
    lambda xp, a: xp.isclose(a(F4), 0.1, rtol=0, atol=0),
    lambda xp, a: xp.isclose(0.1, a(F4), rtol=0, atol=0),
    lambda xp, a: xp.isclose(a(F4), np.float64(0.1), rtol=0, atol=0),
    lambda xp, a: xp.isclose(a(I4), 2.0000001),
    # Imaginary parts were left out.
    lambda xp, a: xp.average(a(W), weights=a(W)),
    lambda xp, a: xp.average(a(np.array([1, 2, 3])), weights=a(W)),
    lambda xp, a: xp.histogram(a(V), 2, weights=a(W))[0],
    lambda xp, a: xp.histogram(a(V), [0, 0.5, 1], weights=a(W))[0],
    lambda xp, a: xp.histogram(a(V), 2, weights=a(W), density=True)[0],
    lambda xp, a: xp.pad(a(W), 2, mode="linear_ramp"),
    lambda xp, a: xp.pad(a(W), (1, 3), mode="linear_ramp", end_values=1j),
    # At coordinates with equal steps a place that is no number spoiled itself, too.
    lambda xp, a: xp.gradient(a(ODD), np.arange(5.0)),
    lambda xp, a: xp.gradient(a(ODD), a(np.arange(5)), edge_order=2),
    lambda xp, a: xp.gradient(a(ODD), a(np.array([0, 1, 2, 4, 5.0]))),
    lambda xp, a: xp.gradient(a(np.outer(ODD, ODD)), np.arange(5.0), axis=1),
    lambda xp, a: xp.gradient(a(np.outer(ODD, ODD)), [1, 2, 4, 5, 6], axis=0),
)


@pytest.mark.parametrize("number", range(len(SAME)))
def test_numpys_value(number: int) -> None:
    wanted = np.asarray(SAME[number](np, np.asarray))
    got = np.asarray(SAME[number](sc, sc.asarray).compute())
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=1e-15)


def _written(how: Callable[[Any], Any], dtype: str) -> None:
    how(sc.array(np.zeros((2, 2), dtype)))


REFUSED: Final[tuple[tuple[Callable[[], Any], type[Exception]], ...]] = (
    (lambda: sc.insert(sc.asarray([1.0, 2.0]), 1, 3j), TypeError),
    (lambda: sc.insert(sc.asarray([1, 2]), 1, np.nan), ValueError),
    (lambda: _written(lambda x: sc.put(x, [0], [3j]), "f8"), TypeError),
    (lambda: _written(lambda x: sc.place(x, x == 0, [3j]), "f8"), TypeError),
    (lambda: _written(lambda x: sc.fill_diagonal(x, 3j), "f8"), TypeError),
    (lambda: _written(lambda x: x.__setitem__(0, [-3, 1]), "u1"), OverflowError),
    (lambda: _written(lambda x: x.__setitem__([0, 1], [[300, 1], [2, 3]]), "u1"), OverflowError),
    (lambda: sc.bincount(sc.asarray([0, 1, 1]), weights=W), TypeError),
    (lambda: sc.histogram2d(V, V, 2, weights=sc.asarray(W)), TypeError),
)


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_would_be_lost_is_refused(number: int) -> None:
    how, kind = REFUSED[number]
    with pytest.raises(kind) as caught:
        how()
    assert isinstance(caught.value, sc.errors.SpeedcubeError)


@pytest.mark.parametrize("dtype", ["float64", "complex128", "int32"])
@pytest.mark.parametrize("size", [10, 50_000])
def test_assignment_within_a_cache(size: int, dtype: str) -> None:
    """Memory of one's own is written in place: what was made of it is made again."""
    x, plain = sc.array(np.zeros(size, dtype)), np.zeros(size, dtype)
    with sc.cache("100MB"):
        for k in range(60):
            x[k % size], plain[k % size] = k + 1, k + 1
            assert x.sum().compute() == plain.sum()
            assert (x[:3] * 2).tolist() == (plain[:3] * 2).tolist()


NUMPYS: Final = """linspace(f4(0),1,3) linspace(0,f4(1),3) linspace(f2(0),1,3) linspace(True,5,3)
linspace(i4(0),f4(1),3) geomspace(f4(1),f4(8),4) geomspace(f4(1),8,4,dtype=f4) logspace(f4(0),1,3)
logspace(f4(0),1,3,base=f4(2)) polymul([0,1,2],[1,2]) polymul([0,0],[0]) polymul(3,[0,1])
polymul([],[1,2]) polymul([0,1j],[2])"""


@pytest.mark.parametrize("call", NUMPYS.split())
def test_dtypes_of_ranges_and_lengths_of_products_are_numpys(call: str) -> None:
    words = {"f2": np.float16, "f4": np.float32, "i4": np.int32}
    wanted = eval(f"np.{call}", {"np": np, **words})
    found = eval(f"np.{call}", {"np": sc, **words}).compute()
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(found, wanted, 1e-3 if found.itemsize == 2 else 1e-6)


@pytest.mark.parametrize("value", [[1], (1,), [[1]], np.ones(1), [1, 2]])
@pytest.mark.parametrize("size", [3, 100_000])
def test_an_element_takes_a_number_alone(value: Any, size: int) -> None:
    for xp in (np, sc):
        x = xp.zeros((2, size)) + 0
        for item in ((0, 1), (np.int64(1), -1)):
            with pytest.raises(ValueError, match=r"an (array )?element"):
                x[item] = value if xp is np or type(value) is not np.ndarray else sc.asarray(value)
        x[0], x[0, :1], x[True] = np.array([[3.0]]), [2.0], [4.0]
        assert float(x[0, 1]) == 4


@pytest.mark.parametrize("dtype", ["complex128", "complex64"])
@pytest.mark.parametrize("side", ["left", "right"])
def test_places_of_complex_numbers_with_nan(dtype: str, side: Any) -> None:
    rng, parts = np.random.default_rng(1), [0, -0.0, 1, -1, np.nan, np.inf, -np.inf, 3.5]
    for size in (1, 7, 64, 100):
        given = np.zeros(size + 200, dtype)
        given.real, given.imag = rng.choice(parts, (2, size + 200))
        line, wanted = np.sort(given[:size]), given[size:]
        found = sc.searchsorted(sc.asarray(line), sc.asarray(wanted), side).compute()
        np.testing.assert_array_equal(found, np.searchsorted(line, wanted, side))


PARTS = np.array([-0.38j, 1.09j, -1 + 1j, 2 + 3j, -1 - 1j, 2, 2 + 0j])
NAN_PART = np.array([1 + 0j, complex(2, np.nan), 3])


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: xp.histogram(a(PARTS), 3, (-1, 2))[0],
        lambda xp, a: xp.histogram(a(PARTS), 3)[0],
        lambda xp, a: xp.median(a(NAN_PART)),
        lambda xp, a: xp.median(a(np.stack([NAN_PART, PARTS[:3]])), axis=1),
        lambda xp, a: xp.gradient(a(F4[[0, 1, 1]]), a(np.array([0.0, 1, 3]))),
        lambda xp, a: xp.gradient(a(F4[[0, 1, 1]]), np.float64(2)),
        lambda xp, a: xp.gradient(a(PARTS.astype("c8")), a(np.arange(7.0))),
    ],
)
def test_complex_order_and_kept_dtypes(call: Callable[[Any, Any], Any]) -> None:
    found = call(sc, sc.asarray).compute()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)  # NumPy's histogram
        wanted = call(np, np.array)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, 1e-6)


@pytest.mark.parametrize("base", [0, 2**53, 2**63 - 10])
@pytest.mark.parametrize("count", [2, 60])
def test_integers_of_both_signs_and_64_bits_are_told_apart(base: int, count: int) -> None:
    rng = np.random.default_rng(0)
    signed = np.array([min(base + int(k), 2**63 - 1) for k in rng.integers(-5, 6, 40)])
    signed[:3] = -1, -2, -3
    unsigned = np.uint64(base) + rng.integers(0, 6, count).astype("u8")
    for x, y in ((signed, unsigned), (unsigned, signed)):
        there = {int(one) for one in y}
        wanted = [int(one) in there for one in x]
        for invert in (False, True):
            found = sc.isin(sc.asarray(x), y, invert=invert).compute()
            assert found.tolist() == [one != invert for one in wanted]
        left = np.asarray(sc.setdiff1d(sc.asarray(x), y))
        assert left.dtype == x.dtype
        assert left.tolist() == sorted({int(one) for one in x} - there)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "float32"])
@pytest.mark.parametrize("lazy", [False, True])
def test_a_mask_that_is_false_changes_nothing_in_place(dtype: str, lazy: bool) -> None:
    for count in (0, 2):
        want = np.array([1 + 1j, 2])[:count].real.astype(dtype)
        x = sc.asarray(want.copy()) + 0 if lazy else sc.asarray(want.copy())
        x[np.zeros(count, bool)] *= 2
        x[np.zeros(count, bool)] = np.zeros(0, dtype)
        assert x.dtype == want.dtype
        np.testing.assert_array_equal(x, want)


def test_of_equal_points_interp_takes_the_last_at_the_end() -> None:
    points, values = [-5, -1, -1, 2, 2.0], np.arange(5.0)
    at = np.array([-6, -5, -1.0, 0, 2.0, 3.0])
    for ends in ({}, {"left": 9.0, "right": -9.0}):
        want = np.interp(at, points, values, **ends)
        np.testing.assert_array_equal(sc.interp(at, points, values, **ends), want)


def test_edges_of_boxes_are_of_the_dtype_of_both_lines() -> None:
    x, y = np.array([0, 1, 2.0], "f4"), [1, 2, 3]
    for one in ([2, np.array([0.0, 2, 4])], 3):
        for found, wanted in zip(
            sc.histogram2d(x, y, bins=one), np.histogram2d(x, y, bins=one), strict=True
        ):
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_a_spread_of_one_number_is_unknown(dtype: str) -> None:
    x = np.arange(30_000).reshape(1, -1).astype(dtype)
    for name in ("std", "var"):
        found = getattr(sc.asarray(x), name)(axis=0, ddof=1).compute(on="core")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert found.dtype == getattr(x, name)(axis=0, ddof=1).dtype
        assert np.isnan(found).all()
        few = getattr(sc.asarray(x[:, :3]), name)(axis=0, ddof=1).compute(on="core")
        assert few.tobytes() == found[:3].tobytes()


def test_a_copy_of_what_is_many_steps_deep_is_the_same_array() -> None:
    u = sc.ones((3, 3))
    for _ in range(12):
        u = u * 0.9 + sc.roll(u, 1, 0) * 0.1
    v = copy.copy(u)
    v[0] = 5
    assert float(u.sum()) == 9
    assert float((v + 1).sum()) == 30
    assert float(copy.deepcopy(v).sum()) == 21
