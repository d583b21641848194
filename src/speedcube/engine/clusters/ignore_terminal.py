"""Preloaded by our own workers: Ctrl-C and Ctrl-Z at a terminal reach them, but are not theirs."""

import signal
from typing import Any, Final

NUMBERS: Final = (signal.SIGINT, signal.SIGTSTP)


def dask_setup(worker: Any) -> None:
    """Ignore both: the driver ends its jobs and its cluster; ranks live only beside workers.

    Until here they were blocked (`private.PrivateCluster`), which what a rank starts would inherit.
    """
    for number in NUMBERS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, NUMBERS)
