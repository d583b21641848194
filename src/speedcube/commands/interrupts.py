"""Ctrl-C and SIGTERM end a command quietly, with its exit code, and soon.

The first one is a `KeyboardInterrupt`, so that what runs is cleaned up; another one, or a clean-up
that takes too long, ends the process at once. Workers and ranks end with it in any case.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, Final, NoReturn

import speedcube_command

from ..exit_codes import INTERRUPTED
from .words import WrappedOnce

LEAVE_SECONDS: Final = 2.0  # to clean up in, once the command itself has ended

_received: Final[list[int]] = []


class Commands(WrappedOnce):
    """Typer's group; a command that says nothing of its interruption has it said here."""

    def invoke(self, ctx: Any) -> Any:
        """Run one command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print(f"speedcube: {_ending()[1]}", file=sys.stderr)
            raise


def run(app: Callable[[], object]) -> NoReturn:
    """Run ``app()`` to the end of this process."""
    speedcube_command.listen()
    code: Any = 0
    try:
        _answer(speedcube_command.leave, _interrupt)
        try:
            app()
        except SystemExit as done:
            code = done.code
        _answer(_interrupt, speedcube_command.leave)  # what is left to do raises nothing
    except KeyboardInterrupt:  # outside of any command: in what reads the command line
        print(f"speedcube: {_ending()[1]}", file=sys.stderr)
        code = INTERRUPTED
    if code == INTERRUPTED:
        code, _ = _ending()
        _leave_soon(code)
    sys.exit(code)


def _answer(before: Any, after: Any) -> None:
    """Let ``after`` handle the signals that ``before`` does: none that is ignored."""
    for number in speedcube_command.ENDS:
        if signal.getsignal(number) is before:
            signal.signal(number, after)


def _interrupt(number: int, frame: object) -> None:
    _answer(_interrupt, _at_once)
    logging.disable()  # connections that break from now on are no news
    _received.append(number)
    raise KeyboardInterrupt


def _at_once(number: int, frame: object) -> None:
    os._exit(_ending()[0])


def _ending() -> tuple[int, str]:
    """The exit code after the first signal, and the word for it."""
    return speedcube_command.ENDS[(_received or [signal.SIGINT])[0]]


def _leave_soon(code: int) -> None:
    """End the process in any case: Dask's threads finish their chunk first, which may take long."""
    timer = threading.Timer(LEAVE_SECONDS, os._exit, (code,))
    timer.daemon = True
    timer.start()
