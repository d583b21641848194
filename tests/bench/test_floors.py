"""bench/floors.py: what its table covers, who judges a row, and the page that shows it."""

from __future__ import annotations

import os
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import floors
import numpy as np
import pytest
from speed import data, libraries, measure, one, page, programs, report, rows, run, table, verdict
from speed.rows import SHAPES, Row

import speedcube as sc
from speedcube.ops import OPS

ROOT: Final = Path(__file__).parents[2]
SMALL: Final = {2: (6, 4), 1: (8,), 3: (12, 4, 3)}
PROGRAMS: Final = (
    "asian_option blur climate distances double_difference heat image_levels life "
    "look_back_option mandelbrot masked_means monte_carlo_pi quadratic_means rolling_mean "
    "standardise vorticity"
)
ROW: Final = Row("reductions", "x.sum(axis=0)", "square", terms=2000)
QUICK: Final = measure.Patience(seconds=0.0, pairs=2)

# The table ----------------------------------------------------------------------------------------


def test_the_table_is_large_and_its_rows_have_names_of_their_own() -> None:
    assert len(table.ROWS) >= 120
    assert len(table.BY_NAME) == len(table.ROWS)
    assert {row.shape for row in table.ROWS} == set(SHAPES)
    assert {row.layout for row in table.ROWS} == set(rows.LAYOUTS)
    assert {row.values for row in table.ROWS} <= {*data.RANGES, *data.MAKERS}
    assert {row.stored for row in table.ROWS} == {True, False}


def test_every_public_operation_and_reduction_has_a_row() -> None:
    assert table.not_covered() == []
    assert set(table.NO_OPERATIONS) <= set(sc.__all__)
    named = {name for row in table.ROWS for name in re.findall(r"\.(\w+)", row.text)}
    assert {name for name in OPS if name != "cast" and hasattr(sc, name)} <= named
    for axis in ("()", "(axis=0)", "(axis=1)"):
        for name in ("sum", "mean", "var", "std", "max", "argmax", "any", "all", "prod"):
            assert f"x.{name}{axis}" in {row.text for row in table.ROWS}


def test_what_has_no_row_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [row for row in table.ROWS if "hypot" not in row.text]
    monkeypatch.setattr(table, "ROWS", kept)
    assert table.not_covered() == ["hypot"]


def test_exact_sums_of_floats_are_known_as_such() -> None:
    sums = re.compile(r"^x\.(sum|mean|var|std)\(|^np\.(dot|vdot|vecdot|matmul)\(")
    for row in table.ROWS:
        if row.stored and sums.match(row.text):
            assert bool(row.terms) == (np.dtype(row.dtype).kind == "f"), row.name
        assert not row.terms or "cum" not in row.text, row.name


def small(row: Row) -> Row:
    """The row on arrays of a few elements."""
    return replace(row, shape="small " + row.shape)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, (on_cpu, _) in list(SHAPES.items()):
        shape = {"climate": (240, 4, 3), "square": (6, 6)}.get(name, SMALL[len(on_cpu)])
        monkeypatch.setitem(SHAPES, f"small {name}", (shape, shape))


@pytest.mark.usefixtures("tiny")
def test_numpy_runs_every_text() -> None:
    library, held = libraries.numpys(), data.Arrays(np)
    for row in map(small, table.ROWS):
        text = row.text.replace("(12, 20, 100, 200)", "(12, 20, 4, 3)")
        shape = data.shape_of(row, "core")
        arrays = held.of(row, set("xyij") & set(compile(text, "", "eval").co_names), shape)
        names = {"np": library.names, "shape": shape, "n": shape[0], **arrays}
        value = libraries.result_of(eval(text, names))
        assert value is not None, row.name


@pytest.mark.slow
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("column", rows.ON_CPU)
def test_every_row_runs_and_is_right(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "Patience", lambda: QUICK)
    monkeypatch.setattr(measure, "BY_CHANCE", np.inf)
    for row in table.ROWS:
        if "(12, 20" in row.text:
            continue
        known: dict[str, Any] = {}
        one.row(small(row), column, known.update)
        assert "wrong" not in known, (row.name, known)
        assert "error" not in known, (row.name, known)


# Judgement ----------------------------------------------------------------------------------------


def beside(ours: str, theirs: str, x: Any) -> dict[str, Any]:
    """What is told of two texts, ours on one core."""
    known: dict[str, Any] = {}
    sides = []
    for library, text in ((libraries.ours("core"), ours), (libraries.numpys(), theirs)):
        names = {"np": library.names, "x": library.wrap(x)}
        sides.append((library, one.text_of(compile(text, "", "eval"), names)))
    measure.measured(sides[0], sides[1], known.update, patience=QUICK, dtype=str(x.dtype))
    return known


