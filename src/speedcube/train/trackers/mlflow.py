"""MLflow, through its client: the process's active run and tracking URI stay as they are."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar, Final

from ...dataclass import dataclass
from ..metrics.rows import Row

_BATCH: Final = 500  # metrics in one call; the server takes 1000
_WAIT: Final = 2.0  # seconds that metrics wait for others to go with
_PARAMS: Final = 100  # settings in one call, the server's limit
_LONGEST: Final = 6000  # characters of a setting, the server's limit
_STATUS: Final = {"finished": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}
_STARTING: Final = threading.Lock()  # the first run makes the tables of a local database


@dataclass(frozen=True)
class MLflow:
    """Runs at an MLflow server, or in a local database.

    Numbers and bools are metrics; a string is a tag that holds the last one.

    Parameters
    ----------
    experiment
        The experiment that the run is filed in, made if there is none of this name.
    tracking_uri
        The server or database; None: MLFLOW_TRACKING_URI, else ``sqlite:///mlflow.db``.
    """

    package: ClassVar[str] = "mlflow"

    experiment: str = "speedcube"
    tracking_uri: str | None = None

    def start(self, name: str, settings: Mapping[str, Any]) -> _MLflowRun:
        from mlflow import MlflowClient
        from mlflow.entities import Param

        with _STARTING:
            client = MlflowClient(self.tracking_uri)
            run = client.create_run(self._experiment_id(client), run_name=name).info.run_id
        params = [Param(_allowed(key), str(value)[:_LONGEST]) for key, value in settings.items()]
        for start in range(0, len(params), _PARAMS):
            client.log_batch(run, params=params[start : start + _PARAMS])
        return _MLflowRun(client, run)

    def _experiment_id(self, client: Any) -> str:
        from mlflow.exceptions import MlflowException

        experiment = client.get_experiment_by_name(self.experiment)
        if experiment is None:
            try:
                return str(client.create_experiment(self.experiment))
            except MlflowException:  # another process was quicker, or it cannot be made
                experiment = client.get_experiment_by_name(self.experiment)
                if experiment is None:
                    raise
        return str(experiment.experiment_id)


@dataclass
class _MLflowRun:
    client: Any
    run: str
    metrics: list[Any] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)
    sent: float = field(default_factory=time.monotonic)

    def log(self, row: Row) -> None:
        from mlflow.entities import Metric

        stamp = int(1000 * row["time"])
        for name, value in row["metrics"].items():
            if isinstance(value, str):
                self.tags[_allowed(name)] = value
            elif value is not None:
                self.metrics.append(Metric(_allowed(name), float(value), stamp, row["step"]))
        if len(self.metrics) >= _BATCH or time.monotonic() - self.sent > _WAIT:
            self._send()

    def _send(self) -> None:
        from mlflow.entities import RunTag

        for start in range(0, len(self.metrics), _BATCH):
            self.client.log_batch(self.run, metrics=self.metrics[start : start + _BATCH])
        tags = [RunTag(name, value) for name, value in self.tags.items()]
        if tags:
            self.client.log_batch(self.run, tags=tags)
        self.metrics.clear()
        self.tags.clear()
        self.sent = time.monotonic()

    def artifact(self, path: Path, name: str) -> None:
        self.client.log_artifacts(self.run, str(path), name)

    def finish(self, status: str) -> None:
        self._send()
        self.client.set_terminated(self.run, _STATUS[status])


def _allowed(name: str) -> str:
    """``name`` as MLflow takes it: letters, digits, ``_-. :``, and no path that leads elsewhere."""
    parts = re.sub(r"[^\w\-. :/]", "_", name).split("/")
    return "/".join(part for part in parts if part not in ("", ".", "..")) or "_"
