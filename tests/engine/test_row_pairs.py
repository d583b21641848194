"""Sums of products of pairs of rows by blocks: the bits of exact sums, and which kernel made them.

What is wanted is the exact sum of the rounded products, rounded once, as `math.fsum` gives it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.boxes import Stop
from speedcube.engine.finished import pairs
from speedcube.engine.finished.pairs import Pairs
from speedcube.kernel.llvm.many.nest import SENTINEL
from speedcube.kernel.llvm.simd import limited, runnable


def wanted(left: Any, right: Any) -> Any:
    with np.errstate(all="ignore"):
        return np.array([[math.fsum((a * b).tolist()) for b in right] for a in left])


def by_blocks(left: Any, right: Any, own: int | None, shifts: Any = None) -> Any:
    """The results, and whether all of them are certain."""
    out = np.empty(len(left) * len(right))
    zeros = np.zeros(len(right)) if shifts is None else shifts
    first = np.zeros(len(left)) if own is None else zeros[own : own + len(left)].copy()
    made = Pairs((left, first), (right, zeros), out, own)
    made.run(Stop())
    return out.reshape(len(left), len(right)), not made.failures


def check(left: Any, right: Any, own: int | None, want: Any, most: float = 0.02) -> None:
    """All results but a few are certain, and those have the wanted bits."""
    found, certain = by_blocks(left, right, own)
    doubtful = found.view(np.uint64) == SENTINEL["float64"]
    assert doubtful.any() != certain
    assert doubtful.sum() <= most * found.size
    assert np.where(doubtful, 0.0, found).tobytes() == np.where(doubtful, 0.0, want).tobytes()


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many results each of the calls had that were made by blocks."""
    seen: list[int] = []
    run = Pairs.run

    def counted(self: Pairs, stop: Stop) -> None:
        run(self, stop)
        seen.append(len(self.results))

    monkeypatch.setattr(Pairs, "run", counted)
    return seen


@pytest.mark.parametrize("target", runnable())
@pytest.mark.parametrize(
    "shape", [(2, 1), (2, 3), (3, 511), (5, 512), (9, 513), (49, 40), (97, 600), (4, 70_000)]
)
def test_bits_of_exact_sums(shape: tuple[int, int], target: str) -> None:
    rng = np.random.default_rng(3)
    rows = rng.normal(size=shape) * np.exp(rng.normal(size=shape))
    want = wanted(rows, rows)
    with limited(target):
        for some in (rows, np.asfortranarray(rows), np.repeat(rows, 2, 1)[:, ::2]):
            check(some, some, 0, want)
        others = rng.normal(size=(7, shape[1]))
        check(rows, others, None, wanted(rows, others))


def test_some_rows_beside_all_of_them() -> None:
    rows = np.random.default_rng(4).normal(size=(130, 90))
    for first, end in ((0, 130), (0, 50), (31, 130), (40, 90), (129, 130)):
        some = rows[first:end]
        found, certain = by_blocks(some, rows, first)
        assert certain
        assert found.tobytes() == wanted(some, rows).tobytes()


def test_deviations_are_made_as_they_are_packed() -> None:
    rng = np.random.default_rng(5)
    rows, shifts = rng.normal(size=(20, 1100)) + 9, rng.normal(size=20) + 9
    apart = rows - shifts[:, None]
    for some in (rows, np.asfortranarray(rows)):
        found, certain = by_blocks(some, some, 0, shifts)
        assert certain
        assert found.tobytes() == wanted(apart, apart).tobytes()


def test_ties_and_zeros_are_certain() -> None:
    """Of few numbers nothing is rounded away, so a tie is no doubt; about one in 700 is one."""
    rows = np.random.default_rng(6).normal(size=(300, 100))
    rows[:, 0] = np.rint(rows[:, 0])
    rows[0], rows[1] = 0.0, -0.0
    found, certain = by_blocks(rows, rows, 0)
    assert certain
    assert found.tobytes() == wanted(rows, rows).tobytes()
    assert not np.signbit(found[:2]).any()


def test_what_is_not_certain_is_left(blocks: list[int]) -> None:
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(40, 600))
    rows[3, 5], rows[4, 6], rows[5], rows[6] = np.nan, np.inf, 1e300, 5e-324
    rows[7, ::2] = 1e20  # what is left of these hides what the others have
    rows[7, 1::2] = -1e20
    _, certain = by_blocks(rows, rows, 0)
    assert not certain
    x = sc.array(rows)
    found = (x[:, None] * x[None]).sum(-1)
    usual = np.array([k not in (3, 4, 5) for k in range(40)])
    want = wanted(rows[usual], rows[usual])
    for on in ("core", "cores:2"):
        blocks.clear()
        made = found.compute(on)
        assert blocks
        assert made[np.ix_(usual, usual)].tobytes() == want.tobytes()
        assert np.isnan(made[3]).all()
        assert made[4, 4] == made[5, 5] == np.inf
        assert made.tobytes() == made.T.tobytes()


def test_which_products_are_made_so(blocks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    a, b = rng.normal(size=(30, 800)), rng.normal(size=(40, 800))
    x, y = sc.array(a), sc.array(b)
    sums: list[tuple[Any, bool]] = [
        ((x[:, None] * y[None]).sum(-1), True),
        ((y[None] * x[:, None]).sum(-1), True),
        ((x[:, None, ::2] * x[None, 3:, 1::2]).sum(-1), True),
        (((x - x.mean(1, keepdims=True))[:, None] * x[None]).sum(-1), True),
        ((x[:, None] * y[None]).sum(0), False),
        ((x[:, None] + y[None]).sum(-1), False),
        ((x[:, None, ::-1] * y[None]).sum(-1), False),
        ((x[:, None].astype("float32") * y[None].astype("float32")).sum(-1), False),
        ((x[:, None] * y[None]).mean(-1), False),
    ]
    found = []
    for lazy, expected in sums:
        blocks.clear()
        found.append(lazy.compute("core"))
        assert bool(blocks) == expected, lazy
    monkeypatch.setattr(pairs, "_sides", lambda *_: None)
    for (lazy, _), made in zip(sums, found, strict=True):
        assert lazy.compute("core").tobytes() == made.tobytes()


def test_nothing_goes_on_once_it_is_stopped(blocks: list[int]) -> None:
    rows = np.ones((200, 50))
    out, stop, zeros = np.full(200 * 200, -1.0), Stop(), np.zeros(200)
    stop.set()
    Pairs((rows, zeros), (rows, zeros), out, 0).run(stop)
    assert (out == -1.0).sum() >= 200 * 200 - 48 * 48
