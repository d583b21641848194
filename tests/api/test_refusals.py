"""More bad input: what would be a wrong answer, an endless run or somebody else's exception."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import DTypeError, ParameterError, ShapeError

A = sc.ones((3, 4))
UNCOUNTABLE = "has 2**63 elements or more; positions are 63-bit numbers"


def _dask_of_unknown_shape() -> Any:
    da = pytest.importorskip("dask.array")
    x = da.ones(10, chunks=3)
    return x[x > 0]


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    # Shapes that cannot be counted: such sums would never end
    "ones": (lambda: sc.ones((2**40, 2**40)), ShapeError, UNCOUNTABLE),
    "arange": (lambda: sc.arange(2**70), ShapeError, UNCOUNTABLE),
    "linspace": (lambda: sc.linspace(0, 1, 2**64), ShapeError, UNCOUNTABLE),
    "eye": (lambda: sc.eye(2**32), ShapeError, UNCOUNTABLE),
    "broadcast_to": (lambda: sc.broadcast_to(A, (2**60, 3, 4)), ShapeError, UNCOUNTABLE),
    "outer sum": (
        lambda: sc.arange(2**40)[:, None] + sc.arange(2**40),
        ShapeError,
        f"shape ({2**40}, {2**40}) {UNCOUNTABLE}",
    ),
    # Values that would change silently
    "masked array": (
        lambda: sc.asarray(np.ma.array([1, 2], mask=[False, True])),
        DTypeError,
        "masked arrays are not supported; fill the gaps first: value.filled(...)",
    ),
    "masked operand": (lambda: A + np.ma.ones(4), DTypeError, "masked arrays are not supported"),
    "NaN as an integer": (
        lambda: sc.full(3, math.nan, "int64"),
        ParameterError,
        "nan does not fit int64",
    ),
    "1e300 as an integer": (
        lambda: sc.full(3, 1e300, "int32"),
        ParameterError,
        "1e+300 does not fit int32 (-2147483648..2147483647)",
    ),
    # Things that are no numbers
    "full of an array": (
        lambda: sc.full(3, np.ones(2)),
        ShapeError,
        "cannot broadcast shape (2,) to (3,)",
    ),
    "full of text": (lambda: sc.full(3, "a", "float64"), DTypeError, "'str32' is not supported"),
    "full of a complex": (
        lambda: sc.full(3, 1j, "float64"),
        DTypeError,
        "1j is complex, and the dtype float64 is not: give its .real",
    ),
    "arange of text": (lambda: sc.arange("a"), ParameterError, "finite numbers, not 'a'"),
    "arange of a complex": (lambda: sc.arange(3j), ParameterError, "finite numbers, not 3j"),
    "linspace of text": (lambda: sc.linspace("a", 1), DTypeError, "'a' is neither a number"),
    "linspace to NaN": (
        lambda: sc.linspace(0, math.nan),
        ParameterError,
        "linspace takes finite numbers, not nan",
    ),
    "a diagonal of 1.5": (
        lambda: sc.eye(3, k=1.5),
        ParameterError,
        "k, the diagonal, must be an integer, not 1.5",
    ),
    "a diagonal of text": (lambda: sc.eye(3, k="a"), ParameterError, "must be an integer, not 'a'"),
    "ddof of text": (
        lambda: A.var(ddof="a"),
        ParameterError,
        "must be 0 or more, and finite, not 'a'",
    ),
    "ddof of NaN": (
        lambda: A.std(ddof=math.nan),
        ParameterError,
        "must be 0 or more, and finite, not nan",
    ),
    "a huge mean": (
        lambda: sc.random.default_rng(0).normal(10**400, 1, 3),
        ParameterError,
        "loc must be a number",
    ),
    # Dask
    "unknown shape": (
        lambda: sc.from_dask_array(_dask_of_unknown_shape()),
        ShapeError,
        "a Dask array of unknown shape (nan,); call its compute_chunk_sizes() first",
    ),
    "no Dask array": (
        lambda: sc.from_dask_array(np.ones(3)),
        DTypeError,
        "ndarray is no Dask array; use speedcube.asarray",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    ask, kind, message = REFUSED[name]
    with pytest.raises(kind, match=re.escape(message)):
        ask()


def test_what_is_near_is_taken() -> None:
    """The largest countable shape, values at the edge of their dtype, NumPy's scalars."""
    assert sc.ones((2**31, 2**31)).size == 2**62
    assert sc.arange(2**62)[-1].compute() == 2**62 - 1
    assert sc.full(2, 127, "int8").compute().tolist() == [127, 127]
    assert sc.full(2, 2.7, "int64").compute().tolist() == [2, 2]
    assert sc.full(2, 10**30, "float64").compute().tolist() == [1e30, 1e30]
    assert sc.full(2, math.nan).compute().tolist() != [0.0, 0.0]
    assert sc.full(2, np.float32(1.5)).dtype == np.float32
    assert sc.arange(np.int64(3)).compute().tolist() == [0, 1, 2]
    assert sc.linspace(np.float64(0), 1, 3).compute().tolist() == [0.0, 0.5, 1.0]
    assert sc.eye(2, k=np.int64(1)).compute().tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert sc.asarray([1.0, 2.0, 4.0]).var(ddof=np.float64(1)).compute() == 7 / 3


def test_no_advice_leads_to_another_refusal() -> None:
    """What the messages name is tried: the way out is one."""
    delayed, matrix = dask.delayed(np.ones)(3), sc.asarray(np.arange(6.0).reshape(2, 3))
    for refused in (sc.asarray, sc.from_dask_array):
        with pytest.raises(DTypeError, match=r"compute it first.*speedcube\.asarray"):
            refused(delayed)
    assert sc.asarray(delayed.compute()).sum().compute() == 3
    with pytest.raises(DTypeError, match=r"give it \.real, \.imag or abs\(x\)"):
        sc.floor(np.array([1j]))
    assert sc.floor(sc.asarray(np.array([1.5j])).imag).compute().tolist() == [1]
    mask, positions = matrix > 2, [1, 0]
    assert sc.take(matrix, positions, axis=0).compute()[0, 0] == 3
    assert matrix.compute()[mask.compute()].tolist() == [3, 4, 5]
    assert sc.where(mask, matrix, 0).sum().compute() == 12
    assert (matrix.compute() @ matrix.T.compute()).tolist() == [[5, 14], [14, 50]]
    assert np.concatenate([matrix.to_dask_array()] * 2).compute().shape == (4, 3)
    assert (matrix + 1).T.persist().reshape(-1).compute()[1] == 4
