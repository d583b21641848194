"""Trackio: a local database with W&B's calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from ...dataclass import dataclass
from ..metrics.rows import Row


@dataclass(frozen=True)
class Trackio:
    """Runs in Trackio's local database (TRACKIO_DIR), or in a Hugging Face Space.

    Parameters
    ----------
    project, group
        Where the run is filed.
    space_id
        The Space to log to; None: TRACKIO_SPACE_ID, else this machine.
    """

    package: ClassVar[str] = "trackio"

    project: str = "speedcube"
    group: str | None = None
    space_id: str | None = None

    def start(self, name: str, settings: Mapping[str, Any]) -> _TrackioRun:
        import trackio

        run = trackio.init(
            project=self.project,
            name=name,
            group=self.group,
            space_id=self.space_id,
            config=dict(settings),
            embed=False,  # a dashboard would open in each notebook cell that starts a job
        )
        return _TrackioRun(run)


@dataclass(frozen=True)
class _TrackioRun:
    run: Any

    def log(self, row: Row) -> None:
        self.run.log(row["metrics"], step=row["step"])

    def artifact(self, path: Path, name: str) -> None:
        self.run.log_artifact(path, name=name, type="model")

    def finish(self, status: str) -> None:
        self.run.finish()
