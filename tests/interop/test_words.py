"""Functions take Dask's names of their arguments, besides NumPy's."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import dask.array as da
import numpy as np
import pytest

import speedcube as sc
from speedcube.interop import words

X = np.arange(12.0).reshape(3, 4) - 5
V = np.array([2, 0, 1])
# By function, its arguments as Dask names them.
CALLS: dict[str, dict[str, Any]] = {
    "allclose": {"arr1": X, "arr2": X + 1e-9},
    "angle": {"x": X},
    "around": {"x": X / 3, "decimals": 1},
    "bincount": {"x": V, "minlength": 4, "split_every": 2},
    "broadcast_to": {"x": V, "shape": (2, 3)},
    "concatenate": {"seq": [X, X + 1], "axis": 1},
    "cumprod": {"x": X, "axis": 0},
    "cumsum": {"x": X, "axis": 1},
    "digitize": {"a": X, "bins": np.array([-1.0, 2.0])},
    "empty_like": {"a": X, "name": "like"},
    "fromfunction": {"func": lambda i, j: i * 2 + j, "shape": (2, 3), "dtype": "float64"},
    "full_like": {"a": X, "fill_value": 2.0, "name": "like"},
    "isclose": {"arr1": X, "arr2": np.abs(X)},
    "matmul": {"a": X, "b": X.T},
    "nancumprod": {"x": X, "axis": 0},
    "nancumsum": {"x": X, "axis": 1},
    "ones_like": {"a": X, "name": "like"},
    "percentile": {"a": V, "q": [50], "internal_method": "dask"},
    "ravel": {"array_like": X},
    "reshape": {"x": X, "shape": (2, 6), "merge_chunks": False, "limit": 100},
    "roll": {"array": X, "shift": 2, "axis": 0},
    "shape": {"array": X},
    "stack": {"seq": [X, X + 1], "axis": 1},
    "tensordot": {"lhs": X, "rhs": X, "axes": ((1,), (1,))},
    "vdot": {"a": X, "b": X},
    "where": {"condition": X > 0, "x": X, "y": -1.0},
    "zeros_like": {"a": X, "name": "like"},
    "ma.count": {"a": X, "axis": 0, "split_every": 2},
    **{
        f"ma.masked_{name}": {"a": X, "value": 2.0}
        for name in ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
    },
    "linalg.cholesky": {"a": X @ X.T + np.eye(3), "lower": True},
    "linalg.inv": {"a": X[:, :3] + np.eye(3)},
    "linalg.solve": {"a": X @ X.T + np.eye(3), "b": X[:, 0], "assume_a": "pos"},
    "fft.fftfreq": {"n": 6, "d": 0.5, "chunks": 3},
    "fft.rfftfreq": {"n": 6, "d": 0.5, "chunks": 2},
}
NOT_CALLED = {"frompyfunc", "einsum", "sfqr"}  # of Dask's there are others' results, or no name


def _named(module: Any, name: str) -> Any:
    for part in name.split("."):
        module = getattr(module, part)
    return module


def _as_dasks(value: Any) -> Any:
    if isinstance(value, list) and isinstance(value[0], np.ndarray):
        return [_as_dasks(one) for one in value]
    return da.from_array(value, chunks=-1) if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("name", CALLS)
def test_a_call_with_dasks_names_is_that_of_dask(name: str) -> None:
    named = CALLS[name]
    result = _named(sc, name)(**named)
    blocked = {key: one if key == "bins" else _as_dasks(one) for key, one in named.items()}
    wanted = _named(da, name)(**blocked)
    if not hasattr(wanted, "compute"):
        assert result == wanted
        return
    assert result.shape == wanted.shape
    assert result.dtype == wanted.dtype
    if name.startswith("fft."):
        assert result.chunks == wanted.chunks
    if name == "empty_like":
        return
    values, others = (np.ma.filled(one.compute(), -99.0) for one in (result, wanted))
    np.testing.assert_allclose(values, others, rtol=1e-12, atol=1e-12)


def test_every_function_whose_arguments_dask_names_otherwise_is_called() -> None:
    called = {name.rpartition(".")[2] for name in CALLS}
    assert set(words._FIRST) | set(words._IDLE) <= called | NOT_CALLED


def test_names_of_dask_are_those_of_its_signatures() -> None:
    for name in CALLS.keys() - {f"ma.{one}" for one in sc.ma.__all__}:  # theirs are wrapped
        assert set(CALLS[name]) <= set(inspect.signature(_named(da, name)).parameters), name


def test_signatures_and_numpys_names_stay() -> None:
    assert next(iter(inspect.signature(sc.stack).parameters)) == "arrays"
    assert sc.stack(arrays=[V, V]).shape == (2, 3)
    assert sc.roll(a=V, shift=1).compute().tolist() == [1, 2, 0]
    assert sc.matmul.nin == 2  # a function that has a ufunc's attributes keeps them


def test_functions_are_found_by_pickle() -> None:
    for name in CALLS:
        function = _named(sc, name)
        assert pickle.loads(pickle.dumps(function)) is function
    assert pickle.loads(pickle.dumps(sc.round)) is sc.round is sc.around
    assert sc.concat is sc.concatenate


def test_methods_take_dasks_names() -> None:
    assert sc.asarray(X).reshape(2, 6, merge_chunks=False, limit="1MiB").shape == (2, 6)


def test_dasks_name_after_a_missing_one_is_refused() -> None:
    with pytest.raises(TypeError, match="rhs"):
        sc.tensordot(rhs=X, axes=1)
    with pytest.raises(TypeError, match="seq"):
        sc.concatenate([X], seq=[X])
