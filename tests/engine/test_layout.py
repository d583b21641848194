"""How results lie in memory, and rows that are read and stored as they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

Text = Callable[[Any, Any], Any]

LAID: Final[dict[str, Text]] = {
    "transposed": lambda x, y: x.T + y.T,
    "copied": lambda x, y: x.T * 1.0,
    "compared": lambda x, y: x.T > 0.5,
    "of a map": lambda x, y: (x * 2).T + 1,
    "broadcast": lambda x, y: x.T + y[:, 0],
    "stepped": lambda x, y: x.T[3:100:2, 5:] * y.T[3:100:2, 5:],
    "with another axis": lambda x, y: x.T[None, :50] + 1,
    "moved": lambda x, y: np.moveaxis(x.reshape(10, 13, 110), 0, 2) + 1,
    "swapped": lambda x, y: np.swapaxes(x.reshape(10, 13, 110), 0, 1) + 1,
    "in both orders": lambda x, y: x[:110] + y[:110].T,
    "in C order": lambda x, y: x + y,
    "standardised": lambda x, y: (x.T - x.T.mean(axis=0)) / x.T.std(axis=0),
}


def data() -> tuple[Any, Any]:
    numbers = np.random.default_rng(3)
    return numbers.random((130, 110)), numbers.random((130, 110))


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("small", [True, False], ids=["one call", "planned"])
@pytest.mark.parametrize("name", LAID)
def test_results_lie_as_numpys_do(
    name: str, small: bool, on: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not small:
        monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)
    x, y = data()
    wanted = LAID[name](x, y)
    computed = LAID[name](sc.asarray(x), sc.asarray(y)).compute(on=on)
    assert (computed.dtype, computed.shape) == (wanted.dtype, wanted.shape)
    assert computed.strides == wanted.strides
    np.testing.assert_allclose(computed, wanted, rtol=1e-12)


def test_what_is_kept_in_another_order_is_read_as_any_array() -> None:
    x, y = data()
    kept = (sc.asarray(x).T + sc.asarray(y).T).persist(on="core")
    assert ((kept * 2).compute(on="core") == (x.T + y.T) * 2).all()
    stored, total = sc.compute(kept, kept.max())
    assert (stored == x.T + y.T).all()
    assert total == (x + y).max()


ROWS: Final[dict[str, Text]] = {
    "one for each column": lambda x, b: x + b[0],
    "one for each row": lambda x, b: x * b[:, :1],
    "compared": lambda x, b: x > b[0],
    "narrow": lambda x, b: x.astype("float32") - b[0].astype("float32"),
    "cut": lambda x, b: x[1:, 1:] + b[0, 1:],
    "backwards": lambda x, b: x[:, ::-1] + b[0],
}


@pytest.mark.parametrize("columns", [2, 3, 8, 50, 300])
@pytest.mark.parametrize("name", ROWS)
def test_short_rows(name: str, columns: int) -> None:
    numbers = np.random.default_rng(columns)
    x, b = numbers.random((1001, columns)), numbers.random((1001, columns))
    computed = ROWS[name](sc.asarray(x), sc.asarray(b)).compute(on="core")
    assert (computed == ROWS[name](x, b)).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool", "uint16"])
@pytest.mark.parametrize("length", [1, 7, 63, 64, 65, 1023, 5000, 200_001])
def test_vectors_of_one_line_begin_anywhere(dtype: str, length: int) -> None:
    """Results begin where memory was, data at odd places: the start is stored too."""
    numbers = np.random.default_rng(length)
    x, y = (numbers.integers(0, 2, length + 3).astype(dtype) for _ in range(2))
    op = np.logical_xor if dtype == "bool" else np.add
    computed = op(sc.asarray(x)[1:-2], sc.asarray(y)[3:]).compute(on="core")
    assert (computed == op(x[1:-2], y[3:])).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "bool"])
def test_rows_that_are_taken(dtype: str) -> None:
    numbers = np.random.default_rng(5)
    x = (numbers.random((70, 333)) * 3).astype(dtype)
    places = numbers.integers(0, 70, 90)
    assert (sc.take(sc.asarray(x), places, axis=0).compute(on="core") == x[places]).all()
