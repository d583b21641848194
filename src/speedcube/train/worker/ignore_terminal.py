"""Preloaded by our own workers: Ctrl-C and Ctrl-Z at a terminal reach them, but are not theirs."""

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Ignore both: the driver ends its jobs and its cluster; ranks live only beside workers."""
    for number in (signal.SIGINT, signal.SIGTSTP):
        signal.signal(number, signal.SIG_IGN)
