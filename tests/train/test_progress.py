"""The live table and its lines, read from a recorded console."""

from __future__ import annotations

import io
import math
import re
import sys
import time
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from speedcube.train.metrics import progress
from speedcube.train.metrics.progress import Progress
from speedcube.train.metrics.rows import Row
from speedcube.train.metrics.summary import Summary, spread


def row(step: int, rank: int = 0, attempt: int = 0, at: float | None = None, **values: Any) -> Row:
    at = float(step) if at is None else at
    return {
        "step": step,
        "rank": rank,
        "attempt": attempt,
        "time": 1.7e9 + at,
        "seconds": at,
        "metrics": values,
    }


def text(summary: Summary, width: int = 100) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(summary.table())
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_the_table_has_what_the_ranks_differ_in() -> None:
    summary = Summary("names", 3, total=500)
    for rank, loss in ((2, 0.75), (1, 0.123456789), (0, 0.25)):
        summary.add(row(8, rank, at=4.0, loss=loss, lr=1e-3, note="warm", epoch=7))
    summary.add(row(9, 1, loss=9.0))  # not yet reported by the others
    summary.checkpoint = 6
    assert text(summary) == [
        "names, 3 ranks: step 8 of 500, 4.0 s, checkpoint of step 6",
        "loss    0.25  0.12346 .. 0.75",
        "lr     0.001",
        "note    warm",
        "epoch      7",
    ]


def test_a_narrow_terminal_cuts_names_and_spreads_and_never_values() -> None:
    summary = Summary("names", 2)
    for rank, loss in ((0, 0.25), (1, 0.75)):
        summary.add(row(8, rank, at=4.0, loss=loss, **{"a_name_longer_than_the_terminal": 12.5}))
    loss, cut = text(summary, 30)[-2:]
    assert re.fullmatch(r"loss +0\.25  0\.25 .*…", loss)
    assert re.fullmatch(r"a_name_\w*…  12\.5", cut)


def test_rate_and_time_left_come_from_the_last_steps() -> None:
    summary = Summary("names", 1, total=100)
    for step in range(1, 51):
        summary.add(row(step, at=step * 10.0, loss=0.5))  # slow
    for step in range(51, 91):
        summary.add(row(step, at=500 + (step - 50) * 0.5, loss=0.5))  # the last 40: two a second
    assert summary.heading() == "step 90 of 100, 8 min 40 s, 2 steps/s, 5.0 s left"
    assert Summary("names", 1).heading() == "no step reported yet"


def test_the_rate_of_many_steps_a_second_spans_ten_seconds() -> None:
    summary = Summary("names", 1)
    for step in range(1, 20_001):
        summary.add(row(step, at=step / 1000 if step <= 10_000 else 10 + (step - 10_000) / 500))
    assert summary.rate() == pytest.approx(500)


def test_a_restart_begins_a_new_rate() -> None:
    summary = Summary("names", 1, total=10)
    for step in range(1, 6):
        summary.add(row(step, loss=0.5))
    summary.add(row(3, attempt=1, at=40.0, loss=0.5))
    assert summary.heading() == "step 3 of 10, 40.0 s"
    summary.add(row(5, attempt=1, at=41.0, loss=0.5))
    assert summary.heading() == "step 5 of 10, 41.0 s, 2 steps/s, 2.5 s left"


def test_names_and_values_are_no_markup() -> None:
    summary = Summary("[red]names", 1)
    summary.add(row(1, **{"[bold]loss": 0.5, "note": "[/]\n:smile:"}))
    assert text(summary) == [
        "[red]names, 1 rank: step 1, 1.0 s",
        "[bold]loss          0.5",
        "note        [/] :smile:",
    ]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({0: 0.5, 1: 0.5}, ""),
        ({0: 0.5}, ""),
        ({0: 2, 3: 1.0, 1: 3}, "1 .. 3"),
        ({0: 0.5, 3: math.nan, 2: 0.5}, "NaN at rank 3"),
        ({0: math.nan, 1: math.nan}, ""),
        ({0: -math.inf, 1: math.inf}, "-inf .. inf"),
        ({0: "a", 1: "b"}, "differs between ranks"),
        ({0: None, 1: 1}, "differs between ranks"),
    ],
)
def test_how_ranks_differ(values: dict[int, Any], says: str) -> None:
    assert spread(values) == says


def lines(file: io.StringIO) -> list[str]:
    return file.getvalue().splitlines()


