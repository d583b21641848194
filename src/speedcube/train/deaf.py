"""Preloaded by our own workers: Ctrl-C at a terminal reaches them, too, and is not for them."""

import signal
from typing import Any


def dask_setup(worker: Any) -> None:
    """Ignore Ctrl-C; the driver ends its jobs and closes its cluster."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
