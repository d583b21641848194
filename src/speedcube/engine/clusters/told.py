"""What a task raises on a worker, with where: the stage, the worker, the cause, what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...errors import MemoryLimitError, SpeedcubeError, WorkerError
from ...plan.stages import Stage
from .fingerprint import worker_address

_KEPT: Final = "nothing of this computation is kept"


def said_of(number: int, stage: Stage) -> str:
    """What a stage of a plan makes, by the number that the plan shows it with."""
    return f"stage {number}, {stage.op or 'store'} of {stage.root.shape} to {stage.shape}"


def told(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Task: ``function`` of ``arguments``, a part of ``what``; errors of others as ours."""
    try:
        return function(*arguments)
    except SpeedcubeError:
        raise
    except MemoryError as err:
        raise MemoryLimitError(
            f"{_where(what, err)}; {_KEPT}: give the worker more memory, use more workers, or ask "
            "for less at once (reduce or slice before computing)"
        ) from err
    except Exception as err:
        raise WorkerError(
            f"{_where(what, err)}; {_KEPT}: see the worker's log, mend the cause, compute again"
        ) from err


def _where(what: str, err: Exception) -> str:
    return f"{what}, failed on worker {worker_address()}: {type(err).__name__}: {err}"
