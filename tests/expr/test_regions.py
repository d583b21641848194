"""Regions of expressions that are cut as one before them are those that a cut would give."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.known import memory
from speedcube.expr.nodes import Leaf, walk
from speedcube.expr.piecewise import again
from speedcube.expr.piecewise.regions import Box, split
from speedcube.plan import regions


@pytest.fixture(autouse=True)
def nothing_known() -> None:
    again._known.clear()
    memory._known.clear()


def shown(box: Box) -> list[Any]:
    """All of ``box``, with the sources that it reads by their ids, constants by their text."""
    found: list[Any] = [box.at]
    for top in (box.root, *box.extra):
        nodes = walk(top)
        place = {id(node): k for k, node in enumerate(nodes)}
        for node in nodes:
            if isinstance(node, Leaf):
                source = repr(node.source) if not node.shape else id(node.source)
                found.append((source, node.shape, node.offset, node.strides))
            else:
                found.append((node.op, node.shape, node.dtype, [place[id(a)] for a in node.args]))
    return found


def programs() -> list[Any]:
    rng = np.random.default_rng(0)
    a, b, u = (sc.asarray(rng.normal(size=shape)) for shape in ((40, 30), (40, 30), (30,)))
    n = sc.arange(30)
    return [
        *(
            sc.roll(x, k, axis) * y
            for k in (1, -1, 3)
            for axis in (0, 1)
            for x, y in ((a, b), (b, a))
        ),
        *(sc.roll(x, 1, 0) + sc.roll(x, -1, 1) - y for x, y in ((a, a), (a, b), (b, a), (b, b))),
        *(sc.roll(sc.roll(x, 1, 0) * 2 + y, 1, 0) for x, y in ((a, a), (a, b), (b, b))),
        *(sc.concatenate([x, n, u])[::step] * 2 for x in (u, n) for step in (1, 2, -1)),
        *(sc.stack([x, y]) + z for x, y, z in ((u, u, u), (u, n, u), (n, n, u))),
        *(sc.pad(x, 1) * k for x in (a, b) for k in (2.0, 3.0)),
        *(sc.pad(x, 1).sum(axis=0) for x in (a, b, a * 2)),
        *(sc.pad(n[: k + 1], 1)[k] + u for k in (0, 1)),
        *(sc.roll(x, 2).argmax() for x in (u, n)),
    ]


def test_regions_from_memory_are_those_of_a_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program beside all others, as the first of its kind and as a later one."""
    cuts = 0

    def counted(root: Any, extra: Any) -> list[Box]:
        nonlocal cuts
        cuts += 1
        return split(root, extra)

    def checked(root: Any, extra: Any) -> list[Box]:
        boxes = again.split_again(root, extra)
        assert [shown(box) for box in boxes] == [shown(box) for box in split(root, extra)]
        return boxes

    monkeypatch.setattr(again, "split", counted)
    monkeypatch.setattr(regions, "split_again", checked)
    values = [array.compute(on="core") for array in programs()]
    first = cuts
    assert 20 < first < 2 * len(values)
    memory._known.clear()
    for array, value in zip(programs(), values, strict=True):
        assert array.compute(on="core").tobytes() == value.tobytes()
    assert cuts == first


def test_steps_of_a_loop_are_cut_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cuts = []
    monkeypatch.setattr(again, "split", lambda *what: cuts.append(what) or split(*what))
    data = np.random.default_rng(1).normal(size=(200, 300))
    u, v = sc.asarray(data), data
    for _ in range(30):
        u = u + 0.1 * (sc.roll(u, 1, 0) + sc.roll(u, -1, 0) - 2 * u)
        v = v + 0.1 * (np.roll(v, 1, 0) + np.roll(v, -1, 0) - 2 * v)
    assert len(u.plan(on="core").stages) > 5
    np.testing.assert_array_equal(u.compute(on="core"), v)
    assert len(cuts) <= 4


def test_no_array_of_a_user_is_kept() -> None:
    data = np.random.default_rng(2).normal(size=(200, 300))
    gone = weakref.ref(data)
    u = sc.roll(sc.asarray(data), 1, 0) * 2
    u.compute(on="core")
    assert again._known
    del data, u
    gc.collect()
    assert gone() is None
