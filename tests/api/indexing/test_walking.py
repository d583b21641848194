"""Loops over rows, trailing matrices and every other element: written in place, step by step."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.indexing.assigning import walking
from speedcube.api.indexing.items import COPIED
from speedcube.expr.nodes import Piecewise, Stored

RNG = np.random.default_rng(0)


def _source(x: Any) -> Any:
    return x._expr.source


def test_what_is_kept_of_the_row_before_does_not_move_the_array() -> None:
    """Tridiagonal systems by elimination: the factor of the step before has a name for a step."""
    n, m = 60, 400
    b, d = sc.full((n, m), 4.0), sc.asarray(RNG.normal(size=(n, m))).copy()
    want_b, want_d = np.full((n, m), 4.0), np.asarray(d).copy()
    places, seen = set[int](), []
    for i in range(1, n):
        w, v = -1.0 / b[i - 1], -1.0 / want_b[i - 1]
        b[i] -= -w
        d[i] -= w * d[i - 1]
        want_b[i] -= -v
        want_d[i] -= v * want_d[i - 1]
        seen.append((w, v))
        if i > 8:
            places.add(id(_source(b)))
    assert len(places) == 1
    np.testing.assert_array_equal(b, want_b)
    np.testing.assert_array_equal(d, want_d)
    for w, v in seen:
        np.testing.assert_array_equal(w, v)


def test_only_few_elements_are_copied() -> None:
    x = sc.zeros((300, 300))
    for k in range(50):
        x[k % 7] = x[k % 5] + k
    assert isinstance(_source(x), Stored)
    assert _source(x[3]) is not _source(x) is not _source(x[2, 1:9])
    assert COPIED < 300 * 300
    assert _source(x[1:]) is _source(x) is _source(x.T)
    row, kept = x[3], np.asarray(x[3]).copy()
    x[3] = 9.0
    np.testing.assert_array_equal(row, kept)


def test_windows_are_not_all_copied() -> None:
    """What is copied between two assignments is no more than the array, or little."""
    x = sc.zeros(100_000)
    for k in range(50):
        x[k : k + 9] = x[k + 1 : k + 10] + k
    windows = [x[k : k + 1000] for k in range(500)]
    kept = [np.asarray(one).copy() for one in windows]
    memory = {id(_source(one)): _source(one).buffer.nbytes for one in windows}
    assert sum(memory.values()) <= 2 * x.nbytes
    x[:] = x + 1
    x[3] = 7.0
    for one, want in zip(windows, kept, strict=True):
        np.testing.assert_array_equal(one, want)
    for k in range(50):
        x[k : k + 9] = x[k + 1 : k + 10] + k
    assert _source(x[:9]) is not _source(x)  # once it is assigned to, it is copied again


def _eliminated(a: Any, written: list[bool]) -> Any:
    n = len(a)
    for k in range(12):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[k, k + 1 :]
        written.append(isinstance(getattr(getattr(a, "_expr", None), "source", None), Stored))
    return a[:, : n // 2]


def test_what_is_left_of_a_matrix_is_written_at_once() -> None:
    given = RNG.normal(size=(290, 290)) + 300 * np.eye(290)
    written = list[bool]()
    ours = _eliminated(sc.asarray(given).copy(), written)
    np.testing.assert_array_equal(ours, _eliminated(given.copy(), []))
    assert written[5:] == [True] * 7  # boxes that differ from step to step were seen by then


@pytest.mark.parametrize("edges", [False, True])
def test_a_time_loop_stays_lazy(edges: bool) -> None:
    """Several of its steps are one pass, with its edges, of which each lies where it did."""
    u, v = sc.zeros((300, 300)), np.zeros((300, 300))
    lazy = []
    for k in range(30):
        for x in (u, v):
            x[1:-1, 1:-1] = 0.25 * (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2]) + k
        lazy.append(isinstance(_source(u), Piecewise))
        for x in (u, v):
            if edges:
                x[0], x[-1] = x[1], x[-2]
                x[:, 0], x[:, -1] = x[:, 1], x[:, -2]
    assert all(lazy)
    assert u._walk is None or not u._walk[1]
    np.testing.assert_array_equal(u, v)


def test_a_time_loop_after_an_elimination_is_lazy_again() -> None:
    given = RNG.normal(size=(290, 290)) + 300 * np.eye(290)
    u, v = sc.asarray(given).copy(), given.copy()
    for x in (u, v):
        _eliminated(x, [])
    assert u._walk[1]
    for k in range(4):
        for x in (u, v):
            x[1:-1, 1:-1] = 0.5 * (x[2:, 1:-1] + x[:-2, 1:-1])
        assert isinstance(_source(u), Stored if not k else Piecewise)
    np.testing.assert_array_equal(u, v)


def _relaxed(u: Any, steps: int) -> Any:
    for _ in range(steps):
        for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
            ends = [(start, len(u) - 1 - (start + 1) % 2) for start in (i, j)]
            (a, b), (c, d) = ends
            beside = [(1, 0), (-1, 0), (0, 1), (0, -1)]
            total = sum(u[a + y : b + y : 2, c + x : d + x : 2] for y, x in beside)
            u[a:b:2, c:d:2] += 0.3 * (total - 4 * u[a:b:2, c:d:2])
    return u


def test_every_other_element_is_written_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Red and black: from the third assignment on, of values made of the array."""
    monkeypatch.setattr(walking, "NUMBERS", 1 << 12)
    u = sc.asarray(RNG.normal(size=(201, 201))).copy()
    want = np.asarray(u).copy()
    np.testing.assert_array_equal(_relaxed(u, 3), _relaxed(want, 3))
    assert isinstance(_source(u), Stored)
    x, y = sc.zeros(1 << 18), sc.random.default_rng(1).normal(size=1 << 17)
    for k in (0, 1, 0, 1):
        x[k::2] = y  # not made of it
    assert not isinstance(_source(x), Stored)
    np.testing.assert_array_equal(x[1::2], y)


