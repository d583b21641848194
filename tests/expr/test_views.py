"""Elements of what follows from its position are numbers: one kernel for all of them."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.small import templates
from speedcube.engine.stepwise import choice
from speedcube.expr import views
from speedcube.expr.nodes import Const, Leaf, whole
from speedcube.expr.sources.read import Position


def test_an_element_of_a_range_is_a_number() -> None:
    positions = whole(Position(), (2, 3, 4))
    one = views.index(positions, (1, 2, 3))
    assert isinstance(one, Leaf)
    assert one.source == Const(23, "int64")
    row = views.index(positions, (1, 2))
    assert isinstance(row, Leaf)
    assert type(row.source) is Position
    assert sc.arange(24).reshape(2, 3, 4)[1, 0, ::2][1].compute() == 14


def test_elements_of_what_is_made_of_a_range_share_a_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They had one each: 200 steps of a filter over sines took 3.5 seconds."""
    made = [0]
    prepared = templates._prepared

    def counted(*args: object, **keywords: object) -> object:
        made[0] += 1
        return prepared(*args, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(templates, "_prepared", counted)
    wave = np.sin(0.37 * sc.arange(60)) + 0.125
    with choice.limited_to(choice.MOST, choice.FIRST), np.errstate(all="ignore"), sc.on("core"):
        found = [float(wave[k] * 2) for k in range(60)]
    assert made[0] < 12
    assert found == (wave * 2).tolist()