def test_where_there_is_no_terminal_lines_come_now_and_then() -> None:
    file, clock = io.StringIO(), SimpleNamespace(now=0.0)
    shown_ = Progress("names", 2, console=Console(file=file, width=40), clock=lambda: clock.now)
    shown_.event("waiting: 2 of 4 GPUs are taken")
    for step in range(1, 101):
        clock.now = step * 1.0
        shown_.update(row(step, 0, loss=1 / step, lr=0.1))
        shown_.update(row(step, 1, loss=0.5, lr=0.1))
    shown_.checkpoint(90)
    shown_.event("rank 1 died; restart 1 of 2")
    shown_.close("finished")
    assert lines(file) == [
        "names: waiting: 2 of 4 GPUs are taken",
        "names: step 1, 1.0 s, loss 1 (0.5 .. 1), lr 0.1",
        "names: step 30, 30.0 s, 1 steps/s, loss 0.033333 (0.033333 .. 0.5), lr 0.1",
        "names: step 60, 1 min 00 s, 1 steps/s, loss 0.016667 (0.016667 .. 0.5), lr 0.1",
        "names: step 90, 1 min 30 s, 1 steps/s, loss 0.011111 (0.011111 .. 0.5), lr 0.1",
        "names: rank 1 died; restart 1 of 2",
        "names: finished, step 100, 1 min 40 s, 1 steps/s, checkpoint of step 90, "
        "loss 0.01 (0.01 .. 0.5), lr 0.1",
    ]


def test_without_progress_nothing_is_shown() -> None:
    file = io.StringIO()
    quiet = Progress("names", 1, progress=False, console=Console(file=file, force_terminal=True))
    quiet.update(row(1, loss=0.5))
    quiet.event("restart")
    quiet.checkpoint(1)
    quiet.close("finished")
    assert file.getvalue() == ""


def terminal(file: io.StringIO) -> Console:
    return Console(file=file, width=80, force_terminal=True, color_system=None, _environ={})


def test_a_terminal_gets_a_table_drawn_at_most_four_times_a_second() -> None:
    file = io.StringIO()
    shown_ = Progress("names", 1, total=3000, console=terminal(file))
    began = time.monotonic()
    for step in range(1, 3001):
        shown_.update(row(step, loss=0.5 + step, at=step / 100))
        if step == 1500:
            shown_.event("rank 1 died; restart 1 of 2")
    shown_.close("finished")
    drawings = 2 + progress.REFRESH * (time.monotonic() - began)
    written = file.getvalue()
    assert 1 <= written.count("names, 1 rank") <= drawings
    assert written.count("names: rank 1 died; restart 1 of 2\n") == 1
    last = written[written.rindex("names, 1 rank") :]
    assert "names, 1 rank: finished, step 3000 of 3000, 30.0 s, 100 steps/s" in last
    assert "loss  3000.5" in last


def test_a_second_job_writes_lines_above_the_table_of_the_first() -> None:
    file = io.StringIO()
    console = terminal(file)
    first, second = Progress("one", 1, console=console), Progress("two", 1, console=console)
    first.update(row(1, loss=0.5))
    second.update(row(1, loss=0.25))
    first.close("finished")
    second.close("failed")
    third = Progress("three", 1, console=console)
    third.update(row(1, loss=0.125))
    third.close("cancelled")
    written = file.getvalue()
    assert "one, 1 rank: finished, step 1" in written
    assert "two: step 1, 1.0 s, loss 0.25\n" in written
    assert "two: failed, step 1, 1.0 s, loss 0.25\n" in written
    assert "three, 1 rank: cancelled" in written


def test_standard_output_that_is_a_file_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    shown_ = Progress("names", 1, console=terminal(err))
    shown_.update(row(1, loss=0.5))
    print("a result")
    shown_.close("finished")
    assert out.getvalue() == "a result\n"
    assert "a result" not in err.getvalue()


def test_a_notebook_keeps_the_last_rows_and_how_the_job_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With stand-ins for IPython and ipywidgets, whose output area holds what was drawn last."""
    drawn: list[str] = []

    class Output:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

        def clear_output(self, wait: bool) -> None:
            assert wait
            drawn.clear()

    def display(shown_: Any) -> None:
        drawn.append(getattr(shown_, "text", ""))

    for name, has in (
        ("ipywidgets", {"Output": Output}),
        ("IPython.display", {"display": display}),
    ):
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        vars(module).update(has)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    shown_ = Progress("names", 1, console=Console(force_jupyter=True, color_system=None, width=80))
    shown_.update(row(1, loss=0.5))
    shown_.update(row(2, loss=0.25))
    shown_.close("finished")
    assert "names, 1 rank: finished, step 2" in "".join(drawn)
    assert "loss  0.25" in "".join(drawn)
