"""`flat`, `ndenumerate`, `r_` and `c_`: NumPy's values; and what is NumPy's own by our name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import ParameterError, UnsupportedError

V: Final = np.arange(3)
W: Final = np.array([0.5, 1.5, 2.5])
M: Final = np.arange(6).reshape(2, 3)

# Each is asked of r_ and of c_.
KEYS: Final[dict[str, Any]] = {
    "numbers": (1, 2.5, 3),
    "a range": slice(0, 5),
    "a range of steps": slice(5, 0, -2),
    "so many": slice(-1, 1, 5j),
    "a range and an array": (slice(0, 3), V),
    "a number first": (True, V > 1),
    "dtypes": (V, W),
    "a number takes no dtype": (2, V.astype("int8")),
    "several": (V, 0, W, slice(3, 6)),
    "lists": ([1, 2, 3], V),
    "the last axis": ("-1", M, M),
    "of two axes": ("0,2", V, V),
    "as columns": ("0,2,0", V, V),
    "of three axes": ("0,3,1", M, M),
    "one": ("1", M, M),
    "a line beside a matrix": ("0,2", V, M),
}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", ["r_", "c_"])
def test_joined_by_an_index_as_in_numpy(name: str, key: str) -> None:
    items = KEYS[key] if isinstance(KEYS[key], tuple) else (KEYS[key],)
    ours = [sc.asarray(one) if isinstance(one, np.ndarray) else one for one in items]
    try:
        theirs = getattr(np, name)[items]
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011  (sizes that differ)
            getattr(sc, name)[tuple(ours)]
        return
    mine = getattr(sc, name)[tuple(ours)]
    assert isinstance(mine, sc.Array)
    assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(mine.compute(), theirs)


def test_what_is_no_axis_is_told() -> None:
    with pytest.raises(ParameterError, match="'x' is no axis: give 'axis', 'axis,ndmin'"):
        sc.r_["x", V]
    with pytest.raises(ParameterError, match="leave the 'r' or 'c' out"):
        sc.r_["r", V]
    with pytest.raises(ParameterError, match="takes at least one array"):
        sc.c_["0"]


def both(change: Callable[[Any], None]) -> None:
    for values in (np.arange(12.0).reshape(3, 4), np.arange(12.0).reshape(3, 4).T):
        mine, theirs = sc.asarray(values), values.copy()
        change(mine)
        change(theirs)
        np.testing.assert_array_equal(mine.compute(), theirs)


def _nine(x: Any) -> None:
    x.flat[4] = 9


def _diagonal(x: Any) -> None:
    x.flat[:: x.shape[1] + 1] = -1


def _again(x: Any) -> None:
    x.flat[1:9] = [7, 8, 9]


def _fewer(x: Any) -> None:
    x.flat[:2] = [7, 8, 9]


def _listed(x: Any) -> None:
    x.flat[[0, 5, 11]] = [1, 2, 3]


def _all(x: Any) -> None:
    x.flat = [1, 2]


def _masked(x: Any) -> None:
    x.flat[np.arange(12) % 2 == 0] = 0


@pytest.mark.parametrize("change", [_nine, _diagonal, _again, _fewer, _listed, _all, _masked])
def test_flat_is_assigned_to_as_numpys(change: Callable[[Any], None]) -> None:
    both(change)


@pytest.mark.parametrize("shape", [(2, 3), (), (0, 3), (4,), (1, 2, 2)])
def test_flat_is_an_iterator(shape: tuple[int, ...]) -> None:
    values = np.arange(int(np.prod(shape))).reshape(shape)
    walks = values.flat, sc.asarray(values).flat
    for _ in range(values.size):
        assert walks[1].index == walks[0].index
        assert walks[1].coords == walks[0].coords
        assert next(walks[1]) == next(walks[0])
    assert (walks[1].index, walks[1].coords) == (walks[0].index, walks[0].coords)
    for walk in walks:
        walk[:0]  # back to the first
        places = [walk.index for _ in walk if walk.index < 3]
        assert places == [*range(1, min(values.size, 2) + 1)]
        assert list(walk) == []
        assert walk[:0].size == walk.index == 0
        assert len(list(walk)) == len(walk) == values.size


def test_flat_is_compared_and_has_no_hash() -> None:
    x = sc.asarray(M)
    for word in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
        for other in (3, M.reshape(-1)[::-1]):
            found = getattr(x.flat, word)(other)
            np.testing.assert_array_equal(found.compute(), getattr(M.flat, word)(other))
    assert (x.flat == x.flat).all()
    with pytest.raises(TypeError, match="unhashable"):
        hash(x.flat)


def test_flat_is_read_as_numpys() -> None:
    x = sc.asarray(M.T)
    assert list(x.flat) == list(M.T.flat)
    assert len(x.flat) == 6
    assert x.flat[2] == M.T.flat[2]
    np.testing.assert_array_equal(x.flat[1::2].compute(), M.T.flat[1::2])
    np.testing.assert_array_equal(np.asarray(x.flat), np.asarray(M.T.flat))
    np.testing.assert_array_equal(x.flat.copy().compute(), M.T.flat.copy())
    assert x.flat.base is x
    assert repr(x.flat) == "<speedcube.Array.flat of 6 elements>"
    with pytest.raises(ParameterError, match="needs a value"):
        x.flat[0] = []


def test_elements_with_their_indices() -> None:
    assert list(sc.ndenumerate(sc.asarray(M))) == list(np.ndenumerate(M))
    assert list(sc.ndindex(2, 2)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert sc.s_[1:3, ...] == sc.index_exp[1:3, ...]


def test_who_wants_errors_of_arithmetic_is_refused() -> None:
    with sc.errstate(divide="ignore", over="warn"):
        assert sc.geterr()["divide"] == "ignore"
        assert np.isinf((1 / sc.asarray([0.0])).compute()).all()
    before = sc.seterr(under="warn")
    assert sc.seterr(**before)["under"] == "warn"
    for ask in (sc.errstate, sc.seterr):
        with pytest.raises(UnsupportedError, match="all='raise': kernels tell of no floating"):
            ask(all="raise")


def test_ranges_are_indices() -> None:
    x, given = sc.asarray(M), M.copy()
    np.testing.assert_array_equal(x[range(2)].compute(), M[range(2)])
    np.testing.assert_array_equal(x[range(2), range(1, 3)].compute(), M[range(2), range(1, 3)])
    x[range(2), range(2)] = 0
    given[range(2), range(2)] = 0
    np.testing.assert_array_equal(x.compute(), given)
    assert x[range(0)].shape == M[range(0)].shape
