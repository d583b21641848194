"""Covariances of a few variables as one call: the bits of an operation for each step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.functions import covariances as api
from speedcube.engine.routines.by_kernels import KERNELS
from speedcube.expr.routines.covariances import COVARIANCES
from speedcube.expr.routines.table import ROUTINES

RNG = np.random.default_rng(11)
ODD = np.array([[1.0, np.nan, 2.0], [np.inf, 1.0, 1.0], [3.0, 1.0, 2.0], [1e300, -1e300, 5e299]])


def data() -> dict[str, Any]:
    constant = RNG.normal(size=(5, 60))
    constant[1], constant[3] = 2.5, -0.0
    return {
        "usual": RNG.normal(size=(7, 90)) + 5,
        "two": RNG.normal(size=(2, 1000)),
        "one": RNG.normal(size=300),
        "one number": np.array([[3.0]]),
        "of one": RNG.normal(size=(3, 1)),
        "whole": np.rint(RNG.normal(size=(6, 40)) * 2),
        "constant": constant,
        "odd": ODD,
        "far apart": RNG.normal(size=(6, 50)) * np.exp(RNG.normal(size=(6, 50)) * 40),
        "tiny": RNG.normal(size=(4, 30)) * 1e-170,
        "turned": RNG.normal(size=(50, 6)).T,
        "every second": RNG.normal(size=(12, 80))[::2, ::2],
        "many": RNG.normal(size=(120, 70)),
        "float32": RNG.normal(size=(6, 80)).astype("float32") * 3,
        "integers": RNG.integers(-99, 99, (5, 40)).astype("int16"),
    }


def ways(a: Any) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    return [
        (sc.cov, (a,), {}),
        (sc.cov, (a,), {"ddof": 0}),
        (sc.cov, (a,), {"bias": True}),
        (sc.cov, (a,), {"ddof": a.shape[-1] + 1}),
        (sc.cov, (a, a[::-1] if a.ndim > 1 else -a), {}),
        (sc.cov, (a.T,), {"rowvar": False}),
        (sc.corrcoef, (a,), {}),
        (sc.corrcoef, (a, a), {}),
    ]


@pytest.mark.parametrize("name", data())
def test_bits_of_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made, a = [], data()[name]
    for function, args, options in ways(a):
        lazy = function(*args, **options)
        assert [stage.op for stage in lazy.plan("core").stages] == [COVARIANCES]
        assert lazy.explain().covered
        made.append([np.asarray(lazy.compute(on)) for on in ("core", "cores:2")])
        again = np.asarray((lazy + 0.0).compute("core"))
        np.testing.assert_array_equal(again, made[-1][0])
    monkeypatch.setattr(api, "_FEW", 0)
    for (function, args, options), found in zip(ways(a), made, strict=True):
        lazy = function(*args, **options)
        assert COVARIANCES not in [stage.op for stage in lazy.plan("core").stages]
        wanted = np.asarray(lazy.compute("core"))
        for one in found:
            assert one.shape == wanted.shape
            assert one.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("name", data())
def test_kernels_give_what_defines_them(name: str) -> None:
    a = np.atleast_2d(data()[name]).astype("float64")
    for correlations in (False, True):
        taken = a, float(a.shape[1]), correlations
        wanted = ROUTINES[COVARIANCES].run(np, *taken)
        assert KERNELS[COVARIANCES](np, *taken).tobytes() == wanted.tobytes()


def test_what_a_routine_does_not_take() -> None:
    a = RNG.normal(size=(4, 50))
    large = RNG.normal(size=(300, 20))
    for lazy in (
        sc.cov(a, aweights=np.ones(50)),
        sc.cov(a, dtype="float32"),
        sc.cov(sc.array(a) + 1),
        sc.cov(a + 1j),
        sc.cov(large),
    ):
        text = str(lazy.plan("core"))
        assert f": {COVARIANCES} of" not in text
    with pytest.raises(ValueError, match=r"."):
        sc.cov(a, RNG.normal(size=(4, 49)))


def test_later_writes_are_seen() -> None:
    a = RNG.normal(size=(3, 40))
    lazy = sc.cov(a)
    before = lazy.compute()
    a[0] *= 2
    np.testing.assert_array_equal(lazy.compute(), sc.cov(a.copy()).compute())
    assert (lazy.compute() != before).any()
