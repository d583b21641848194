"""What no law covers says so, and is refused where that is asked for."""

from __future__ import annotations

import doctest
import threading

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.routines.threads import _calls, blas_threads
from speedcube.errors import LawError, ParameterError
from speedcube.expr.routines.table import ROUTINES

X = sc.asarray(np.random.default_rng(3).normal(size=(6, 6)))


def test_explain_plan_and_repr_say_which_part_has_no_law() -> None:
    lazy = sc.exp(X @ X)
    explained = lazy.explain()
    assert not explained.covered
    assert [(s.node, s.law, s.how) for s in explained.steps if s.law == "no law"] == [
        ("matmul", "no law", "BLAS, about n eps")
    ]
    assert "matmul (no law: BLAS, about n eps)" in repr(lazy.plan())
    assert "no law: BLAS, about n eps" in repr(lazy)
    assert "no law: LAPACK, about n eps" in repr(sc.linalg.inv(X) + X)
    assert "no law" not in repr(sc.exp(X))
    assert (X.astype("int32") @ X.astype("int32")).explain().covered


@pytest.mark.parametrize("name", [n for n in sc.linalg.__all__ if n != "LinAlgError"])
def test_an_example_of_linalg_is_true(name: str) -> None:
    function = getattr(sc.linalg, name)
    (test,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={"sc": sc, "np": np})
    found = doctest.DocTestRunner(optionflags=doctest.REPORT_ONLY_FIRST_FAILURE).run(test)
    assert found.attempted > 0
    assert found.failed == 0
    assert set(sc.linalg.__all__) >= set(np.linalg.__all__) - {"test"}


def test_every_routine_has_a_library_or_a_reason() -> None:
    assert all(bool(row.library) != bool(row.how) for row in ROUTINES.values())


def test_a_strict_block_refuses_what_no_law_covers() -> None:
    product, exact = sc.exp(X @ X), sc.vecdot(X, X)
    wanted = product.compute(on="core")
    with sc.on("core", strict=True):
        np.testing.assert_array_equal(exact.compute(), exact.compute(on="cores:2"))
        for ask in (
            product.compute,
            (X @ X).persist,
            lambda: sc.compute(exact, X @ X),
            lambda: float(sc.linalg.det(X)),
        ):
            with pytest.raises(
                LawError,
                match=r"does not promise the same bits everywhere .*use vecdot, which is exact",
            ):
                ask()
        with sc.on(strict=False):
            np.testing.assert_array_equal(product.compute(), wanted)
        with pytest.raises(LawError):
            np.asarray(X @ X)
        (X.astype("int64") @ X.astype("int64")).compute()
        with pytest.raises(
            LawError, match="Dask computes a Dask array, so its bits are not promised"
        ):
            sc.from_dask_array(X.to_dask_array() + 1).compute()
    (X @ X).compute()
    assert repr(sc.on("core", strict=True)) == "speedcube.on('core', strict=True)"
    with pytest.raises(ParameterError, match="strict=True"):
        sc.on()


def test_blas_has_as_many_threads_as_the_rung_and_then_what_it_had() -> None:
    known = _calls()
    if known is None:
        pytest.skip("NumPy's BLAS is not known")
    get, _ = known
    before = get()
    seen: list[int] = []
    with blas_threads(1):
        seen.append(get())
        with blas_threads(2):  # one that is under way keeps its number
            seen.append(get())
    assert seen == [1, 1]
    assert get() == before
    ends = [threading.Thread(target=lambda: (X @ X).compute(on="core")) for _ in range(4)]
    for one in ends:
        one.start()
    for one in ends:
        one.join()
    assert get() == before
