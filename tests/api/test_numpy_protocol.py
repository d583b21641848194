"""NumPy's functions, ufuncs and Python's number protocols on our arrays: a value or a way out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import ParameterError, UnsupportedError

N = np.array([[3.0, -1.5, 0.0, 2.5], [0.5, 7.0, -0.0, 1.0], [2.0, 0.0, 4.0, -6.0]])
X = sc.asarray(N, chunks=(2, 3))

# What NumPy calls on X and on N, with equal results.
SAME: dict[str, Callable[[Any], Any]] = {
    "shape": np.shape,
    "ndim": np.ndim,
    "size": np.size,
    "size of an axis": lambda a: np.size(a, 1),
    "clip": lambda a: np.clip(a, -1, 2),
    "clip, one side": lambda a: np.clip(a, None, 2),
    "clip, Array API": lambda a: np.clip(a, max=2.0, min=0.5),
    "clip of NumPy": lambda a: np.clip(N, 0, a),
    "where": lambda a: np.where(a > 1, a, 0),
    "where of NumPy": lambda a: np.where(N > 1, a, -a),
    "round": np.round,
    "around": np.around,
    "flip": np.flip,
    "flip an axis": lambda a: np.flip(a, axis=1),
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "expand_dims": lambda a: np.expand_dims(a, 1),
    "broadcast_to": lambda a: np.broadcast_to(a, (2, 3, 4)),
    "moveaxis": lambda a: np.moveaxis(a, 0, -1),
    "swapaxes": lambda a: np.swapaxes(a, 0, 1),
    "transpose": np.transpose,
    "transpose, axes": lambda a: np.transpose(a, (1, 0)),
    "permute_dims": lambda a: np.permute_dims(a, axes=(1, 0)),
    "matrix_transpose": np.matrix_transpose,
    "count_nonzero": np.count_nonzero,
    "count_nonzero of an axis": lambda a: np.count_nonzero(a, axis=0, keepdims=True),
    "count_nonzero of axes": lambda a: np.count_nonzero(a, axis=(1, 0)),
    "count_nonzero of the last": lambda a: np.count_nonzero(a, -1),
    "count_nonzero, keepdims": lambda a: np.count_nonzero(a, keepdims=True),
    "count_nonzero of bool": lambda a: np.count_nonzero(a > 1, axis=0),
    "amax": np.amax,
    "amin": lambda a: np.amin(a, axis=1),
    "max": lambda a: np.max(a, 0, None, True),
    "sum": np.sum,
    "sum by name": lambda a: np.sum(a=a),
    "sum, by position": lambda a: np.sum(a, 0, "float32"),
    "sum, NumPy's defaults": lambda a: np.sum(a, axis=None, dtype=None, out=None),
    "mean by name": lambda a: np.mean(axis=1, a=a),
    "var, by position": lambda a: np.var(a, None, None, None, 1),
    "std": lambda a: np.std(a, ddof=1),
    "any": lambda a: np.any(a, axis=0),
    "all": lambda a: np.all(a, axis=0, keepdims=True),
    "argmin": np.argmin,
    "argmax": lambda a: np.argmax(a, axis=1),
    "squeeze": lambda a: np.squeeze(a[None], axis=0),
    "ravel": np.ravel,
    "reshape": lambda a: np.reshape(a, (4, 3)),
    "reshape by name": lambda a: np.reshape(a, shape=(2, -1)),
    "copy": np.copy,
    "astype": lambda a: np.astype(a, "float32"),
    "zeros_like": np.zeros_like,
    "ones_like": lambda a: np.ones_like(a, dtype="int16"),
    "full_like": lambda a: np.full_like(a, 2.5),
    # Ufuncs
    "add": lambda a: np.add(a, 1),
    "add.reduce": np.add.reduce,
    "add.reduce of an axis": lambda a: np.add.reduce(a, axis=1, keepdims=True),
    "add.reduce of all": lambda a: np.add.reduce(a, None),
    "maximum.reduce": np.maximum.reduce,
    "minimum.reduce": lambda a: np.minimum.reduce(a, axis=1),
    "logical_or.reduce": np.logical_or.reduce,
    "logical_and.reduce": np.logical_and.reduce,
    "dot": lambda a: np.dot(a[0], N[1]),
    "vdot": lambda a: np.vdot(N, a),
    "vecdot": lambda a: np.vecdot(N, a, axis=0),
    "linalg.vecdot": lambda a: np.linalg.vecdot(a, N),
    "matmul": lambda a: np.matmul(a[:, 0], N[:, 1]),
    "NumPy on the left": lambda a: N + a,
    "NumPy on the left of @": lambda a: N[0] @ a[2],
    # Methods and Python
    "tolist": lambda a: a.tolist(),
    "tolist of 0-d": lambda a: a.sum().tolist(),
    "swapaxes()": lambda a: a.swapaxes(0, 1),
    "round()": lambda a: a.round(),
    "clip()": lambda a: a.clip(0, 2),
    "clip(max=)": lambda a: a.clip(max=0),
    "in": lambda a: 7.0 in a,
    "not in": lambda a: 7.25 in a,
    "format": lambda a: f"{a.sum():.3f} {a.max():8.2e}",
    "complex": lambda a: complex(a.sum()),
    "divmod": lambda a: np.asarray(divmod(a, 2)),
    "divmod, swapped": lambda a: np.asarray(divmod(7, a + 10)),
    "augmented": lambda a: _plus_one(a),
}


def _plus_one(a: Any) -> Any:
    a = a + 0
    a += 1
    return a


@pytest.mark.parametrize("name", SAME)
def test_as_numpy(name: str) -> None:
    result, wanted = SAME[name](X), SAME[name](N)
    if isinstance(result, sc.Array):
        assert (result.shape, result.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)
        np.testing.assert_allclose(result.compute(), wanted, rtol=1e-15)
    else:
        assert type(result) is type(wanted)
        np.testing.assert_array_equal(result, wanted)


def test_nothing_is_computed_by_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def computed(*_: Any, **__: Any) -> Any:
        raise AssertionError("this was to stay lazy")

    monkeypatch.setattr("speedcube.engine.compute.compute", computed)
    for name in ("clip", "where", "flip", "add.reduce", "full_like", "round", "count_nonzero"):
        assert isinstance(SAME[name](X), sc.Array)
    assert "sum" in repr(X.sum())


def test_twins_of_like() -> None:
    like = sc.zeros_like(X)
    assert (like.shape, like.dtype, like.chunks) == (X.shape, X.dtype, X.chunks)
    assert sc.full_like(X, 7, "int8", chunks=1).dtype == np.int8
    assert sc.ones_like(X, chunks=1).numblocks == (3, 4)


WAY_OUT = r"x\.compute\(\)"
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "not even Dask": (
        lambda: np.is_busday(X),
        r"numpy\.is_busday .*: compute it first \(x\.compute\(\)\)$",
    ),
    "sum out": (
        lambda: sc.sum(X, axis=0, out=[1.0] * 4),
        r"out= .* takes an array of speedcube or",
    ),
    "ufunc": (lambda: np.isnat(X), r"numpy\.isnat does not take speedcube arrays.*" + WAY_OUT),
    "out=": (lambda: sc.add(X, 1, out=[1]), r"write out\[\.\.\.\] = result\.compute\(\)"),
    "accumulate": (
        lambda: np.hypot.accumulate(sc.ones(2000)),
        r"numpy\.hypot\.accumulate of 2000 entries would be 2000 steps.*" + WAY_OUT,
    ),
    "format": (lambda: f"{X:.2f}", r"the format '\.2f' is for one number.*\(3, 4\).*x\.item\(\)"),
    "round": (lambda: round(X), r"round\(\) is for one number.*speedcube\.round"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_there_is_not_is_said(name: str) -> None:
    ask, message = REFUSED[name]
    with pytest.raises(UnsupportedError, match=message) as caught:
        ask()
    assert isinstance(caught.value, TypeError)


class _Foreign:
    """Another kind of array, which answers NumPy itself."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> str:
        return f"foreign {func.__name__}"

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> str:
        return f"foreign {ufunc.__name__}"


