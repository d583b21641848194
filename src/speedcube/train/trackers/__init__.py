"""Where the rows of a job go besides metrics.jsonl: W&B, MLflow, Trackio, TensorBoard, or your own.

Trackers run at the driver only; no rank knows of them. Each package is optional
(``pip install speedcube[track]``) and imported when a job with that tracker starts.
"""

from __future__ import annotations

from .group import Trackers, open_all
from .mlflow import MLflow
from .protocol import Tracker, TrackerRun
from .tensorboard import TensorBoard
from .trackio import Trackio
from .wandb import Wandb

__all__ = [
    "MLflow",
    "TensorBoard",
    "Tracker",
    "TrackerRun",
    "Trackers",
    "Trackio",
    "Wandb",
    "open_all",
]
