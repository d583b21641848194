"""What `run` was asked for, checked."""

from __future__ import annotations

from ...dataclass import dataclass
from ..messages import JobSettings


@dataclass(frozen=True)
class JobRequest:
    """What the driver has to know of a job; ``settings`` is what the ranks have to know, too."""

    name: str
    settings: JobSettings
    call: bytes  # the pickled (function, args, kwargs)
    needs_scheduler: bool  # ranks get a client of the scheduler
    max_restarts: int
    step_timeout: float | None
