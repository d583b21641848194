"""What lies outside the boxes that results need is not made, and the plan says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc

_DATA = np.random.default_rng(1).normal(size=(600, 500))


def _program(x: Any) -> Any:
    """Stages that cannot be had for nothing: each is read in three ways."""
    y = np.sin(x) * np.exp(-x * x)
    z = y + y[::-1] + y[:, ::-1]
    return np.sin(z[1:-1] - z[:-2]) * z[2:]


# What is taken of the result, and the most elements that all stages together may have.
TAKEN: dict[str, tuple[Callable[[Any], Any], int]] = {
    "one element": (lambda u: u[100, 100], 100),
    "a box": (lambda u: u[50:60, 40:45], 1000),
    "a few rows, each seventh": (lambda u: u[50:100:7], 60 * 500),
    "backwards": (lambda u: u[60:50:-3, ::-1], 40 * 500),
    "turned": (lambda u: u.T[3:9, 5:7], 200),
    "columns less their means": (lambda u: (u - u.mean(axis=0))[7:9, 3:5], 3 * 600 * 3),
    "some means": (lambda u: u.mean(axis=0)[4:6] * 2, 3 * 600 * 3),
    "some means with their axis": (lambda u: u.mean(axis=1, keepdims=True)[4:6] * 2, 9 * 600),
    "lines of sums": (lambda u: u.cumsum(axis=0)[:, 5] * 2, 4 * 600),
    "a part of a line": (lambda u: u.cumsum(axis=1)[3:5, 7:9] * 2, 8 * 600),
    "places": (lambda u: u.argmax(axis=0)[3:5] * 2, 3 * 600 * 3),
}


@pytest.mark.parametrize("name", TAKEN)
def test_only_the_box_is_made(name: str) -> None:
    take, most = TAKEN[name]
    whole = sc.asarray(_program(sc.asarray(_DATA)).compute(on="core"))
    wanted = take(whole).compute(on="core")
    part = take(_program(sc.asarray(_DATA)))
    plan = part.plan(on="core")
    assert plan.elements <= most, plan
    assert_same_bits(part.compute(on="core"), wanted)
    assert_same_bits(part.compute(on="cores:2"), wanted)


def test_the_plan_says_which_box() -> None:
    x = sc.random.default_rng(1).normal(size=(6000, 5000))
    text = repr(_program(x)[100:4000, 30:1000].plan(on="core"))
    assert "only [100:4002, 30:1000] of (6000, 5000) is needed" in text


def test_what_several_need_is_one_box() -> None:
    u = _program(sc.asarray(_DATA))
    asked = [u[10:20, :5], u[15:30, 2:9], u[12]]
    plan = asked[0].plan(on="core", together=asked[1:])
    assert plan.elements < 25 * 500 + 1000
    whole = u.compute(on="core")
    found = sc.compute(*asked, on="core")
    for value, right in zip(found, (whole[10:20, :5], whole[15:30, 2:9], whole[12]), strict=True):
        assert_same_bits(value, right)
    assert sc.compute(u, u[3, 4], on="core")[1] == whole[3, 4]


def test_a_loop_needs_a_little_more_each_step() -> None:
    def steps(u: Any) -> Any:
        for _ in range(30):
            u = np.sin(u[1:-1] - u[:-2] * 0.5) + u[2:]
        return u

    line = np.random.default_rng(2).normal(size=300_000)
    part = steps(sc.asarray(line))[1000:1003]
    assert part.plan(on="core").peak_bytes < 50 << 20
    assert_same_bits(part.compute(on="core"), steps(sc.asarray(line[1000:1063])).compute(on="core"))


def test_nothing_changes_where_all_is_needed() -> None:
    u = _program(sc.asarray(_DATA))
    for array in (u, u.sum(axis=0), u[1:], u[::2, ::-1]):
        assert "is needed" not in repr(array.plan(on="core"))


def test_what_gathers_read_stays_whole() -> None:
    u = _program(sc.asarray(_DATA))
    whole = u.compute(on="core")
    taken = sc.take(u, sc.arange(400) * 7 % 500, 1)[5:7, 3:9]
    assert_same_bits(taken.compute(on="core"), whole[5:7][:, (np.arange(400) * 7 % 500)[3:9]])


def test_pieces_stay_whole() -> None:
    u = _program(sc.asarray(_DATA))
    whole = u.compute(on="core")
    moved = np.sin(sc.roll(u, 3, axis=0) + u)[4:6, 2]
    wanted = np.sin(sc.asarray(np.roll(whole, 3, axis=0) + whole)).compute(on="core")[4:6, 2]
    assert_same_bits(moved.compute(on="core"), wanted)
