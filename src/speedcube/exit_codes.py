"""What the exit code of every ``speedcube`` command means."""

from __future__ import annotations

from typing import Final

DONE: Final = 0  # all that was asked for is done, and nothing is wrong
FAILED: Final = 1  # it ran, and something is wrong: bits differ, a rung or a training failed ...
BAD_USE: Final = 2  # an option is wrong, or a file that was asked for could not be written
INTERRUPTED: Final = 130  # by Ctrl-C, as shells count it
BROKEN_PIPE: Final = 141  # whoever read the output left before its end, as shells count it
TERMINATED: Final = 143  # by SIGTERM, as shells count it
