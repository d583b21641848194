"""The ``speedcube`` command until it has loaded: Ctrl-C and SIGTERM end it with a line and a code.

Outside the package, since to import anything of that takes a second in which both may come; and
what is imported here is there already.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # of signal, which takes longer
import os

# The exit code after each signal, as shells count it, and what is said.
ENDS = {_signal.SIGINT: (130, "interrupted"), _signal.SIGTERM: (143, "terminated")}


def listen() -> None:
    """End at the first signal: there is nothing to clean up yet."""
    for number in ENDS:
        if _signal.getsignal(number) in (_signal.default_int_handler, _signal.SIG_DFL):
            _signal.signal(number, leave)


def leave(number: int, frame: object) -> None:
    """End this process now; it may be in the middle of anything."""
    code, word = ENDS[number]
    os.write(2, f"speedcube: {word}\n".encode())
    os._exit(code)


def main() -> None:
    """Listen, load, run."""
    listen()
    from speedcube.cli import main as run

    run()
