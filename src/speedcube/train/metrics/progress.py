"""A job's rows as they happen: a live table in a terminal or a notebook, lines elsewhere."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from ...shown import lines
from .rows import Row
from .summary import Summary

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

REFRESH: Final = 4  # a second
QUIET: Final = 30.0  # seconds between two lines where there is no terminal

_table_shown = threading.Lock()  # a terminal has room for one table: other jobs write lines


@cache
def _standard_error() -> Console:
    """One console for all jobs, so that lines are written above the table."""
    from rich.console import Console

    return Console(stderr=True)


class Progress:
    """Shows a job on standard error. Taking a row costs microseconds; drawing has its own thread.

    Parameters
    ----------
    name, ranks, total
        As `Summary`.
    progress
        False shows nothing. Else a table where standard error is a terminal, or in a notebook
        with ipywidgets; elsewhere, and for a second job at the same time, a line every 30 seconds.
    console
        Where to show it.
    clock
        Seconds, for the lines.
    """

    def __init__(
        self,
        name: str,
        ranks: int,
        total: int | None = None,
        progress: bool | None = None,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._summary = Summary(name, ranks, total)
        self._lock = threading.Lock()
        self._shows = progress is not False
        self._console = console or _standard_error()
        self._clock = clock
        self._printed = -math.inf  # when the last line was written
        self._began = False
        self._live: Live | None = None

    def update(self, row: Row) -> None:
        """Take a row of any rank."""
        if not self._shows:
            return
        with self._lock:
            self._summary.add(row)
        self._begin()
        due = not self._summary.empty and self._clock() - self._printed >= QUIET
        if self._live is None and due:
            self._printed = self._clock()
            self._print(self._summary.line())

    def checkpoint(self, step: int) -> None:
        """Take the step of a checkpoint that is durable."""
        self._summary.checkpoint = step

    def event(self, text: str) -> None:
        """Show a line that stays, above the table if there is one."""
        if self._shows:
            self._print(f"{self._summary.name}: {text}")

    def close(self, status: str) -> None:
        """Show the last rows and how the job ended; a table stays as it is then."""
        if not self._shows:
            return
        with self._lock:
            self._summary.close(status)
        if self._live is None:
            self._print(self._summary.line())
            return
        try:
            if self._console.is_jupyter:  # where stop() draws nothing
                self._live.refresh()
            self._live.stop()
        finally:
            self._live = None
            _table_shown.release()

    def _begin(self) -> None:
        """Open the table at the first row, where there can be one."""
        if self._began:
            return
        self._began = True
        from rich.live import Live

        console = self._console
        able = console.is_terminal and not console.is_dumb_terminal
        notebook = console.is_jupyter and find_spec("ipywidgets") is not None
        if (able or notebook) and _table_shown.acquire(blocking=False):
            self._live = Live(
                get_renderable=self._table,
                console=console,
                refresh_per_second=REFRESH,
                redirect_stderr=able,
                redirect_stdout=able and getattr(sys.stdout, "isatty", bool)(),
            )
            self._live.start()

    def _table(self) -> RenderableType:
        with self._lock:
            return self._summary.table()

    def _print(self, line: str) -> None:
        from rich.text import Text

        self._console.print(Text(lines(line)), soft_wrap=True)