def test_a_right_result_has_a_ratio_and_a_wrong_one_has_none() -> None:
    x = np.arange(12.0).reshape(3, 4)
    right = beside("x.sum(axis=0), x.max()", "x.sum(axis=0), x.max()", x)
    assert len(right["ours"]) == len(right["theirs"]) == 2
    assert right["ratio"] > 0
    assert re.fullmatch(r"[0-9a-f]{16}", right["bits"])
    for text, fault in (
        ("x.sum(axis=0) + 1 / 64", "12.015625 instead of 12.0 at (0,)"),
        ("x.sum(axis=1)", "shape (3,) instead of (4,)"),
        ("x.sum(axis=0), x.max()", "one result, and several"),
        ("x.sum(axis=0) * np.asarray(0.0) / 0", "nan instead of 12.0 at (0,)"),
    ):
        wrong = beside(text, "x.sum(axis=0)", x)
        assert wrong["wrong"] == fault
        assert "ratio" not in wrong
        judged = verdict.verdict(wrong, 0.0)
        assert judged.short
        assert page.cell(judged) == "**wrong**"


def test_integers_must_be_equal_and_random_numbers_alike() -> None:
    a = np.arange(10)
    assert measure.wrong(a, a.copy(), False, "int64") is None
    assert measure.wrong(a + (a == 3), a, False, "int64") == "4.0 instead of 3.0 at (3,)"
    assert measure.wrong(a + 1e-12, a * 1.0, False) is None
    assert measure.wrong(a + 0.1, a * 1.0, True) is None
    assert measure.wrong(a * 1.2, a * 1.0, True) == "5.4 instead of 4.5"


def test_what_one_library_lacks_is_said() -> None:
    x = np.ones(3)
    assert beside("np.absent(x)", "x", x)["error"] == "AttributeError: speedcube has no absent"
    alone = beside("x + 1", "np.absent(x)", x)
    assert alone["why"] == "AttributeError: numpy has no absent"
    assert verdict.verdict(alone, 0.8) == verdict.Verdict(None, "-", False)


@pytest.mark.parametrize(
    ("changes", "column", "today", "least"),
    [
        ({}, "core", None, 0.7),
        ({}, "cores", None, 0.7),
        ({}, "gpu", None, 0.8),
        ({"terms": 0}, "core", None, 0.8),
        ({"terms": 15}, "core", None, 0.5),
        ({"dtype": "float32"}, "core", None, 0.5),
        ({"dtype": "float32", "shape": "steps"}, "core", None, 0.7),
        ({"terms": 0, "as_today": True}, "core", 0.5, 0.45),
        ({"terms": 0, "as_today": True}, "core", 2.0, 0.8),
        ({"terms": 0, "as_today": True}, "core", None, 0.8),
    ],
)
def test_floors(changes: dict[str, Any], column: str, today: float | None, least: float) -> None:
    assert rows.floor(replace(ROW, **changes), column, today) == pytest.approx(least)


def test_a_row_that_falls_short_is_bold() -> None:
    ratio = {"core": {"ratio": 0.69, "bits": "a"}, "cores": {"ratio": 0.71, "bits": "a"}}
    first, second = (verdict.of_row(ROW, column, ratio, {}) for column in ("core", "cores"))
    assert [page.cell(first), page.cell(second)] == ["**0.69**", "0.71"]
    other = verdict.of_row(ROW, "cores", {**ratio, "core": {"ratio": 1.0, "bits": "b"}}, {})
    assert other.short
    assert other.fault == "other bits than on one core"
    assert verdict.of_row(ROW, "gpu", ratio, {}) == verdict.NOTHING
    for result, text in (
        ({"error": "x"}, "**fails**"),
        ({"not ended within": 8.0}, "**no end**"),
        ({"not ended within": 8.0, "at most": 0.02}, "**< 0.02**"),
    ):
        assert page.cell(verdict.verdict(result, 0.8)) == text


# Processes ----------------------------------------------------------------------------------------


def serve(connection: Any) -> None:
    """Does what it is asked for: to answer, to be silent, to die."""
    while True:
        kind, name, _ = connection.recv()
        if kind == "silence":
            connection.send({"their time": 0.001})
            time.sleep(600)
        if kind == "nothing":
            time.sleep(600)
        if kind == "death":
            os._exit(3)
        connection.send({"name": name})
        connection.send({"pid": os.getpid()})
        connection.send(None)


