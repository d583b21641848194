"""Questions of the driver to the Dask scheduler: with a time limit, and once more if need be."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any, Final

from ..patience import BUSY, Vitals, vitals
from ..worker import agent

ANSWER_SECONDS: Final = 5.0
LOST: Final = (OSError, TimeoutError, CancelledError)  # what a lost connection raises


def ask_scheduler(client: Any, function: Callable[..., Any], /, **arguments: Any) -> Any:
    """What ``function`` returns on the scheduler; it may run twice. Raises one of `LOST`.

    A driver that was stopped meanwhile finds its time over, though the answer lies there: as long
    as the connection stands, the scheduler is asked a second time; and again where it is in this
    process, and that is at work or waits for a CPU.
    """
    own = getattr(client.cluster, "scheduler", None) is not None
    for tried in itertools.count(1):
        before = vitals(os.getpid())
        try:
            return client.run_on_scheduler(function, callback_timeout=ANSWER_SECONDS, **arguments)
        except LOST:
            if client.status != "running" or (tried > 1 and not (own and _at_work(before))):
                raise
    raise AssertionError("unreachable")


def _at_work(before: Vitals | None) -> bool:
    """Whether this process ran, or waited for a CPU, for much of the last try."""
    now = vitals(os.getpid())
    return before is not None and now is not None and now.since(before) > BUSY * ANSWER_SECONDS


def ask_for_stacks(client: Any, job: str, workers: list[str]) -> dict[int, str]:
    """The stacks of a job's ranks on ``workers``, of those that answer."""
    stacks: dict[int, str] = {}
    with suppress(*LOST):  # a worker that does not answer must not keep us
        answers = client.run(
            agent.stacks,
            job,
            workers=workers,
            on_error="return",
            callback_timeout=ANSWER_SECONDS,
        )
        for answer in answers.values():
            stacks.update(answer if isinstance(answer, dict) else {})
    return stacks


def lost_text(err: BaseException) -> str:
    """One of `LOST` in words."""
    return f"the connection to the Dask scheduler is lost ({err or type(err).__name__})"