def test_other_arrays_are_asked_first() -> None:
    assert np.concatenate([X, _Foreign()]) == "foreign concatenate"  # type: ignore[list-item,comparison-overlap]
    assert np.lcm(X, _Foreign()) == "foreign lcm"  # type: ignore[call-overload]


def test_numbers_of_one_element() -> None:
    half = sc.full((), 2.5)
    assert round(half) == 2
    assert type(round(half)) is int
    assert round(sc.full((1, 1), 1.25), 1) == 1.2
    assert f"{half:05.1f}|{half:g}" == "002.5|2.5"
    assert f"{sc.arange(3).sum():d}" == "3"
    assert f"{X}" == str(X)


def test_values_are_never_there_already() -> None:
    with pytest.raises(ParameterError, match=r"copy=False is not possible: .*leave copy out"):
        np.asarray(X, copy=False)
    with pytest.raises(ValueError, match="copy=False"):
        np.array(X, copy=False)
    for copy in (None, True):
        np.testing.assert_array_equal(np.asarray(X, dtype="float32", copy=copy), N.astype("f4"))


def test_dasks_from_array() -> None:
    """Chunks of ours are computed, those that Dask puts together, too."""
    da = pytest.importorskip("dask.array")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Dask: this is already a collection
        dasks = da.from_array(X, chunks=2)
    np.testing.assert_array_equal(dasks.compute(), N)
    assert (dasks + 1).sum().compute() == (N + 1).sum()
    assert (X.to_dask_array() + 1).sum().compute() == (N + 1).sum()
    np.testing.assert_array_equal(da.asarray(X), N)


# Keywords of compute -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: X.compute(onn="core"),
            "compute() has no keyword 'onn'; it takes on, scheduler, to, num_workers, "
            "optimize_graph",
        ),
        (lambda: X.compute(get=dask.get), "compute() has no keyword 'get'; it takes on, "),
        (
            lambda: X.persist(to="cupy"),
            "persist() has no keyword 'to'; it takes on, scheduler, num_workers, optimize_graph",
        ),
    ],
)
def test_an_unknown_keyword(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        ask()
    assert isinstance(caught.value, TypeError)
    assert str(caught.value).startswith(message)


def test_num_workers_are_threads() -> None:
    x = sc.random.default_rng(0).normal(size=(300, 4000)).sum(axis=1)
    plan = x.plan(scheduler="threads", num_workers=3)
    assert (plan.rung, plan.workers, plan.tasks) == ("cores:3", 3, 4)
    assert x.plan(on="cores", num_workers=1).workers == 1
    assert x.plan(on="cores:2", num_workers=5).workers == 5
    assert x.plan(on="core", num_workers=5).rung == "core"
    wanted = x.compute(on="core")
    for keywords in ({"num_workers": 1}, {"scheduler": "threads", "num_workers": 3}):
        np.testing.assert_array_equal(x.compute(**keywords, optimize_graph=False), wanted)
        np.testing.assert_array_equal(x.persist(**keywords, optimize_graph=True), wanted)
        np.testing.assert_array_equal(dask.compute(x, **keywords)[0], wanted)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_num_workers_is_a_count(count: Any) -> None:
    with pytest.raises(ParameterError, match=f"num_workers={count!r}: give a number of threads"):
        X.compute(on="cores", num_workers=count)