def _averaged(x: Any, steps: int) -> Any:
    for _ in range(steps):
        x[1:-1:2] = 0.5 * (x[1:-1:2] + x[2::2])
    return x


@pytest.mark.parametrize("of_a_file", [False, True])
def test_what_does_not_fit_or_lies_in_a_file_is_not_read_by_assignments(
    of_a_file: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not of_a_file:
        monkeypatch.setattr(walking, "free_memory", lambda: 1 << 12)
    given = RNG.normal(size=2 * walking.NUMBERS + 101)
    np.save(tmp_path / "x.npy", given)
    x = sc.from_npy(tmp_path / "x.npy") if of_a_file else sc.asarray(given)
    made = list[int]()
    inner = walking.Array.compute

    def noticed(x: Any) -> Any:
        made.append(x.size)
        return inner(x)

    with monkeypatch.context() as patch:
        patch.setattr(walking.Array, "compute", noticed)
        _averaged(x, 6)
    assert not made
    assert isinstance(_source(x), Piecewise)
    np.testing.assert_array_equal(x, _averaged(given.copy(), 6))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16"])
def test_values_that_are_computed_are_cast_without_a_warning(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those that stay lazy: which of them are is a matter of sizes."""
    monkeypatch.setattr(walking, "NUMBERS", 1 << 8)
    x, want = sc.ones(2001, dtype), np.ones(2001, dtype)
    for k in range(6):
        value = x[1:-1:2].astype("float64") * (1e30 if k == 5 else 3.0) + x[2::2]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            x[1:-1:2] = value
        factor = 1e30 if k == 5 else 3.0
        with np.errstate(all="ignore"):
            want[1:-1:2] = want[1:-1:2].astype("float64") * factor + want[2::2]
    assert isinstance(_source(x), Stored)
    if dtype == "float16":
        np.testing.assert_array_equal(x, want)


@pytest.mark.parametrize(
    ("value", "error"), [(300, sc.errors.RangeError), (np.nan, sc.errors.ParameterError)]
)
def test_elements_of_arrays_in_memory_are_refused_as_those_of_others(
    value: float, error: type[Exception]
) -> None:
    x = sc.zeros(20_000, "int8")
    for k in range(60):
        x[k % 5 : k % 5 + 2] = k % 3
    assert isinstance(_source(x), Stored)
    kept = np.asarray(x).copy()
    with pytest.raises(error, match=f"{value} cannot be an element of dtype int8"):
        x[1] = value
    np.testing.assert_array_equal(x, kept)


def _red_black(u: Any) -> Any:
    for _ in range(6):
        for k in (1, 2):
            beside = u[k + 1 :: 2][: len(u[k:-1:2])] + u[k - 1 : -1 : 2][: len(u[k:-1:2])]
            u[k:-1:2] += 0.3 * (beside - 2 * u[k:-1:2])
    return u


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_part_is_written_into_a_copy_where_others_look_at_the_array(dtype: str) -> None:
    """``beside`` reads the memory of the step before: what is written goes to another one."""
    given = RNG.normal(size=(600, 501)).astype(dtype)
    ours = _red_black(sc.array(given))
    assert isinstance(_source(ours), Stored)  # not an array of pieces, for which kernels are made
    np.testing.assert_array_equal(ours, _red_black(given.copy()))


def test_who_looks_at_an_array_keeps_what_it_had() -> None:
    given = RNG.normal(size=(600, 501))
    ours, want = _red_black(sc.array(given)), _red_black(given.copy())
    view, made, had = ours[5:], ours * 2, want.copy()
    memory = _source(ours).buffer
    ours[1:-1:2] += ours[:-2:2]
    want[1:-1:2] += want[:-2:2]
    assert _source(ours).buffer is not memory
    np.testing.assert_array_equal(ours, want)
    np.testing.assert_array_equal(view, had[5:])
    np.testing.assert_array_equal(made, had * 2)
    np.testing.assert_array_equal(memory, had)


def test_a_small_part_does_not_copy_the_array() -> None:
    x = _red_black(sc.array(RNG.normal(size=(600, 501))))
    view, memory = x[5:], _source(x).buffer
    x[1:40:2] += x[:39:2]
    assert isinstance(_source(x), Piecewise)
    np.testing.assert_array_equal(view, memory[5:])
