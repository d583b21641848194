"""Where progress is shown: the last line of a terminal, or below a notebook's cell."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import field
from typing import Any, Final, Protocol

from ...dataclass import dataclass
from ...late import html, uuid

_ERASE: Final = "\r\x1b[K"
_NARROW: Final = 80  # columns where nobody says how many there are


class Screen(Protocol):
    """What shows one line that changes."""

    def show(self, text: str) -> None:
        """``text`` in place of what was there."""

    def clear(self) -> None:
        """Nothing is left of it."""


@dataclass(frozen=True)
class Terminal:
    """The line of ``stream`` where the cursor is."""

    stream: Any

    def show(self, text: str) -> None:
        """``text``, as much of it as one line has room for."""
        try:
            columns = os.get_terminal_size(self.stream.fileno()).columns or _NARROW
        except (OSError, ValueError, AttributeError):
            columns = _NARROW
        self._write(_ERASE + text[: columns - 1])

    def clear(self) -> None:
        """An empty line, with the cursor at its beginning."""
        self._write(_ERASE)

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):  # a terminal that was closed is no fault of a result
            self.stream.write(text)
            self.stream.flush()


@dataclass(frozen=True)
class Notebook:
    """A line below the cell that asks, on which the output of other threads stands, too."""

    context: Context = field(default_factory=copy_context)
    name: str = field(default_factory=lambda: f"speedcube-{uuid.uuid4().hex}")
    shown: list[str] = field(default_factory=list)

    def show(self, text: str) -> None:
        """``text``, first as an output of the cell, then in its place."""
        self.context.copy().run(self._display, text)

    def clear(self) -> None:
        """An empty output."""
        if self.shown:
            self.context.copy().run(self._display, "")

    def _display(self, text: str) -> None:
        from IPython.display import display

        page = f'<small style="opacity:0.8">{html.escape(text)}</small>' if text else ""
        again = {"update": True} if self.shown else {}
        self.shown.append(text)
        display({"text/plain": text, "text/html": page}, raw=True, display_id=self.name, **again)


def screen_here() -> Screen | None:
    """The notebook or the terminal that somebody looks at; None: nobody does."""
    stream = sys.stderr
    try:
        if stream is not None and stream.isatty():
            return Terminal(stream) if os.environ.get("TERM") != "dumb" else None
    except (AttributeError, ValueError):  # no stream, or a closed one
        return None
    interactive = sys.modules.get("IPython")
    if interactive is None:
        return None
    shell = getattr(interactive, "get_ipython", lambda: None)()
    return Notebook() if getattr(shell, "kernel", None) is not None else None
