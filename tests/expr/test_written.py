"""What ``repr`` shows: slices of named arrays as users wrote them, small arrays' values."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc

A = np.arange(35.0).reshape(5, 7)
x = sc.asarray(A)
draws = sc.random.default_rng(1).normal(10, 2, (6, 4))


def text(array: sc.Array) -> str:
    return repr(array).removesuffix(">").split(": ", 1)[1].split("; ")[0]


SLICES = {
    "a": x,
    "a[1:-1]": x[1:-1],
    "a[:, ::2]": x[:, ::2],
    "a[::-1, 3]": x[::-1, 3],
    "a[2:, 1:].T": x.T[1:, 2:],
    "a[3:]": x[-2:],
    "a[3, 4]": x[3, 4],
    "a.reshape(7, 5)": x.reshape(7, 5),
    "a[::-2, :0:-3]": x[::-2, 6:1:-3],
}


@pytest.mark.parametrize("written", SLICES)
def test_an_index_map_is_the_slice_that_makes_it(written: str) -> None:
    """The text, run as a program, reads the same elements."""
    shown = text(SLICES[written])
    read = eval(shown, {"a": A})
    np.testing.assert_array_equal(read, SLICES[written].compute(on="core"))
    assert shown == written


@pytest.mark.parametrize(
    ("array", "shown"),
    [
        (x[1:] - 0.5 * x[:-1], "a[1:] - (0.5 * a[:-1])"),
        (x + sc.asarray(A.T).T, "a + b.T"),
        (sc.asarray([1.0, 2.5]) * 2, "[1, 2.5] * 2"),
        ((x - x.mean(axis=0)) / x.std(), "(a - a.mean(axis=(0,))) / a.std()"),
        (draws, "normal(10, 2)"),
        (draws[::2].sum(), "normal(10, 2)[...].sum()"),
        (x.cumsum(axis=1)[2], "a.cumsum(axis=1)[2]"),
        (sc.where(x > 3, x, 0), "where((a > 3), a, 0)"),
        (x[1:].reshape(-1), "a[...]"),
        (sc.asarray(np.zeros((3, 0))), "[]"),
    ],
)
def test_what_is_shown(array: sc.Array, shown: str) -> None:
    assert text(array) == shown


def test_arrays_are_named_with_their_dtype_and_shape() -> None:
    b = sc.asarray(np.ones((5, 7), np.float32))
    assert repr(x * b + x) == (
        "<speedcube.Array (5, 7) float64: (a * b) + a; a: float64 (5, 7); b: float32 (5, 7)>"
    )


def test_a_stencil_of_many_steps_stays_a_line() -> None:
    u = sc.asarray(np.zeros((40, 40)))
    for _ in range(4):
        u = u[1:-1, 1:-1] + 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1])
        assert len(repr(u)) < 400
    assert "..." in repr(u)
    assert "·i" not in repr(u)


def test_the_plan_shows_the_index_maps() -> None:
    shown = repr((x[1:, 2:] * 2.0).sum().plan(on="core"))
    assert "    reads stored[9 + (7, 1)·i]" in shown
    many = sc.asarray(np.zeros((40, 40)))
    total = sum(many[k : k + 9] for k in range(20))
    assert "    reads ... and 8 more" in repr(total.plan(on="core"))
