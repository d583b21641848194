"""SciPy with ``SCIPY_ARRAY_API=1``, array-api-compat and array-api-extra know our arrays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

import array_api_compat
import array_api_extra as xpx
import numpy as np
import pytest

import speedcube as sc

X: Final = np.random.default_rng(0).random((12, 5)) + 0.1

# SciPy decides when it is imported, so a process of its own asks: what is computed, how often.
PROGRAM: Final = """
import numpy as np, scipy.special as special, scipy.stats as stats, scipy.linalg, scipy.ndimage
import speedcube as sc
X = np.random.default_rng(0).random((12, 5)) + 0.1
read = []
def counted(name):
    inner = getattr(sc.Array, name)
    def method(*args, **kwargs):
        read.append(name)
        return inner(*args, **kwargs)
    setattr(sc.Array, name, method)
counted("compute")
counted("__array__")
LAZY = {
    "gamma": (special.gamma, X),
    "erf": (special.erf, X),
    "gammainc": (special.gammainc, X, X + 1),
    "beta": (special.beta, X, X + 1),
    "log_expit": (special.log_expit, X),
    "xlogy": (special.xlogy, X, X + 1),
    "ndtr of a number": (special.ndtr, X[0]),
    "softmax": (special.softmax, X),
    "log_softmax": (special.log_softmax, X),
}
for name, (function, *given) in LAZY.items():
    ours = [sc.asarray(one) * 1 for one in given]
    result = function(*ours)
    assert isinstance(result, sc.Array) and not read, (name, read)
    right = function(*given)
    np.testing.assert_allclose(result.compute(), right, rtol=1e-10, err_msg=name)
    read.clear()
ONCE = {  # elements are never read one by one; a check of all of them may be a reading more
    "gmean": (stats.gmean, X),
    "skewtest": (lambda x: stats.skewtest(x).pvalue, X),
    "gaussian_filter": (lambda x: scipy.ndimage.gaussian_filter(x, 1.0), X),
    "svdvals": (scipy.linalg.svdvals, X),
    "rankdata": (stats.rankdata, X[:, 0].copy()),
}
for name, (function, given) in ONCE.items():
    result = function(sc.asarray(given) * 1)
    assert len(read) <= 6, (name, read)
    np.testing.assert_allclose(np.asarray(result), function(given), rtol=1e-10, err_msg=name)
    read.clear()
calls = []
def block(b):
    calls.append(b.size)
    return b * 1.0
held = sc.from_array(X, chunks=X.shape).map_blocks(block, dtype=float).persist()
for statistic in (stats.describe, stats.normaltest, stats.zscore, stats.tvar):
    np.asarray(statistic(held)[0])
assert calls.count(X.size) == 1, calls
print("all of them")
"""


def test_special_functions_are_lazy_and_others_read_an_array_few_times() -> None:
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert run.stdout == "all of them\n", run.stderr


def test_what_asks_for_the_namespace() -> None:
    x = sc.asarray(X)
    assert array_api_compat.array_namespace(x, x) is sc
    assert array_api_compat.is_array_api_obj(x)
    assert not array_api_compat.is_dask_array(x)
    assert not array_api_compat.is_numpy_array(x)
    assert array_api_compat.device(x) == x.device
    assert array_api_compat.size(x) == X.size
    with pytest.raises(TypeError):
        array_api_compat.array_namespace(x, X)


EXTRA: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "atleast_nd": lambda m, x: xpx.atleast_nd(x, ndim=3, xp=m),
    "cov": lambda m, x: xpx.cov(x, xp=m),
    "create_diagonal": lambda m, x: xpx.create_diagonal(x[0], xp=m),
    "kron": lambda m, x: xpx.kron(x, x[:2, :2], xp=m),
    "nunique": lambda m, x: xpx.nunique(x, xp=m),
    "pad": lambda m, x: xpx.pad(x, 2, xp=m),
    "setdiff1d": lambda m, x: xpx.setdiff1d(x, x[:2], xp=m),
    "sinc": lambda m, x: xpx.sinc(x, xp=m),
    "isclose": lambda m, x: xpx.isclose(x, x + 1e-12, xp=m),
    "apply_where": lambda m, x: xpx.apply_where(x > 0.5, x, lambda v: v * 2, lambda v: v - 1, xp=m),
    "at, a slice": lambda m, x: xpx.at(x, (slice(None), 1)).set(3.0, copy=True),
    "at, a mask": lambda m, x: xpx.at(x)[x > 0.5].multiply(0.0, copy=True),
}


@pytest.mark.parametrize("name", EXTRA)
def test_array_api_extra(name: str) -> None:
    ours = EXTRA[name](sc, sc.asarray(X))
    assert isinstance(ours, sc.Array)
    np.testing.assert_allclose(ours.compute(), EXTRA[name](np, X), rtol=1e-12)


def test_ufuncs_of_others_are_lazy() -> None:
    from scipy import special

    x = sc.asarray(X)
    ours = getattr(special.gamma, "__wrapped__", special.gamma)(x + 1)
    assert "ufunc(gamma)" in repr(ours)
    assert not ours.explain().covered
    np.testing.assert_array_equal(ours.compute(), special.gamma(X + 1))
    with pytest.raises(AttributeError, match="has no attribute 'no_such'"):
        sc.special.no_such  # noqa: B018
    with pytest.raises(AttributeError, match="spherical_jn"):
        sc.special.spherical_jn  # noqa: B018
