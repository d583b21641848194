"""PyTorch jobs on a Dask cluster: a function on every GPU.

`run` starts a job; inside its function, `report`, `latest`, `device`, `rank` and `world_size`
talk to it. Nothing here imports PyTorch before a job needs it.
"""

from ..errors import CheckpointError, NonFiniteError, RankError, TrainError
from .checkpoint import Checkpoint
from .context import device, latest, local_rank, rank, report, world_size
from .data.batches import Batches, batches
from .job import Job
from .launch import run

__all__ = [
    "Batches",
    "Checkpoint",
    "CheckpointError",
    "Job",
    "NonFiniteError",
    "RankError",
    "TrainError",
    "batches",
    "device",
    "latest",
    "local_rank",
    "rank",
    "report",
    "run",
    "world_size",
]
