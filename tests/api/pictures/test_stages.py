"""``y.visualize()``: the plan's stages as SVG, each in a box, with an arrow from what it reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.pictures.stages import PlanPicture, _lanes
from speedcube.api.pictures.svg import text_width
from speedcube.engine import compute as compute_module

SVG = "{http://www.w3.org/2000/svg}"


def _program() -> Any:
    x = sc.random.default_rng(0).normal(size=(400, 600))
    y = (x - x.mean(axis=0)) / x.std(axis=0)
    return sc.sort((y * y).sum(axis=1)) + x.max()


def _long() -> Any:
    y = sc.random.default_rng(0).normal(size=(50, 60))
    for _ in range(50):
        y = y - y.mean(axis=0)
    return y


def _root(shown: Any) -> Any:
    return ElementTree.fromstring(str(shown))


def _words(root: Any) -> list[str]:
    return [str(one.text) for one in root.iter(SVG + "text")]


def _points(one: Any) -> list[tuple[float, ...]]:
    return [tuple(map(float, point.split(","))) for point in one.get("points").split()]


def test_each_stage_has_a_box_with_the_plans_words() -> None:
    y = _program()
    plan = y.plan(on="cores:2")
    root = _root(y.visualize(on="cores:2"))
    boxes = [one for one in root.iter(SVG + "polygon") if "dasharray" not in one.get("style")]
    assert len(boxes) == len(plan.stages) == 6
    told = " ".join(_words(root))
    assert "Plan on cores:2, 2 workers" in told
    lines = [one.strip() for one in str(plan).split("\n") if one.startswith("  stage ")]
    assert len(lines) == 6
    for one in lines:
        assert one in told


@pytest.mark.parametrize("make", [_program, _long, lambda: sc.ones(3), lambda: sc.zeros((0, 4))])
def test_all_of_it_lies_in_its_frame(make: Any) -> None:
    root = _root(make().visualize(on="core"))
    _, _, width, height = map(float, root.get("viewBox").split())
    for one in [*root.iter(SVG + "polygon"), *root.iter(SVG + "polyline")]:
        assert all(0 <= x <= width and 0 <= y <= height for x, y in _points(one))
    for one in root.iter(SVG + "text"):
        assert 0 <= float(one.get("x")) <= width - text_width(one.text)
        assert 0 < float(one.get("y")) < height
    assert {one.get("fill") for one in root.iter(SVG + "text")} == {"currentColor"}


def test_arrows_join_what_reads_with_what_is_read() -> None:
    x = sc.random.default_rng(0).normal(size=(400, 600))
    root = _root((x - x.mean(axis=0)).visualize(on="core"))
    boxes = [_points(one) for one in root.iter(SVG + "polygon")]
    arrows = [one for one in root.iter(SVG + "polyline") if len(one.get("points").split()) == 2]
    assert len(boxes) == 3  # the head and two stages
    (arrow,) = map(_points, arrows)
    assert arrow[0][1] == pytest.approx(boxes[1][2][1], abs=0.11)  # from the lower edge of one
    assert arrow[1][1] == pytest.approx(boxes[2][0][1], abs=0.11)  # to the upper edge of the next


def test_lines_at_the_left_do_not_lie_on_each_other() -> None:
    assert _lanes([(1, 2), (1, 3), (2, 4), (4, 6), (1, 9)]) == [0, 1, 2, 1, 3]
    assert max(_lanes([(0, k) for k in range(2, 40)])) == 12


def test_a_long_plan_shows_its_ends() -> None:
    y = _long()
    count = len(y.plan(on="core").stages)
    assert count == 57
    words = _words(_root(y.visualize(on="core")))
    assert f"... {count - 40} stages more ..." in words
    numbers = [int(one.split()[1].rstrip(":")) for one in words if one.startswith("stage ")]
    assert numbers == [*range(20), *range(count - 20, count)]


def test_it_is_shown_or_written_and_computes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute_module, "compute", None)
    y = sc.asarray(np.ones((4, 5))).sum()
    made = y.visualize()
    assert isinstance(made, PlanPicture)
    assert made._repr_svg_() == str(made)
    assert repr(made).startswith("<PlanPicture: ")
    assert list(tmp_path.iterdir()) == []
    for name in ("a", "b.svg", "c.SVG"):
        y.visualize(tmp_path / name)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["a.svg", "b.svg", "c.SVG"]
    assert {one.read_text() for one in tmp_path.iterdir()} == {str(made)}
    with pytest.raises(FileNotFoundError):
        y.visualize(tmp_path / "no" / "place.svg")
    with pytest.raises(sc.errors.RungError, match="unknown rung 'quick'"):
        y.visualize(on="quick")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ({"filename": "g.png"}, ("g.png", None, False, {})),
        ({"format": "pdf"}, ("mydask", "pdf", False, {})),
        ({"filename": "g", "format": "dot"}, ("g", "dot", False, {})),
        ({"rankdir": "LR"}, ("mydask", None, False, {"rankdir": "LR"})),
        ({"optimize_graph": True}, ("mydask", None, True, {})),
    ],
)
def test_dasks_words_are_for_dasks_drawing(
    words: Any, wanted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def visualize(self: Any, *given: Any, **others: Any) -> str:
        asked.append((*given, others))
        return "dask's"

    monkeypatch.setattr("dask.array.Array.visualize", visualize)
    assert sc.ones((4, 4)).visualize(**words) == "dask's"
    assert asked == [wanted]
