"""What few elements a program needs first is made first; its values are those of one kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.ahead import boxes, look
from speedcube.engine.ahead.look import Ahead, ahead_of
from speedcube.engine.ahead.values import over_arrays
from speedcube.expr.graph import below
from speedcube.expr.nodes import Leaf, Map, Piecewise, Stored
from speedcube.expr.piecewise.assigned import assigned

RNG = np.random.default_rng(8)
X, M = RNG.normal(size=60), RNG.normal(size=(6, 10))


def _assigned(m: Any, x: Any, *puts: tuple[Any, Any]) -> Any:
    own = x * 2
    for key, value in puts:
        own[key] = value(own) if callable(value) else value
    return own


PROGRAMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "differences": lambda m, x, a: (lambda y: y[1:] - y[:-1])(x * 2),
    "backwards and whole": lambda m, x, a: (lambda y: y[::-1] * y + y)(x * 2),
    "columns of rows": lambda m, x, a: (lambda y: y[:, None] - y[None, :5])(x + 1),
    "turned": lambda m, x, a: (a * 2).T + 1,
    "of what is turned": lambda m, x, a: (a.T * 2)[1:] + 1,
    "a sum of a part": lambda m, x, a: (x * 2)[3:-3].max(),
    "rows of three": lambda m, x, a: (x * 2).reshape(20, 3).max(axis=1),
    "reshaped twice": lambda m, x, a: (a.T.reshape(12, 5) + 1)[::2].reshape(-1) * 2,
    "steps of a scan": lambda m, x, a: m.cumsum(m.floor(x * 9))[1:] + 1,
    "a scan of a view": lambda m, x, a: m.cumsum(m.floor(x * 9)[::2]),
    "sorted": lambda m, x, a: m.sort(_assigned(m, x, (3, 9.0))),
    "float16": lambda m, x, a: (lambda y: y[1:] - y[:-1])(x.astype("float16") * 3),
    "bools": lambda m, x, a: (lambda y: y[1:] != y[:-1])(x > 0),
    "of a mean": lambda m, x, a: (lambda y: y[1:] - y[:-1].max())(x * 2),
    "a view of little of much": lambda m, x, a: (x * 2)[5:6] + 1,
    "one assigned": lambda m, x, a: _assigned(m, x, (3, 1.0)),
    "a row": lambda m, x, a: _assigned(m, a, (2, 1.0)) + 1,
    "a column": lambda m, x, a: _assigned(m, a, ((slice(None), 2), 1.0)).max(axis=0),
    "over each other": lambda m, x, a: _assigned(m, x, (slice(9), 1), (slice(5, 20), 2)),
    "of what it had": lambda m, x, a: _assigned(
        m, x, (slice(5, 20), lambda y: y[:15] + 1), (slice(0, 9), lambda y: y[3:12] * 2)
    ),
    "of the same, moved": lambda m, x, a: _assigned(m, x, (slice(0, 9), lambda y: y[3:12])),
    "every other": lambda m, x, a: _assigned(m, x, (slice(None, None, 2), 0)) - x,
    "added": lambda m, x, a: (lambda y: (y.__setitem__(3, y[3] + 1), y * y)[1])(a + 0),
    "two arrays": lambda m, x, a: _assigned(m, x, (3, 1)) * _assigned(m, x, (slice(9), 2))[::-1],
    "one in another": lambda m, x, a: _assigned(
        m, _assigned(m, x, (4, 7)), (slice(7, 9), lambda y: y[3:5])
    ),
    "before and after": lambda m, x, a: (lambda y, z: (z.__setitem__(slice(4), 0), z[::-1] - y)[1])(
        *(lambda y: (y, y + 0))(x * 2)
    ),
    "nothing of it": lambda m, x, a: (x * 2)[5:5] + 1,
    "of greatest ones": lambda m, x, a: (lambda e: e / e.max(axis=1, keepdims=True))(
        m.floor(abs(a - a.max(axis=1, keepdims=True)))
    ),
    "a product": lambda m, x, a: (lambda y: y @ y.T)(_assigned(m, m.floor(a * 9), (1, 3))),
    "no numbers": lambda m, x, a: _assigned(m, x, (slice(3, 5), float("nan")))[1:] + 1,
}


def _ours(name: str) -> Any:
    return PROGRAMS[name](sc, sc.asarray(X), sc.asarray(M))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_numpys_and_those_of_a_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    want = PROGRAMS[name](np, X, M)
    for _ in range(3):  # new, and met before
        made = _ours(name).compute(on="core")
        np.testing.assert_array_equal(made, want)
        assert made.dtype == want.dtype
    cores = _ours(name).compute(on="cores")
    monkeypatch.setattr(look, "NODES", 0)
    monkeypatch.setattr(boxes, "FEW", 0)
    planned = _ours(name).compute(on="core")
    assert made.tobytes() == planned.tobytes() == cores.tobytes()
    assert np.asarray(made).strides == np.asarray(planned).strides


def _make(one: Any) -> Any:
    return sc.api.array.Array(one).compute(on="core")


LEFT = {"a view of little of much", "one assigned", "of what is turned"}


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in LEFT])
def test_what_is_left_reads_arrays(name: str) -> None:
    root = _ours(name)._expr
    ahead = ahead_of([root])
    assert ahead is not None
    assert ahead.everything
    found = over_arrays([root], ahead, _make)
    assert found is not None
    nodes = below(*found.roots)
    assert not any(type(node) is Piecewise for node in nodes)
    views = [node.source for node in nodes if type(node) is Leaf]
    assert not any(type(source) is Map for source in views)
    assert any(type(source) is Stored for source in views)


def test_arrays_that_are_read_are_not_written() -> None:
    given, held = X.copy(), sc.asarray(X.copy())
    held[3] = 100
    other = held * 2
    held[4] = 50
    first, second = held.compute(on="core"), other.compute(on="core")
    np.testing.assert_array_equal(given, X)
    assert (first[3], first[4], second[3], second[4]) == (100, 50, 200, 2 * X[4])
    first[:] = 0  # it is the user's own
    assert held.compute(on="core")[3] == 100


def test_what_is_made_twice_is_made_once() -> None:
    made: list[Any] = []

    def make(one: Any) -> Any:
        made.append(one)
        return _make(one)

    y = sc.asarray(X) * 2
    z = y[1:] - y[:-1] + y[1:].max()
    assert over_arrays([z._expr], Ahead(True, frozenset(), 0.0, {}, {}), make) is not None
    assert len(made) == 1


def test_what_is_left_to_others() -> None:
    x, large = sc.asarray(X), sc.asarray(np.ones(70_000)) * 2
    long = x
    for _ in range(15):
        long = (long * 2)[::-1]
    drawn = (sc.random.default_rng(3).normal(size=9) * 2)[::-1] + 1
    little = (sc.asarray(np.ones(60_000)) * 2)[:9] + 1  # most of it would be made for nothing
    for left in (x + 1, large[1:] - large[:-1], long, drawn, little, (x * 2)[3:].prod()):
        assert ahead_of([left._expr]) is None


def test_what_lies_in_another_order_is_left_to_others() -> None:
    turned, repeated = (np.asarray(M.T), np.broadcast_to(M, (4, 6, 10)))

    def moved(m: Any, a: Any) -> Any:
        own = (a * 2).swapaxes(0, 1)
        own = own.copy() if m is np else own
        own[4:] = own[:2]
        return own

    def less(m: Any, a: Any) -> Any:
        own = a * 2
        own = own[:, ::-1].copy() if m is np else own[:, ::-1]
        own[:, 0] -= 1.5
        return own

    for make, given in ((moved, turned), (less, repeated), (less, turned)):
        for _ in range(2):
            want, got = make(np, given), make(sc, sc.asarray(given)).compute(on="core")
            np.testing.assert_array_equal(want, got)


def test_dear_elements_are_not_made_to_be_written_over() -> None:
    x = sc.asarray(np.ones((400, 400)))
    for base, is_put in ((x + 0, True), (sc.sin(sc.exp(x)), False)):
        base[1:-1, 1:-1] = 0
        assert (boxes.boxes_of(base._expr) is not None) == is_put


def test_more_boxes_are_put_together_otherwise() -> None:
    root, one = (sc.asarray(X) * 2)._expr, sc.ones(2)._expr
    for k in range(boxes.FEW):
        root = assigned(root, (5 * k,), one)
    assert boxes.boxes_of(root) is not None
    assert boxes.boxes_of(assigned(root, (55,), one)) is None


@pytest.mark.parametrize("value", [0, 0.0, -0.0, False, 0j])
@pytest.mark.parametrize("dtype", ["float64", "float16", "int8", "bool", "complex128"])
def test_zeros_have_their_sign(value: Any, dtype: str) -> None:
    if isinstance(value, complex) and dtype != "complex128":
        return
    made = sc.full((3, 4), value, dtype=dtype).compute(on="core")
    assert made.tobytes() == np.full((3, 4), value, dtype=dtype).tobytes()
    assert made.flags.writeable


COMPLEX: dict[str, Callable[[Any, Any], Any]] = {
    "a view": lambda m, z: (z * 2)[1:] - z[:-1],
    "of real numbers": lambda m, z: (z.real + 1j)[::-1] * 2,
    "one assigned": lambda m, z: _assigned(m, z, (3, 1 - 2j)),
    "a slice": lambda m, z: _assigned(m, z, (slice(5), 2j), (slice(3, 9), 1)),
    "of what it had": lambda m, z: (
        lambda y: (y.__setitem__(slice(9), y[3:12] + y[1:10]), y.__setitem__(2, 1j), y)[2]
    )(z + z),
    "of others": lambda m, z: _assigned(m, z, (slice(5), lambda y: y[4:9] * 1j)),
    "a part": lambda m, z: _assigned(m, z, (slice(5), 2j)).imag + 1,
    "moduli": lambda m, z: abs(_assigned(m, z, (slice(5), 3 + 4j))[:8]),
    "of real and others": lambda m, z: _assigned(m, z.real + 1j, (slice(5), z[5:10])),
    "a low pass": lambda m, z: m.fft.ifft(_assigned(m, m.fft.fft(z), (slice(5, -5), 0))).real,
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = X + 1j * RNG.normal(size=60)
    want = COMPLEX[name](np, values)
    for _ in range(3):
        made = COMPLEX[name](sc, sc.asarray(values)).compute(on="core")
        np.testing.assert_allclose(made, want, rtol=1e-13, atol=1e-13)
        assert made.dtype == want.dtype
    monkeypatch.setattr(look, "NODES", 0)
    monkeypatch.setattr(boxes, "FEW", 0)
    planned = COMPLEX[name](sc, sc.asarray(values)).compute(on="core")
    assert np.ascontiguousarray(made).tobytes() == np.ascontiguousarray(planned).tobytes()
