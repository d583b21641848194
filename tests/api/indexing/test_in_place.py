"""Few elements are written at once: random programs beside NumPy with copies, and who sees what."""

from __future__ import annotations

import random
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.indexing.assigning import assignment, in_place
from speedcube.api.indexing.assigning.own_memory import own_memory
from speedcube.expr.nodes import Stored

DTYPES = ("float64", "float32", "int64", "uint8", "bool", "complex128")


class Program:
    """Names of ours beside names of NumPy's, where each view and each expression is a copy."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.rng = np.random.default_rng(seed)
        self.dtype = self.draw.choice(DTYPES)
        self.shape = self.draw.choice([(7,), (4, 5), (2, 3, 4)])
        self.given = self.values(self.shape)  # memory of the user's
        self.before = self.given.copy()
        start = self.draw.choice([sc.asarray(self.given), sc.array(self.given)])
        self.names: list[tuple[Any, Any]] = [(start, self.given.copy())]
        self.computed: list[tuple[Any, Any]] = []

    def values(self, shape: tuple[int, ...]) -> Any:
        return np.asarray(self.rng.integers(0, 9, shape)).astype(self.dtype)

    def key(self, shape: tuple[int, ...]) -> Any:
        """A number, a slice, several of them, numbers in an array, or a mask of NumPy's."""
        if not shape:
            return ()
        n = shape[0]
        kind = self.draw.randrange(6)
        if kind == 0:
            return self.draw.randrange(-n, n)
        if kind == 1:
            return slice(self.draw.randrange(n), None, self.draw.choice([1, 2, -1]))
        if kind == 2:
            return tuple(self.draw.randrange(-one, one) for one in shape)
        if kind == 3:
            return self.rng.integers(0, n, 3)
        return (..., slice(1, None)) if kind == 4 else self.rng.random(shape) < 0.5

    def step(self) -> None:
        """One statement, for both."""
        ours, theirs = self.draw.choice(self.names)
        kind = self.draw.randrange(9)
        if kind < 4:
            key = self.key(theirs.shape)
            there = theirs[key].shape
            value = self.values(there if self.draw.random() < 0.5 else ())
            if self.draw.random() < 0.5 and not value.ndim:
                value = value.item()
            ours[key] = value
            theirs[key] = value
        elif kind == 4:
            key = self.key(theirs.shape)
            self.names.append((ours[key], np.array(theirs[key])))
        elif kind == 5:
            self.names.append((ours + ours, np.array(theirs + theirs)))
        elif kind == 6:
            self.names.append((ours, theirs))  # another name of the same object
        elif kind == 7:
            values = ours.compute()
            self.computed.append((values, np.array(values)))
        elif theirs.shape and theirs.dtype.kind != "c":
            place = self.draw.randrange(len(theirs))
            assert np.asarray(ours[place]).tolist() == theirs[place].tolist()
        del self.names[:-6]

    def check(self) -> None:
        for ours, theirs in self.names:
            np.testing.assert_array_equal(np.asarray(ours), theirs)
            assert ours.dtype == theirs.dtype
        for values, had in self.computed:
            np.testing.assert_array_equal(values, had)
        np.testing.assert_array_equal(self.given, self.before)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed: int) -> None:
    program = Program(seed)
    for _ in range(60):
        program.step()
    program.check()


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_first_assignment_goes_to_memory_of_its_own(dtype: str) -> None:
    given = np.ones((3, 4), dtype)
    for x in (sc.zeros((3, 4), dtype=dtype), sc.asarray(given), sc.asarray(given)[::-1]):
        x[1] = 0
        assert own_memory(x) is not None
        made = x + x
        assert own_memory(x) is None  # the sum reads it
        x[2] = 1
        assert own_memory(x) is not None  # of another copy
        assert np.asarray(made)[1].tolist() == [0] * 4
        del made
    assert given.all()


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "a view": lambda x: x[1:],
    "an element": lambda x: x[1],
    "a sum": lambda x: x.sum(),
    "an imaginary part": lambda x: x.imag,
    "a conjugate's part": lambda x: (x + 1j).conj().real,
    "a copy": lambda x: x.copy(),
    "its values": lambda x: x.compute(),
    "memory": lambda x: memoryview(np.asarray(x)),
    "DLPack": lambda x: np.from_dlpack(np.asarray(x)),
    "a mask": lambda x: x[sc.asarray([True, False, True, True])],
    "Dask": lambda x: x.to_dask_array(),
    "a list": lambda x: list(x),
    "an iterator": lambda x: iter([x[2]]),
}


@pytest.mark.parametrize("name", HOLDERS)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_whoever_holds_it_keeps_what_it_had(name: str, dtype: str) -> None:
    x = sc.zeros(4, dtype=dtype)
    x[0] = 5
    held = HOLDERS[name](x)
    wanted = np.asarray(HOLDERS[name](sc.asarray(np.array([5, 0, 0, 0], dtype))), like=np.empty(0))
    x[:] = 7
    if name == "an iterator":
        held, wanted = next(held), 0
    np.testing.assert_array_equal(np.asarray(held), wanted)
    assert x.tolist() == [7] * 4


