"""Groups on every rung: bits, what the plan promises, laws, kernels of each kind of processor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import distributed
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import laws
from speedcube.engine.grouping import sums
from speedcube.engine.grouping.exact import exactly
from speedcube.engine.grouping.finish import finished
from speedcube.expr.interpret import interpret
from speedcube.kernel.llvm.simd import limited, runnable
from speedcube.kernel.lower.reference import draw

SIZE: Final = 300_000
_RNG = np.random.default_rng(8)
KEYS: Final = _RNG.integers(-3, 40, SIZE)
LINES: Final[dict[str, Any]] = {
    "normals": _RNG.normal(size=SIZE),
    "magnitudes": _RNG.normal(size=SIZE) * 10.0 ** _RNG.integers(-300, 300, SIZE),
    "far from 0": _RNG.normal(1e9, 1, SIZE),
    "that cancel": np.where(np.arange(SIZE) % 2, 1, -1) * 1e300 + _RNG.normal(size=SIZE),
    "that overflow": np.where(np.arange(SIZE) % 2, 1, -1) * 1.7e308,
    "subnormal": 2.0**-1074 * _RNG.integers(0, 99, SIZE),
    "few": np.where(KEYS == 3, np.nan, np.where(KEYS == 5, np.inf, 1.25)),
    "float32": _RNG.normal(size=SIZE).astype("float32"),
    "wide integers": _RNG.integers(-(2**62), 2**62, SIZE),
}
FUNCS: Final = ("sum", "mean", "var", "std")
_SOME: Final = ("sum", "nanmean", "std", "max", "argmin", "prod", "median", "count", "last")


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made,
        distributed.Client(made, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("func", FUNCS)
def test_one_line_has_the_bits_of_each_group_alone(name: str, func: str) -> None:
    x = LINES[name]
    groups = sc.groupby(x, KEYS)
    found = []
    for rung in ("core", "cores:2", "cores:3"):
        with sc.on(rung):
            found.append(getattr(groups, func)().compute())
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    for k in range(0, len(groups), 7):
        alone = getattr(sc, func)(x[groups.labels[k] == KEYS]).compute()
        assert found[0][k].tobytes() == alone.tobytes() or (alone != alone and found[0][k] != alone)


def _programs() -> dict[str, Callable[[], Any]]:
    drawn = sc.random.default_rng(4).normal(size=(40, 300))
    keys = sc.random.default_rng(5).integers(0, 7, 300)
    rows = sc.random.default_rng(5).integers(0, 7, 40)
    known: dict[str, Any] = {"expected_groups": range(7)}
    return {
        **{
            f"{func} {axis}": lambda func=func, by=by, axis=axis: sc.groupby_reduce(
                drawn, by, func=func, axis=axis, **known
            )[0]
            for func in (
                "sum",
                "nanmean",
                "std",
                "max",
                "argmin",
                "prod",
                "median",
                "count",
                "last",
            )
            for by, axis in ((keys, 1), (rows, 0))
        },
        "rank": lambda: sc.rank(drawn, axis=0),
        "mode": lambda: sc.mode(sc.rint(drawn), axis=1).mode,
    }


def test_a_cluster_of_two_processes_has_the_bits(two_workers: Any) -> None:
    for name, make in _programs().items():
        with sc.on("core"):
            wanted = make().compute()
        with sc.on(two_workers):
            assert make().compute().tobytes() == wanted.tobytes(), name


@pytest.mark.parametrize("name", _programs())
def test_the_interpreter_agrees(name: str) -> None:
    made = _programs()[name]()
    np.testing.assert_allclose(made.compute(), interpret(made._expr, draw), rtol=1e-12)


@pytest.mark.parametrize("target", runnable())
def test_kernels_of_each_processor_have_the_bits(target: str) -> None:
    x, keys = LINES["magnitudes"][:6000].reshape(60, 100), KEYS[:60]
    with sc.on("core"):
        for axis, by in ((0, keys), (1, KEYS[:100])):
            for func in ("sum", "nanmean", "var"):
                result, _ = sc.groupby_reduce(x, by, func=func, axis=axis)
                wanted = result.compute()
                with limited(target):
                    again, _ = sc.groupby_reduce(x, by, func=func, axis=axis)
                    assert again.compute().tobytes() == wanted.tobytes()


def test_what_is_not_certain_is_made_of_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is certain the results are the same."""
    x, keys = _RNG.normal(size=(30, 40)), KEYS[:30] % 3
    wanted = {func: sc.groupby_reduce(x, keys, func=func, axis=0)[0].compute() for func in FUNCS}

    def never(op: str, parts: Any, dtype: Any, ddof: float) -> tuple[Any, Any]:
        made, sure = finished(op, parts, dtype, ddof)
        assert sure.mean() > 0.9, op  # the way that is taken is the short one
        return made * 0, np.zeros(sure.shape, bool)

    monkeypatch.setattr(sums, "finished", never)
    for func in FUNCS:
        found, _ = sc.groupby_reduce(x, keys, func=func, axis=0)
        assert found.compute().tobytes() == wanted[func].tobytes()


def test_exact_results_of_a_few() -> None:
    tie = np.array([1.0, 2.0**-53])
    assert exactly("sum", tie, np.float64, 0, False) == 1.0
    assert exactly("sum", np.append(tie, 2.0**-200), np.float64, 0, False) == 1 + 2.0**-52
    assert exactly("mean", np.array([2.0**-1074, 0.0, 0.0]), np.float64, 0, False) == 0.0
    assert exactly("mean", np.array([2**63 - 1, 2**63 - 3]), np.float64, 0, False) == 2.0**63
    assert exactly("var", np.array([1e200, -1e200]), np.float64, 0, False) == np.inf
    assert exactly("std", np.array([1e200, -1e200]), np.float64, 0, False) == 1e200


def test_the_plan_promises_memory_and_explain_names_the_laws() -> None:
    result = sc.groupby(LINES["normals"], KEYS).mean()
    with sc.on("core"):
        assert result.plan().peak_bytes > SIZE * 8
        text = repr(result.explain())
    assert "exact-sum law" in text
    assert "the exact sum of each group over its count, rounded once" in text
    assert {f"group_{op}" for op in FUNCS} < set(laws.THROUGH)
