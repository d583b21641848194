"""Arrays in a notebook: their drawings keep proportions and labels, and their text is only text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import dask.array as da
import numpy as np
import pytest

import speedcube as sc
from speedcube.api.pictures.drawing import LONGEST, SHORTEST, drawing
from speedcube.api.pictures.svg import FONT, text_width
from speedcube.engine import compute as compute_module
from speedcube.engine.known import by_plan

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = [
    (), (7,), (0,), (3, 4), (4, 0), (1, 1), (2_000_000, 1), (1, 2_000_000), (2, 3, 4), (0, 3, 4),
    (1, 1, 10**12), (10**12, 1, 1), (1, 10**12, 1), (5, 2, 3, 4), (2,) * 12,
    (10**9, 10**9, 3, 4, 5),
]  # fmt: skip


def _corners(face: Any) -> list[tuple[float, float]]:
    return [tuple(map(float, point.split(","))) for point in face.get("points").split()]  # type: ignore[misc]


def _size(face: Any) -> tuple[float, float]:
    xs, ys = zip(*_corners(face), strict=True)
    return max(xs) - min(xs), max(ys) - min(ys)


@pytest.mark.parametrize("shape", SHAPES)
def test_all_of_a_drawing_lies_in_its_frame(shape: tuple[int, ...]) -> None:
    root = ElementTree.fromstring(drawing(shape, tuple((n,) for n in shape)))
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for face in root.iter(SVG + "polygon"):
        assert all(0 < x < width and 0 < y < height for x, y in _corners(face))
    for label in root.iter(SVG + "text"):
        wide = text_width(str(label.text))
        left = (
            float(label.attrib["x"])
            - wide * {"start": 0, "middle": 0.5, "end": 1}[label.attrib["text-anchor"]]
        )
        assert left >= 0
        assert left + wide <= width
        assert FONT * 0.7 <= float(label.attrib["y"]) <= height
    faces = [*root.iter(SVG + "polygon")]
    assert len(faces) == (3 if len(shape) > 2 else 1)
    texts = [str(label.text) for label in root.iter(SVG + "text")]
    more = [" x ".join(f"{n:,}" for n in shape[:-3]) + " of these"] if len(shape) > 3 else []
    assert sorted(texts) == sorted([*more, *(f"{n:,}" for n in shape[-3:])])


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [
        ((3, 4), (LONGEST, LONGEST * 3 / 4)),
        ((200, 50), (LONGEST / 4, LONGEST)),
        ((2_000_000, 1), (SHORTEST, LONGEST)),
        ((9,), (LONGEST, SHORTEST)),
        ((), (SHORTEST, SHORTEST)),
        ((5, 3, 4), (LONGEST * 4 / 5, LONGEST * 3 / 5)),
        ((0,), (SHORTEST, SHORTEST)),
    ],
)
def test_the_front_has_the_proportions_of_the_last_axes(shape: Any, wanted: Any) -> None:
    front = next(ElementTree.fromstring(drawing(shape)).iter(SVG + "polygon"))
    assert _size(front) == pytest.approx(wanted, abs=0.11)


def test_it_says_what_is_not_to_scale_and_what_is_empty() -> None:
    assert "<title>3 x 4</title>" in drawing((3, 4))
    assert "(short sides are drawn longer)</title>" in drawing((300, 4))
    assert "<title>one number</title>" in drawing(())
    assert "stroke-dasharray" in drawing((4, 0, 2))
    assert "stroke-dasharray" not in drawing((4, 1, 2))


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        (((4,), (6,)), 0),
        (((2, 2), (2, 2, 2)), 3),
        (((1,) * 4, (1,) * 6), 8),
        (((1,) * 25, (6,)), 0),  # too many to be seen
    ],
)
def test_borders_of_few_chunks_are_drawn(chunks: Any, lines: int) -> None:
    shape = tuple(map(sum, chunks))
    assert drawing(shape, chunks).count("<polyline") == lines
    first = re.search(r'<polyline points="([^"]*)"', drawing((4, 6), ((1, 3), (6,))))
    assert first is not None
    assert first[1].split()[0].endswith(f",{2 + LONGEST * 4 / 6 / 4:.1f}")  # a quarter down


# The table ---------------------------------------------------------------------------------------


class _Seen(HTMLParser):
    """Tags, attributes' names and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.names, self.words = set[str](), set[str](), list[str]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.names |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def rows(self) -> dict[str, str]:
        return dict(zip(self.words[::2], self.words[1::2], strict=False))


