"""`train.reports`: a run's directory as curves, figures and a page, for any program."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from speedcube.errors import DataFileError, ParameterError
from speedcube.train import reports
from speedcube.train.metrics.rows import MetricsFile


def run(out: Path, *losses: float) -> Path:
    """The directory of a run whose rank 0 reported these losses, one a second."""
    out.mkdir()
    with MetricsFile(out / "metrics.jsonl") as file:
        file.write({"event": "start", "time": 0.0})
        for step, loss in enumerate(losses, 1):
            file.write({"step": step, "rank": 0, "attempt": 0, "time": float(step),
                        "seconds": float(step), "metrics": {"loss": loss}})  # fmt: skip
    return out


def test_a_runs_directory_becomes_a_figure_and_a_page(tmp_path: Path) -> None:
    points = reports.points(reports.read_run(run(tmp_path / "a", 0.5, 0.25)))
    loss = reports.series(points, "loss")
    assert [(point.step, value) for point, value in loss] == [(1, 0.5), (2, 0.25)]
    figure = reports.curves_figure([("<fit>", loss), ("$b", loss[:1])], "the loss", target=0.3)
    left, right = figure.axes
    assert left.get_xlabel() == "step"  # no epochs are reported
    assert left.get_ylabel() == "the loss"
    assert [line.get_label() for line in left.lines[:2]] == ["<fit>", "\\$b"]
    assert list(right.lines[0].get_ydata()) == [0.5, 0.25]
    assert list(right.lines[2].get_ydata()) == [0.3, 0.3]
    html = reports.html_page("A <fit>", [reports.drawing(figure, "loss"), reports.heading("&")])
    assert html.startswith("<!DOCTYPE html>")
    assert "<h1>A &lt;fit&gt;</h1>" in html
    assert html.count("<svg") == 1
    assert reports.save_figure(figure, tmp_path / "a.svg") is figure
    assert "the loss</text>" in (tmp_path / "a.svg").read_text()


def test_what_is_no_run_and_no_figure_is_told(tmp_path: Path) -> None:
    assert reports.read_run(tmp_path) == []
    (tmp_path / "metrics.jsonl").write_text('{"event": "start", "time": 1}\nloss 0.5\n')
    with pytest.raises(DataFileError, match="line 2: not a JSON object"):
        reports.read_run(tmp_path)
    (tmp_path / "metrics.jsonl").write_text('{"event": "start", "time": 1}\n{}\n')
    with pytest.raises(DataFileError, match="line 2: its step is missing, not an integer"):
        reports.read_run(tmp_path)
    with pytest.raises(ParameterError, match=r"'a\.pdf': a figure is a \.png or a \.svg file"):
        reports.save_figure(reports.curves_figure([], "loss"), "a.pdf")


def test_reports_know_nothing_of_sweeps() -> None:
    """Sweeps use them, and so do programs without a sweep."""
    for path in Path(reports.__file__).parent.glob("*.py"):
        imported = [node for node in ast.walk(ast.parse(path.read_text()))
                    if isinstance(node, ast.ImportFrom)]  # fmt: skip
        assert not [node.module for node in imported if "sweeps" in (node.module or "")], path