def test_no_row_holds_the_others_up() -> None:
    with run.Runner(serve) as runner:
        first = runner.measure(("answer", "a", "core"), 30.0)
        assert runner.measure(("answer", "b", "core"), 30.0) == {"name": "b", "pid": first["pid"]}
        silent = runner.measure(("silence", "c", "core"), 0.2)
        assert silent == {"not ended within": 0.2, "at most": pytest.approx(0.005)}
        again = runner.measure(("answer", "d", "core"), 30.0)
        assert again["pid"] != first["pid"]
        assert runner.measure(("nothing", "c", "core"), 0.2) == {
            "why": "the other did not end within 0.2 s"
        }
        dead = runner.measure(("death", "e", "core"), 30.0)
        assert dead == {"error": "the process ended with exit code 3"}
        process = runner.process
        assert runner.measure(("answer", "f", "core"), 30.0)["name"] == "f"
    assert process is None
    assert runner.process is None


def test_parts_are_all_of_it_in_order() -> None:
    every = [("row", str(k), "core") for k in range(10)]
    parts = [floors.part_of(every, f"{k}/3") for k in (1, 2, 3)]
    assert [each for part in parts for each in part] == every
    assert max(map(len, parts)) == 4
    with pytest.raises(SystemExit, match="K from 1 to N"):
        floors.part_of(every, "4/3")
    asked = list(floors.asked(rows.ON_CPU))
    assert len(asked) == 2 * len(table.ROWS) + len(programs.names())
    assert {name for _, name, _ in floors.asked(("gpu",))} == {name for _, name, _ in asked}


# Programs -----------------------------------------------------------------------------------------


def test_all_programs_are_there_with_one_import_to_change() -> None:
    assert set(PROGRAMS.split()) <= set(programs.names())
    for name in programs.names():
        ours, numpys = programs.loaded(name, "speedcube"), programs.loaded(name, "numpy")
        assert (ours.np, numpys.np) == (sc, np)
        assert numpys.__doc__
        assert callable(numpys.data)
        assert callable(numpys.run)


def test_a_program_runs_with_its_import_changed() -> None:
    pi = programs.loaded("monte_carlo_pi", "speedcube").run(100_000)
    assert isinstance(pi, sc.Array)
    assert float(pi) == pytest.approx(3.14, abs=0.03)
    x = np.random.default_rng(0).normal(size=(40, 50))
    ours = programs.loaded("double_difference", "speedcube").run(sc.asarray(x))
    theirs = programs.loaded("double_difference", "numpy").run(x)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.compute(), b)


# The page -----------------------------------------------------------------------------------------


def test_the_page_is_what_its_files_say() -> None:
    whole, today = report.kept(ROOT)
    text = (ROOT / "docs" / "speed.md").read_text()
    assert page.page(whole, today) == text, "run python bench/floors.py --page"
    assert {"core", "cores"} <= set(whole["from"])
    absent = {row.name for row in table.ROWS} - set(whole["rows"])
    assert absent == set(), "these rows were not measured"
    assert set(programs.names()) == set(whole["programs"])


def test_every_row_stands_on_the_page_and_those_that_fall_short_in_bold() -> None:
    first = table.ROWS[0]
    found = {row.name: {c: {"ratio": 1.0, "bits": "a"} for c in rows.ON_CPU} for row in table.ROWS}
    found[first.name]["core"] = {"ratio": 0.01, "bits": "a"}
    machine = {"processor": "P", "cores": 2, "simd": "avx2", "numpy": "2", "dask": "1"}
    whole = {"columns": list(rows.ON_CPU), "command": "c", "date": "2026-01-01T00:00:00",
             "machine": machine, "load": {"before": [0.0], "after": [0.0]}, "rows": found,
             "programs": {"blur": {"core": {"error": "E: <a> | b"}}}}  # fmt: skip
    kept = report.merged([("file.json", whole)])
    text = page.page(kept, kept)
    for row in table.ROWS:
        start = f"| `{row.text}` | {page.data_text(row)} | {page.floor_text(row)} |"
        assert f"{start} {'**0.01**' if row is first else '1.00'} | 1.00 |" in text, row.name
    assert "| rows below their floor | 0 | **1 of" in text
    assert "| `blur` | one core beside NumPy | E: (a) / b |" in text
    assert text.count("**0.01**") == 1
    assert "| the slowest program | 1.0 | **1 fail** |  |  |" in text


def test_reports_are_written_short_and_read_again() -> None:
    text = report.written({"a": {"ours": [1.23456789e-5, 2.0], "bits": "x"}, "b": (0.5,)})
    assert text == '{\n "a": {\n  "ours": [1.235e-05, 2.0],\n  "bits": "x"\n },\n "b": [0.5]\n}\n'
