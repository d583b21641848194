"""TensorBoard's event files, written with the tensorboard package alone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar

from ...dataclass import dataclass
from ..metrics.rows import Row


@dataclass(frozen=True)
class TensorBoard:
    """Event files in ``directory/<name of the run>``; see them with ``tensorboard --logdir``.

    Numbers and bools are scalars, strings are text, written when they change. The settings are
    hyperparameters; of a model, the path is written as text.
    """

    package: ClassVar[str] = "tensorboard"

    directory: str | Path = "runs"

    def start(self, name: str, settings: Mapping[str, Any]) -> _TensorBoardRun:
        from tensorboard.plugins.hparams.summary_v2 import hparams_pb
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        run = _TensorBoardRun(EventFileWriter(str(Path(self.directory, name))))
        plain = {
            key: value if isinstance(value, bool | int | float | str) else str(value)
            for key, value in settings.items()
        }
        run.write(hparams_pb(plain, trial_id=name))
        return run


@dataclass
class _TensorBoardRun:
    writer: Any
    step: int = 0
    when: float = field(default_factory=time.time)  # when the step was reported
    texts: dict[str, str] = field(default_factory=dict)  # the last value of each

    def write(self, summary: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self.writer.add_event(Event(wall_time=self.when, step=self.step, summary=summary))

    def log(self, row: Row) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        self.step, self.when = row["step"], row["time"]
        numbers = [
            Summary.Value(tag=name, simple_value=float(value))
            for name, value in row["metrics"].items()
            if isinstance(value, bool | int | float)
        ]
        self.write(Summary(value=numbers))
        for name, value in row["metrics"].items():
            if isinstance(value, str) and self.texts.get(name) != value:
                self.texts[name] = value
                self._text(name, value)

    def _text(self, name: str, text: str) -> None:
        from tensorboard.plugins.text.summary_v2 import text_pb

        self.write(text_pb(name, text))

    def artifact(self, path: Path, name: str) -> None:
        self._text(name, str(path))

    def finish(self, status: str) -> None:
        self._text("status", status)
        self.writer.close()
