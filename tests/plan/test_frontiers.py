"""Long programs that go on with several values are cut where they hand little on, all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.expr.graph import below
from speedcube.expr.nodes import Map, walk
from speedcube.plan import costs
from speedcube.plan.cuts import cut
from speedcube.plan.cutting import frontiers as module
from speedcube.plan.cutting.frontiers import frontiers

RNG = np.random.default_rng(6)
SIZE = (300, 400)


def _mandelbrot(x: Any, steps: int) -> Any:
    """A complex state, who is alive, and when each died: four values go on."""
    re, im, cr, ci = x, x * 0.5, x - 0.25, x + 0.125
    alive, died = abs(x) < 2, sc.zeros(x.shape, dtype=int)
    for k in range(steps):
        re, im = sc.where(alive, re * re - im * im + cr, re), sc.where(alive, 2 * re * im + ci, im)
        gone = re * re + im * im > 4
        died = sc.where(gone & alive, k, died)
        alive = alive & ~gone
    return died


def _planets(x: Any, steps: int) -> Any:
    """Position and speed."""
    at, speed = x, x * 0.1
    for _ in range(steps):
        speed = speed - 0.01 * at / (1 + at * at)
        at = at + 0.01 * speed
    return at


def _terms(x: Any, steps: int) -> Any:
    """A long sum of light terms: they are made again, not kept."""
    total = x
    for k in range(steps):
        total = total + x * float(k)
    return total


def _operations(program: sc.Array) -> tuple[int, int]:
    """Those of ``program``, and of all its stages together."""
    own = [node for node in below(program._expr) if isinstance(node, Map)]
    stages = [node for one in cut([program._expr]).requests for node in walk(one.root)]
    return len(own), sum(isinstance(node, Map) for node in stages)


@pytest.mark.parametrize(
    ("make", "steps", "most"), [(_mandelbrot, 60, 4.5), (_planets, 200, 2.2), (_terms, 900, 1.1)]
)
def test_little_is_made_twice(make: Any, steps: int, most: float) -> None:
    own, made = _operations(make(sc.asarray(np.zeros(SIZE)), steps))
    assert own > 2 * costs.MOST
    assert made < most * own


def test_without_frontiers_each_value_was_made_from_the_first_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the test above would see."""
    monkeypatch.setattr(module, "_FEW", 0)
    own, made = _operations(_mandelbrot(sc.asarray(np.zeros(SIZE)), 60))
    assert made > 6 * own


def test_a_program_of_many_values_has_none() -> None:
    """Twenty states, each of which the next step needs all of: nowhere is it narrow."""
    x = sc.asarray(np.zeros(SIZE))
    many = [x * k for k in range(20)]
    for _ in range(4):
        total = sum(many[1:], many[0])
        many = [one - total * 0.5 + one * one for one in many]
    assert not frontiers(below(sum(many[1:], many[0])._expr)).kept


def test_one_value_is_kept_where_a_kernel_is_full() -> None:
    assert not frontiers(below(_terms(sc.asarray(np.zeros(SIZE)), 900)._expr)).kept


def test_short_programs_have_none() -> None:
    assert not frontiers(below(_planets(sc.asarray(np.zeros(SIZE)), 20)._expr)).kept


@pytest.mark.parametrize("make", [_mandelbrot, _planets, _terms])
@pytest.mark.parametrize("rung", ["core", "cores"])
def test_the_bits_are_those_of_each_step_alone(make: Any, rung: str) -> None:
    data = RNG.normal(size=(200, 130))
    x = sc.asarray(data)
    steps = 300 if make is _terms else 70
    whole = make(x, steps)
    assert whole.plan(on=rung).stages[0].why == "its reader's kernel is long enough"
    rows = [make(sc.asarray(data[k : k + 20]), steps) for k in range(0, 200, 20)]
    few = np.concatenate([row.compute(on="core") for row in rows])
    assert_same_bits(whole.compute(on=rung), few)
    if make is not _mandelbrot:
        np.testing.assert_allclose(few, make(data, steps), rtol=1e-12)
