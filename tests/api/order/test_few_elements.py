"""Few elements that lie in memory: what is asked of them is read there, and built of few nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import speedcube as sc
from speedcube.api.order import bins
from speedcube.engine import compute as engine
from speedcube.engine.small import known
from speedcube.engine.stepwise.choice import OFTEN_OF_FEW
from speedcube.expr import gather

_RNG = np.random.default_rng(11)
_X = _RNG.normal(size=700)
_I = _RNG.integers(0, 700, 900)


def _refused(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing is computed")


def test_an_index_in_memory_is_looked_at_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    x, index = sc.asarray(_X), sc.asarray(_I)
    with monkeypatch.context() as without:
        without.setattr(engine, "compute_all", _refused)
        without.setattr(engine, "compute", _refused)
        taken, counts = x[index], sc.bincount(index)
        with pytest.raises(IndexError, match="index 700 is out of bounds for axis 0 with size 700"):
            x[sc.asarray(np.array([3, 700]))]
        with pytest.raises(ValueError, match="no negative elements: there is -2"):
            sc.bincount(sc.asarray(np.array([3, -2])))
    assert np.asarray(taken).tobytes() == _X[_I].tobytes()
    assert counts.tolist() == np.bincount(_I).tolist()


def test_an_index_in_memory_is_not_copied_when_something_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gather, "_at_hand", _refused)
    x, table = sc.asarray(_X), sc.asarray(_X.reshape(70, 10))
    for one, held in ((x, _X), (x[::-2], _X[::-2]), (table, _X.reshape(70, 10))):
        index = _I % len(held)
        taken = sc.take(one, sc.asarray(index), axis=0)
        assert np.asarray(taken).tobytes() == held.take(index, axis=0).tobytes()


def test_a_structure_of_many_nodes_is_met_again_without_a_look_at_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def found(seed: int) -> tuple[Any, Any]:
        rng = np.random.default_rng(seed)
        x, line, values = rng.normal(size=300), np.sort(rng.normal(size=200)), rng.normal(size=200)
        made = sc.interp(sc.asarray(x), sc.asarray(line), sc.asarray(values))
        return np.asarray(made), np.interp(x, line, values)

    for seed in range(OFTEN_OF_FEW + 2):
        found(seed)
    monkeypatch.setattr(known, "_by_structure", _refused)
    monkeypatch.setattr(engine, "_values", _refused)
    np.testing.assert_array_equal(*found(99))


@pytest.mark.parametrize("name", ["median", "maximum.accumulate", "sort and add"])
def test_what_no_call_of_a_kernel_makes_is_not_looked_at_as_a_structure(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Any] = []
    monkeypatch.setattr(known, "structure_of", lambda root: looked.append(root) or _refused())
    x = sc.asarray(_X)
    programs = {
        "median": lambda: (sc.median(x), np.median(_X)),
        "maximum.accumulate": lambda: (np.maximum.accumulate(x), np.maximum.accumulate(_X)),
        "sort and add": lambda: (np.sort(sc.asarray(_X)) + 1, np.sort(_X) + 1),
    }
    got, wanted = programs[name]()
    assert known.reads_apart(got._expr)
    assert known.value(got._expr) is None
    assert not looked
    monkeypatch.undo()
    np.testing.assert_array_equal(got, wanted)


_QUANTILES = st.lists(st.floats(0, 1), min_size=2, max_size=6)


@given(
    hnp.arrays(st.sampled_from(["float64", "float32", "int16"]), st.integers(2, 40),
               elements=st.integers(-9, 9)),
    _QUANTILES,
    st.booleans(),
)  # fmt: skip
@settings(max_examples=80, deadline=None)
def test_quantiles_together_are_those_one_by_one(x: Any, chances: list[float], nan: bool) -> None:
    if nan and x.dtype.kind == "f":
        x[0] = np.nan
    for q in (chances, sorted(chances)):
        together = np.asarray(sc.quantile(sc.asarray(x), q))
        alone = [np.asarray(sc.quantile(sc.asarray(x), np.array([one]))) for one in q]
        assert together.dtype == np.quantile(x, q).dtype
        assert together.tobytes() == np.concatenate(alone).tobytes()
        lines = sc.asarray(np.stack([x, x[::-1]]))
        assert (
            np.asarray(sc.quantile(lines, q, axis=1)).tobytes()
            == np.stack(
                [together, np.asarray(sc.quantile(sc.asarray(x[::-1].copy()), q))], 1
            ).tobytes()
        )


@pytest.mark.parametrize("dtype", ["float64", "int32", "bool"])
def test_parts_of_several_places_are_numpys(dtype: str) -> None:
    x = (_X * 20).astype(dtype)
    if dtype == "float64":
        x[::50] = np.nan
    for kth in (3, [3, 690], [0, 5, -1], np.array([], int)):
        got = np.asarray(sc.argpartition(sc.asarray(x), kth))
        assert sorted(got.tolist()) == list(range(700))
        ordered = np.sort(x)
        for place in np.atleast_1d(np.array(kth, int)):
            np.testing.assert_array_equal(x[got][place], ordered[place])


def test_few_coordinates_are_compared_where_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    places = np.sort(_RNG.normal(size=700))
    for at in (places, np.arange(700) * 0.5, np.arange(700), places.astype("float32")):
        with monkeypatch.context() as without:
            without.setattr(engine, "compute", _refused)
            slopes = sc.gradient(sc.asarray(_X), at)
        np.testing.assert_array_equal(np.asarray(slopes), np.gradient(_X, at))


def test_ranges_of_a_ufunc_are_numbered_without_a_look_at_the_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts = np.arange(0, 700, 9)
    with monkeypatch.context() as without:
        without.setattr(engine, "compute_all", _refused)
        without.setattr(engine, "compute", _refused)
        sums = np.maximum.reduceat(sc.asarray(_X), starts)
    np.testing.assert_array_equal(np.asarray(sums), np.maximum.reduceat(_X, starts))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int16", "uint8"])
def test_ends_of_few_elements_are_found_where_they_lie(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.abs(_X * 20 + 1).astype(dtype) + np.array(1, dtype)
    monkeypatch.setattr(bins, "compute", _refused)
    counts, edges = sc.histogram(sc.asarray(x), 7)
    wanted, at = np.histogram(x, 7)
    assert np.asarray(edges).tobytes() == at.tobytes()
    assert np.asarray(counts).tolist() == wanted.tolist()
    if x.dtype.kind == "f":
        x[5] = np.nan
        with pytest.raises(ValueError, match=r"autodetected range of \[nan, nan\] is not finite"):
            sc.histogram(sc.asarray(x), 7)


@pytest.mark.parametrize("zeros", [[0.0, -0.0], [-0.0, 0.0], [-0.0, -0.0]])
def test_of_zeros_the_first_edge_is_that_of_an_array_that_is_computed(zeros: list[float]) -> None:
    x = np.array([*zeros, 3.0, 1.0])
    found = [np.asarray(sc.histogram(one, 3)[1]) for one in (sc.asarray(x), sc.asarray(x) * 1.0)]
    assert found[0].tobytes() == found[1].tobytes()


def test_axes_in_their_order_are_a_view_of_its_own() -> None:
    x = sc.asarray(_X.reshape(70, 10))
    turned = x.transpose((0, -1))
    assert turned is not x
    assert turned._expr is x._expr
    turned += 1
    assert np.asarray(x).tobytes() == _X.reshape(70, 10).tobytes()
