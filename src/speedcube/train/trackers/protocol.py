"""What a tracker is: something that starts a run, takes rows and a model, and ends."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from ...errors import TrainError
from ..metrics.rows import Row


class TrackerRun(Protocol):
    """One job at a tracker. All its calls come from one thread of the driver."""

    def log(self, row: Row) -> None:
        """Take the metrics of a step; steps rise.

        ``row["metrics"]`` has rank 0's values under their names, and those of another rank where
        they differ under ``name/rank3``.
        """

    def artifact(self, path: Path, name: str) -> None:
        """Take the files of directory ``path`` as the model called ``name``."""

    def finish(self, status: str) -> None:
        """End the run: "finished", "failed" or "cancelled"."""


class Tracker(Protocol):
    """Where rows go besides the file of JSON lines.

    A tracker describes (project, directory ...), and `start` opens one run of it, so that one
    tracker serves the trials of a sweep. A class for one job only may return itself from `start`.
    """

    def start(self, name: str, settings: Mapping[str, Any]) -> TrackerRun:
        """Open a run called ``name``; ``settings`` are JSON values."""


def require(package: str) -> None:
    """`TrainError` unless ``package`` is installed; nothing is imported."""
    if find_spec(package) is None:
        raise TrainError(
            f"the tracker {package!r} needs the package {package}, which is not installed; "
            "pip install speedcube[track], or leave it out of trackers="
        )
