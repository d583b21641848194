"""Progress: counted by what runs, told of long computations to those who look, and left clean."""

from __future__ import annotations

import io
import multiprocessing
import os
import pty
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest
from dask.diagnostics import ProgressBar

import speedcube as sc
from speedcube.engine.boxes import Stop
from speedcube.engine.progress import screen, watch
from speedcube.engine.progress.count import Told, Total, total_of
from speedcube.errors import ParameterError


class Seen:
    """A screen that keeps what it showed, and tells the threads that run how far they are."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.cleared = 0

    def show(self, text: str) -> None:
        self.lines.append(text)

    def clear(self) -> None:
        self.cleared += 1


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """A screen on which every computation is told of, however short."""
    one = Seen()
    monkeypatch.setattr(watch, "screen_here", lambda: one)
    monkeypatch.setattr(watch, "LEAST", 0)
    monkeypatch.setattr(watch, "FIRST", 0.0)
    monkeypatch.setattr(watch, "BETWEEN", 0.001)
    monkeypatch.setattr(watch, "IDLE", 0.0)
    monkeypatch.setattr(watch, "_watch", watch._Watch())
    yield one
    assert watch._watch.told is None


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Told]:
    """What was told of, kept."""
    made: list[Told] = []

    def keep(*args: Any) -> Told:
        made.append(Told(*args))
        return made[-1]

    monkeypatch.setattr(watch, "Told", keep)
    return made


def _slow(block: Any) -> Any:
    time.sleep(0.05)
    return block


# What is counted ---------------------------------------------------------------------------------

N = 1 << 12
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "store": lambda x: sc.exp(x) + 1,
    "sum": lambda x: (x + 1).sum(),
    "columns": lambda x: x.sum(axis=0),
    "rows": lambda x: x.mean(axis=1),
    "spread": lambda x: x.std(),
    "extreme": lambda x: x.max(axis=0),
    "places": lambda x: x.argmin(axis=1),
    "two stages": lambda x: x - x.mean(axis=0),
    "strided": lambda x: (x.T[::2] * 2).sum(axis=0),
    "running": lambda x: x.ravel().cumsum(),
    "products": lambda x: x.prod(axis=1),
    "pieces": lambda x: sc.concatenate([x, x * 2]) + 1,
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("on", ["core", "cores:2"])
def test_points_at_the_end_are_those_of_the_plan(
    seen: Seen, told: list[Told], on: str, name: str
) -> None:
    x = sc.random.default_rng(0).normal(size=(1500, 2000))
    y = PROGRAMS[name](x)
    plan = y.plan(on=on)
    y.compute(on=on)
    assert told[-1].stop.counts
    assert told[-1].where == on
    assert told[-1].total == total_of(plan)
    assert told[-1].total.points == plan.elements * (1 + (name == "running" and on != "core"))
    assert told[-1].stop.points == pytest.approx(told[-1].total.points, rel=0.05)
    assert seen.cleared <= 1


def test_where_nobody_looks_nothing_is_counted(told: list[Told]) -> None:
    x = sc.random.default_rng(0).normal(size=(3000, 2000))
    (x + 1).std(axis=0).compute(on="cores:2")
    assert [(one.stop.counts, one.stop.points) for one in told] == [(False, 0)]


def test_points_are_told_while_a_kernel_runs_box_after_box(seen: Seen, told: list[Told]) -> None:
    """One part of one stage is told of in between, not only at its end."""
    x = sc.random.default_rng(0).normal(size=(1 << 14, 1 << 13))  # four boxes
    (x + 1).sum().compute(on="core")
    shares = [int(text.split(": ")[1].split("%")[0]) for text in seen.lines if "%" in text]
    assert shares == sorted(shares)
    assert {25, 50} <= {*shares}
    assert seen.cleared == 1


# What is said ------------------------------------------------------------------------------------


def _text(points: int, total: Total, seconds: float, tasks: Any = None) -> str:
    one = Told("core", Stop(), total, tasks, began=100.0)
    one.stop.points = points
    return one.text(100.0 + seconds)


@pytest.mark.parametrize(
    ("points", "total", "seconds", "tasks", "text"),
    [
        (250, Total(1000, 8000), 2.0, None, "25% of 8 kB, 1 kB/s, 125 points/s, 6.0 s left"),
        (10**9, Total(10**10, 10**11), 8.0, None,
         "10% of 100 GB, 1.25 GB/s, 125 M points/s, 1 min 12 s left"),
        (0, Total(1000, 8000), 2.5, None, "2.5 s"),
        (0, Total(0, 0), 2.5, None, "2.5 s"),
        (500, Total(1000, 8000, once=False), 2.0, None, "2 kB/s, 250 points/s, 2.0 s"),
        (1500, Total(1000, 8000), 2.0, None, "6 kB/s, 750 points/s, 2.0 s"),
        (0, Total(1000, 8000), 3.0, lambda: (0, 3), "0 of 3 tasks of 8 kB, 3.0 s"),
        (0, Total(1000, 8000), 3.0, lambda: (2, 3), "2 of 3 tasks of 8 kB, 3.0 s"),
        (999, Total(1000, 8000), 1.0, None, "99% of 8 kB, 7.992 kB/s, 999 points/s, 0.0 s left"),
    ],
)  # fmt: skip
def test_what_is_said(points: int, total: Total, seconds: float, tasks: Any, text: str) -> None:
    assert _text(points, total, seconds, tasks) == f"speedcube on core: {text}"


def test_totals_are_the_plans() -> None:
    x = sc.random.default_rng(0).normal(size=(100, 200))
    plan = (x.astype("float32") - x.mean(axis=0)).plan(on="core")
    assert total_of(plan) == Total(40_000, 320_000)
    assert not total_of(sc.sort(x).plan(on="core")).once


# Who is told -------------------------------------------------------------------------------------


def _compute() -> Any:
    return sc.random.default_rng(0).normal(size=(300, 200)).std(axis=0).compute(on="cores:2")


def test_the_setting_turns_it_off(seen: Seen, told: list[Told]) -> None:
    wanted = _compute()
    assert told[-1].stop.counts
    for value in (False, None, True):
        with dask.config.set({"speedcube.progress": value}):
            assert (_compute() == wanted).all()
        assert told[-1].stop.counts is (value is not False)
    with (
        dask.config.set({"speedcube.progress": "no"}),
        pytest.raises(ParameterError, match="progress='no': give True or False"),
    ):
        _compute()
    assert seen.cleared <= 3


def test_the_environment_has_the_setting() -> None:
    program = "from speedcube.engine.progress.watch import wanted; print(wanted())"
    run = {**os.environ, "DASK_SPEEDCUBE__PROGRESS": "false"}
    done = subprocess.run([sys.executable, "-c", program], env=run, capture_output=True, text=True)
    assert done.stdout == "False\n"


@pytest.mark.usefixtures("seen")
def test_threads_workers_bars_and_commands_are_not_told_of(
    told: list[Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = threading.Thread(target=_compute)
    thread.start()
    thread.join()
    with watch.quietly():
        _compute()
    with ProgressBar(out=io.StringIO()):
        _compute()
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: "a worker's")
    _compute()
    assert [one.stop.counts for one in told] == [False] * 4


def test_one_computation_in_another_says_nothing(seen: Seen, told: list[Told]) -> None:
    def inner(block: Any) -> Any:
        _compute()
        return block

    x = sc.asarray(np.ones((40, 30))).map_blocks(inner, dtype=float)
    told.clear()
    seen.cleared = 0
    (x + 1).sum().compute(on="core")
    assert [one.stop.counts for one in told].count(True) == 1
    assert seen.cleared <= 1


@pytest.mark.parametrize("kind", [KeyboardInterrupt, ValueError])
def test_what_fails_leaves_a_clean_line(seen: Seen, kind: type[BaseException]) -> None:
    def fails(block: Any) -> Any:
        if block.size:  # Dask tries it on none
            time.sleep(0.05)
            raise kind
        return block

    x = sc.asarray(np.ones((40, 30))).map_blocks(fails, dtype=float)
    with pytest.raises(kind):
        (x + 1).sum().compute(on="core")
    lines = len(seen.lines)
    assert lines
    assert seen.cleared == 1
    time.sleep(0.02)
    assert len(seen.lines) == lines
    assert watch._watch.told is None


def test_a_screen_that_fails_fails_nothing(seen: Seen, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(text: str) -> None:
        raise OSError(text)

    monkeypatch.setattr(seen, "show", fails)
    x = sc.asarray(np.ones((4, 3))).map_blocks(_slow, dtype=float)
    assert (x + 1).sum().compute(on="core") == 24


def test_the_thread_ends_when_nothing_is_computed(seen: Seen) -> None:
    x = sc.asarray(np.ones((4, 3))).map_blocks(_slow, dtype=float)
    (x + 1).sum().compute(on="core")
    thread = watch._watch.thread
    assert seen.lines
    if thread is not None:
        thread.join(10)
        assert not thread.is_alive()
    assert watch._watch.thread is None


# Where -------------------------------------------------------------------------------------------


def test_terminals_and_notebooks_are_looked_at_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stream:
        def __init__(self, answer: Any) -> None:
            self.answer = answer

        def isatty(self) -> bool:
            if isinstance(self.answer, Exception):
                raise self.answer
            return bool(self.answer)

    def here(stream: Any) -> Any:
        monkeypatch.setattr(sys, "stderr", stream)
        return screen.screen_here()

    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(here(Stream(True)), screen.Terminal)
    assert here(Stream(False)) is None
    assert here(None) is None
    assert here(Stream(ValueError("closed"))) is None
    monkeypatch.setenv("TERM", "dumb")
    assert here(Stream(True)) is None
    ipython = ModuleType("IPython")
    vars(ipython)["get_ipython"] = lambda: SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert isinstance(here(Stream(False)), screen.Notebook)
    vars(ipython)["get_ipython"] = lambda: SimpleNamespace()  # IPython on a pipe
    assert here(Stream(False)) is None


def test_a_notebook_has_one_output_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, dict[str, Any]]] = []
    display = ModuleType("IPython.display")
    vars(display)["display"] = lambda data, **options: calls.append((data, options))
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    notebook = screen.Notebook()
    notebook.clear()  # nothing was shown
    assert calls == []
    for text in ("<1>", "2"):
        notebook.show(text)
    notebook.clear()
    assert [data["text/plain"] for data, _ in calls] == ["<1>", "2", ""]
    assert "&lt;1&gt;" in calls[0][0]["text/html"]
    assert [options.get("update", False) for _, options in calls] == [False, True, True]
    assert len({options["display_id"] for _, options in calls}) == 1


PROGRAM = textwrap.dedent("""
    import signal, sys
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a script's background
    from speedcube.engine.progress import watch
    import speedcube as sc
    watch.FIRST = watch.BETWEEN = 0.05
    x = sc.random.default_rng(0).normal(size=(1 << 17, 1 << 14))
    print("begun", flush=True)
    (x + 1).sum().compute(on="cores:2")
""")


def _read(terminal: int, until: Callable[[bytes], bool]) -> bytes:
    data = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            more = os.read(terminal, 1 << 12)
        except OSError:  # the other end is closed
            break
        data += more
        if not more or until(data):
            break
    return data


def test_ctrl_c_leaves_a_clean_line_on_a_terminal() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stderr=theirs,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    data = _read(ours, lambda data: b" left" in data)
    assert b"\r\x1b[Kspeedcube on cores:2: " in data
    process.send_signal(signal.SIGINT)
    rest = data + _read(ours, lambda _: False)
    assert process.wait(60) != 0
    os.close(ours)
    shown, _, after = rest.rpartition(b"\r\x1b[K")
    assert b"speedcube on cores:2" in shown
    assert b"speedcube on" not in after
    assert after.startswith(b"Traceback")


def test_logs_have_nothing_of_it() -> None:
    program = PROGRAM.replace("1 << 17", "1 << 13")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"begun\n", b"")
