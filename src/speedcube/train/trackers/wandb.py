"""Weights & Biases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

from ...dataclass import dataclass
from ...errors import TrainError
from ..metrics.rows import Row


@dataclass(frozen=True)
class Wandb:
    """Runs at Weights & Biases.

    Parameters
    ----------
    project, entity
        Where the run is filed; ``entity`` None is the default of the account.
    mode
        "online", "offline", "disabled", or None: what WANDB_MODE and W&B's settings say.
    directory
        Where W&B keeps its files; None: its own rule (``./wandb``).
    """

    package: ClassVar[str] = "wandb"

    project: str = "speedcube"
    entity: str | None = None
    mode: Literal["online", "offline", "disabled"] | None = None
    directory: str | Path | None = None

    def start(self, name: str, settings: Mapping[str, Any]) -> _WandbRun:
        import wandb

        # wandb.init would ask for a key at the terminal, under the live table.
        mode = self.mode or wandb.setup().settings.mode
        if mode == "online" and not wandb.login(prompt=False, verify=False):
            raise TrainError("no API key: run `wandb login`, or use Wandb(mode='offline')")
        run = wandb.init(
            project=self.project,
            entity=self.entity,
            mode=self.mode,
            dir=self.directory,
            name=name,
            config=dict(settings),
            reinit="create_new",  # jobs that run side by side have a run each
            settings=wandb.Settings(console="off"),  # the driver's output is our table
        )
        return _WandbRun(run)


@dataclass(frozen=True)
class _WandbRun:
    run: Any

    def log(self, row: Row) -> None:
        self.run.log(row["metrics"], step=row["step"])

    def artifact(self, path: Path, name: str) -> None:
        import wandb

        artifact = wandb.Artifact(name, type="model")
        artifact.add_dir(str(path))
        self.run.log_artifact(artifact)

    def finish(self, status: str) -> None:
        self.run.finish(exit_code=0 if status == "finished" else 1)
