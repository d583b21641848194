"""The command ``speedcube doctor``: look, print, and the exit code."""

from __future__ import annotations

import sys

from ...exit_codes import BROKEN_PIPE, DONE, FAILED
from .. import terminal
from .report import examine, show, to_json


def run(as_json: bool) -> int:
    """Print the report on this machine; the exit code."""
    diagnosis = examine()

    def say() -> None:
        if as_json:
            print(to_json(diagnosis))
        else:
            show(diagnosis, terminal.screen(width=None if sys.stdout.isatty() else 120))

    read = terminal.printed(say)
    if not diagnosis.healthy:
        return FAILED
    return DONE if read else BROKEN_PIPE