@pytest.mark.parametrize("count", [6, in_place.SMALL + 1])
def test_memory_that_was_given_is_not_written_even_where_nobody_refers_to_it(count: int) -> None:
    given = np.ones(count)
    x, look = sc.asarray(given), weakref.ref(given)
    del given
    x[0] = 5
    x[1:3] = 6
    memory = look()
    assert memory is None or memory.tolist() == [1] * count
    assert x[:4].tolist() == [5, 6, 6, 1]


def test_many_elements_and_lazy_ones_wait() -> None:
    large = sc.zeros(in_place.SMALL + 1)
    large[0] = 1
    assert own_memory(large) is None
    lazy = sc.random.default_rng(0).normal(size=9)
    for k in range(in_place.LAZY):
        lazy[k] = k
        assert own_memory(lazy) is None
    lazy[8] = 8
    assert own_memory(lazy) is not None
    wanted = sc.random.default_rng(0).normal(size=9).compute()
    wanted[[0, 1, 8]] = 0, 1, 8
    np.testing.assert_array_equal(lazy, wanted)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int64", np.array([1.5, np.nan])),  # no cast of NumPy's that would warn
        ("uint8", np.float64(300)),
        ("float32", np.array([1e300, -1e300])),
        ("float16", np.array([2**25 + 1, 2049])),
        ("float64", np.array([True, False])),
        ("bool", np.array([2, 0])),
    ],
)
def test_casts_are_those_of_kernels_and_warn_of_nothing(dtype: str, value: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = sc.zeros(2, dtype=dtype)
        x[:] = value
        wanted = sc.asarray(value).astype(dtype)
        assert x.compute().tobytes() == np.broadcast_to(wanted.compute(), 2).tobytes()


def test_refusals_are_ours_and_change_nothing() -> None:
    x = sc.zeros((2, 3))
    x[0] = 1
    for key, value, words in (
        (slice(0, 1), [1.0, 2.0], "could not broadcast the value"),
        (2, 0, "index 2 is out of bounds for axis 0 with size 2"),
        ((0, 0, 0), 0, "too many indices"),
        (0, 1j, "is complex"),
        (np.array([0, 5]), 0, "index 5 is out of bounds"),
    ):
        with pytest.raises((ValueError, IndexError, TypeError), match=words):
            x[key] = np.asarray(value) if isinstance(value, list) else value
    assert x.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_it_asks_for_no_expression(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "entries", None)  # what other assignments begin with
    x, z = sc.zeros((5, 4), dtype="float32"), sc.zeros(6, dtype=complex)
    for k in range(5):
        x[k] = np.arange(4.0)
        x[k, -1] = np.float64(k)
        z[k] = 1j * k
    x[[0, 1]] = 9
    x[np.asarray(x) == 3] = -1
    assert x[:, 1].tolist() == [9, 9, 1, 1, 1]
    assert z.tolist() == [0, 1j, 2j, 3j, 4j, 0]


@pytest.mark.parametrize("dtype", ["float64", "int8", "bool"])
def test_elements_are_read_where_they_lie(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a = np.arange(12).reshape(3, 4).astype(dtype)
    x = sc.asarray(a)
    monkeypatch.setattr(sc.Array, "compute", None)
    assert [float(v) for v in x[1]] == [float(v) for v in a[1]]
    assert x[-1][-2].item() == a[-1][-2].item()
    assert [bool(one) for one in x[::-1, 2]] == [bool(one) for one in a[::-1, 2]]
    assert int(x.T[3][0]) == int(a.T[3][0])
    for wrong in (3, -4):
        with pytest.raises(IndexError, match="out of bounds"):
            x[wrong]


@pytest.mark.parametrize("seen", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "uint64"])
def test_floats_out_of_range_have_the_bits_of_a_kernel_in_memory(dtype: str, seen: bool) -> None:
    """NumPy's casts of them give what the CPU does: others on others."""
    values = [[300.5, 1e10, -1e10], [np.nan, np.inf, -1.5]]
    for given in (np.array(values), np.array(values, "float32"), np.float32(-3e9)):
        wanted = sc.asarray(given).astype(dtype).compute()
        for value in (given, sc.asarray(given) * given.dtype.type(1)):
            x = sc.zeros((2, 3), dtype=dtype)
            for _ in range(50):
                x[0, 1] = 1
            y = x + 1 if seen else None
            x[...] = value
            assert x.compute().tolist() == np.broadcast_to(wanted, (2, 3)).tolist()
            assert y is None or y.compute().tolist() == [[1, 2, 1], [1, 1, 1]]


@pytest.mark.parametrize("fits", [True, False])
def test_what_others_look_at_is_copied_where_there_is_memory_for_it(
    fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, want = sc.zeros((400, 500)), np.zeros((400, 500))
    for k in range(50):
        x[0, k] = want[0, k] = k
    size = 8 * (x.nbytes if fits else x.nbytes - 1)
    monkeypatch.setattr(in_place, "free_memory", lambda: size)
    y = x + 1
    x[::2] = x[1::2] + x[::2] * 2
    assert (type(getattr(x._expr, "source", None)) is Stored) is fits
    np.testing.assert_array_equal(y.compute(), want + 1)
    want[::2] = want[1::2] + want[::2] * 2
    np.testing.assert_array_equal(x.compute(), want)
