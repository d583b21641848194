"""Questions of the driver to the Dask scheduler: with a time limit, and once more if need be."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any, Final

ANSWER_SECONDS: Final = 5.0
LOST: Final = (OSError, TimeoutError, CancelledError)  # what a lost connection raises


def ask_scheduler(client: Any, function: Callable[..., Any], /, **arguments: Any) -> Any:
    """What ``function`` returns on the scheduler; it may run twice. Raises one of `LOST`.

    A driver that was stopped meanwhile finds its time over, though the answer lies there: as long
    as the connection stands, the scheduler is asked a second time.
    """
    try:
        return client.run_on_scheduler(function, callback_timeout=ANSWER_SECONDS, **arguments)
    except LOST:
        if client.status != "running":
            raise
    return client.run_on_scheduler(function, callback_timeout=ANSWER_SECONDS, **arguments)


def lost_text(err: BaseException) -> str:
    """One of `LOST` in words."""
    return f"the connection to the Dask scheduler is lost ({err or type(err).__name__})"