def _rows(array: Any) -> dict[str, str]:
    return _Seen(array._repr_html_().split("<svg")[0]).rows


def test_it_tells_shape_dtype_bytes_chunks_and_expression() -> None:
    x = sc.random.default_rng(0).normal(size=(4000, 6000), chunks=(1000, 2000))
    assert _rows(sc.exp(x) + 1) == {
        "shape": "(4000, 6000)",
        "dtype": "float64",
        "bytes": "192 MB",
        "chunks": "12 of at most 1,000 x 2,000",
        "expression": "exp(normal(0, 1)) + 1",
    }
    assert _rows(x.sum())["shape"] == "()"
    assert "chunks" not in _rows(x.sum())
    assert _rows(sc.zeros((0, 3)))["bytes"] == "0 B"


def test_small_arrays_in_memory_show_their_values() -> None:
    table = np.arange(12.0).reshape(3, 4)
    assert (
        _rows(sc.asarray(table)[::2, ::-1])["values"] == "[[ 3.  2.  1.  0.]\n [11. 10.  9.  8.]]"
    )
    assert "..." in _rows(sc.asarray(np.arange(1000)))["values"]
    assert "values" not in _rows(sc.asarray(np.arange(1001)))
    assert "values" not in _rows(sc.asarray(table) + 1)
    assert "values" not in _rows(sc.asarray(np.empty((0, 3))))
    assert table.flags.writeable
    table[0, 0] = 5
    assert _rows(sc.asarray(table)[:1, :2])["values"] == "[[5. 1.]]"


def test_nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("computed")

    monkeypatch.setattr(compute_module, "compute", refuse)
    monkeypatch.setattr(by_plan, "build_graph", refuse)
    lazy = sc.from_dask_array(da.ones((4, 4), chunks=2).map_blocks(refuse, dtype=float))
    assert "bytes" in _rows(lazy * 2)


@pytest.mark.parametrize(
    "name", ["<script>alert(1)<|script>", "\"' onload=x '\"", "a\x1b[31m\u202eb", "x" * 200]
)
def test_names_of_others_are_text_and_no_more(tmp_path: Path, name: str) -> None:
    file = tmp_path / ("y" * 200) / f"{name}.npy"
    file.parent.mkdir()
    np.save(file, np.ones((4, 4)))
    many = sum((sc.open(file) * k for k in range(2, 9)), sc.open(file))
    seen, plain = _Seen(many._repr_html_()), _Seen((sc.ones((4, 4)) + 1)._repr_html_())
    assert seen.tags == plain.tags
    assert seen.names == plain.names
    assert seen.rows["expression"].count(name[:1]) > 1
    assert len(seen.rows["expression"]) < 700
    assert not {"\x1b", "\u202e"} & {*many._repr_html_()}


def test_long_programs_are_shown_without_a_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """10,000 nodes: neither laws nor chunks of what is long are worked out for a picture."""
    stored, y = sc.asarray(np.ones((2000, 2000))), sc.ones((2000, 2000))
    for _ in range(5000):
        y = y * 1.5 + stored
    monkeypatch.setattr("speedcube.api.pictures.page.law_warnings", None)  # would raise
    rows = _rows(y)
    assert rows["expression"].endswith("; laws: .explain()")
    assert rows["expression"].count("...") == 1
    for _ in range(100):
        y = y[1:-1]
    assert "chunks" not in _rows(y)
    monkeypatch.undo()
    assert _rows(sc.linalg.inv(stored))["expression"].count("no law: LAPACK") == 1


@pytest.mark.parametrize("array", [sc.ones((3, 4)) + 1, sc.asarray(np.eye(3))])
def test_colours_follow_the_page(array: Any) -> None:
    page = array._repr_html_()
    assert "<style" not in page  # what nobody vouches for is shown without it
    assert set(re.findall(r'<text[^>]*fill="([^"]*)"', page)) == {"currentColor"}
    inks = set(re.findall(r"(?:fill|stroke):(?!none)([^;]*)", page.replace("&#x27;", "'")))
    assert all("--jp-brand-color1" in one and "--vscode-charts-blue" in one for one in inks)
    assert not re.search(r"(?<![-\w])color:(?!inherit)|background:(?!none)", page)
