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
from importlib.machinery import ExtensionFileLoader
from types import FrameType
from typing import Any, Final, NoReturn

import speedcube_command

from ..exit_codes import INTERRUPTED
from .words import WrappedOnce

LEAVE_SECONDS: Final = 2.0  # to clean up in, once the command itself has ended
AGAIN_SECONDS: Final = 0.01  # until a signal that could not be raised where it came, comes again
_INITIALISERS: Final = (
    ExtensionFileLoader.create_module.__code__,
    ExtensionFileLoader.exec_module.__code__,
)

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
    sys.unraisablehook = _ignored
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


def _interrupt(number: int, frame: FrameType | None) -> None:
    if _loads_native(frame):
        _after(AGAIN_SECONDS, os.kill, os.getpid(), number)
        return
    _answer(_interrupt, _at_once)
    logging.disable()  # connections that break from now on are no news
    _received.append(number)
    raise KeyboardInterrupt


def _ignored(found: sys.UnraisableHookArgs, /) -> None:
    """Interrupt again where Python ignored it, as it ignores what a ``__del__`` raises."""
    if found.exc_type is KeyboardInterrupt and _received:
        _answer(_at_once, _interrupt)
        _after(AGAIN_SECONDS, os.kill, os.getpid(), _received.pop())
    else:
        sys.__unraisablehook__(found)


def _at_once(number: int, frame: object) -> None:
    os._exit(_ending()[0])


def _ending() -> tuple[int, str]:
    """The exit code after the first signal, and the word for it."""
    return speedcube_command.ENDS[(_received or [signal.SIGINT])[0]]


def _leave_soon(code: int) -> None:
    """End the process in any case: Dask's threads finish their chunk first, which may take long."""
    _after(LEAVE_SECONDS, os._exit, code)


def _loads_native(frame: FrameType | None) -> bool:
    """Whether a native module is being initialised.

    Some end the process when an exception reaches them there, or call it an `ImportError`.
    """
    while frame is not None:
        if frame.f_code in _INITIALISERS:
            return True
        frame = frame.f_back
    return False


def _after(seconds: float, call: Callable[..., object], *args: object) -> None:
    timer = threading.Timer(seconds, call, args)
    timer.daemon = True
    timer.start()
