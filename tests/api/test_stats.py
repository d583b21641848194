"""``speedcube.stats`` beside SciPy and ``dask.array.stats``."""

from __future__ import annotations

import doctest
import inspect
from typing import Any, Final

import dask.array.stats as theirs
import numpy as np
import pytest
from scipy import stats as scipys

import speedcube as sc

RNG: Final = np.random.default_rng(4)
NUMBERS: Final = RNG.gamma(2.0, size=(40, 5))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_shapes_of_samples_are_scipys(axis: int | None, dtype: str) -> None:
    a = (NUMBERS * 9).astype(dtype)
    x = sc.asarray(a)
    near: dict[str, Any] = {"rtol": 2e-3 if dtype == "float32" else 1e-10, "atol": 1e-4}
    for bias in (True, False):
        got = sc.stats.skew(x, axis=axis, bias=bias)
        np.testing.assert_allclose(got, scipys.skew(a, axis=axis, bias=bias), **near)
        for fisher in (True, False):
            words: dict[str, Any] = {"axis": axis, "bias": bias, "fisher": fisher}
            np.testing.assert_allclose(
                sc.stats.kurtosis(x, **words), scipys.kurtosis(a, **words), **near
            )
    for power in range(6):
        got = sc.stats.moment(x, power, axis=axis)
        np.testing.assert_allclose(got, scipys.moment(a, power, axis=axis), **near)


def test_shapes_of_samples_are_expressions_with_laws() -> None:
    x = sc.asarray(NUMBERS)
    for made in (sc.stats.skew(x), sc.stats.kurtosis(x, axis=1), sc.stats.moment(x, 3)):
        assert made.explain().covered


def test_equal_numbers_have_no_shape_as_dask_has_it() -> None:
    flat = sc.ones((9, 2), chunks=3)
    np.testing.assert_array_equal(sc.stats.skew(flat), [0, 0])
    np.testing.assert_array_equal(sc.stats.kurtosis(flat, fisher=False), [0, 0])
    with np.errstate(invalid="ignore"):
        dasks = theirs.kurtosis(flat.to_dask_array()).compute(scheduler="synchronous")
    np.testing.assert_array_equal(sc.stats.kurtosis(flat), dasks)


A, B = RNG.normal(size=(60, 3)), RNG.normal(0.3, size=(60, 3))
COUNTS: Final = RNG.integers(20, 40, size=12).astype(float)
CALLS: Final[dict[str, tuple[Any, ...]]] = {
    "ttest_ind": (A, B),
    "ttest_1samp": (A, 0.1),
    "ttest_rel": (A, B),
    "skewtest": (A,),
    "kurtosistest": (A,),
    "normaltest": (A,),
    "chisquare": (COUNTS,),
    "power_divergence": (COUNTS,),
    "f_oneway": (A[:, 0], B[:, 0], B[:, 1]),
}


@pytest.mark.parametrize("name", CALLS)
def test_tests_are_scipys(name: str) -> None:
    given = [sc.asarray(one) if isinstance(one, np.ndarray) else one for one in CALLS[name]]
    got = getattr(sc.stats, name)(*given).compute()
    wanted = getattr(scipys, name)(*CALLS[name])
    np.testing.assert_allclose(got.statistic, wanted.statistic, rtol=1e-9)
    np.testing.assert_allclose(got.pvalue, wanted.pvalue, rtol=1e-9)


@pytest.mark.parametrize("name", sc.stats.__all__)
def test_signatures_and_examples(name: str) -> None:
    ours, dasks = getattr(sc.stats, name), getattr(theirs, name)
    assert [*inspect.signature(ours).parameters] == [*inspect.signature(dasks).parameters]
    (test,) = doctest.DocTestFinder(recurse=False).find(ours, name, globs={"sc": sc, "np": np})
    result = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE).run(test)
    assert result.attempted > 0
    assert result.failed == 0


def test_what_is_not_there_says_so() -> None:
    x = sc.asarray(NUMBERS)
    for function in (sc.stats.skew, sc.stats.kurtosis, sc.stats.moment, sc.stats.ttest_rel):
        given = (x, x) if function is sc.stats.ttest_rel else (x,)
        with pytest.raises(NotImplementedError, match="nan_policy"):
            function(*given, nan_policy="omit")
    for power in (-1, 1.5):
        with pytest.raises(ValueError, match="whole numbers"):
            sc.stats.moment(x, power)  # type: ignore[arg-type]
    with pytest.raises(np.exceptions.AxisError):
        sc.stats.skew(x, axis=2)


@pytest.mark.parametrize("name", [one for one in CALLS if one not in ("f_oneway",)])
@pytest.mark.parametrize("axis", [None, 1, -1])
def test_samples_lie_along_any_axis_or_all(name: str, axis: int | None) -> None:
    given = [one.T if isinstance(one, np.ndarray) else one for one in CALLS[name]]
    ours = [sc.asarray(one) if isinstance(one, np.ndarray) else one for one in given]
    if axis is not None and given[0].ndim == 1:
        given, ours = [[one[None] for one in some] for some in (given, ours)]
    found = getattr(sc.stats, name)(*ours, axis=axis).compute()
    wanted = getattr(scipys, name)(*given, axis=axis)
    np.testing.assert_allclose(found.statistic, wanted.statistic, rtol=1e-9)
    np.testing.assert_allclose(found.pvalue, wanted.pvalue, rtol=1e-9)


@pytest.mark.parametrize(("name", "least"), [("skewtest", 8), ("kurtosistest", 5)])
def test_few_numbers_are_refused(name: str, least: int) -> None:
    test = getattr(sc.stats, name)
    test(sc.asarray(A[:least])).compute()
    message = rf"{name} takes {least} numbers or more; along axis 1 of shape \(3, {least - 1}\)"
    with pytest.raises(ValueError, match=message):
        test(sc.asarray(A.T[:, : least - 1]), axis=1)
    with pytest.raises(np.exceptions.AxisError):
        test(sc.asarray(A), axis=2)
