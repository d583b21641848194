"""PyTorch jobs on a Dask cluster: a function on every GPU.

`run` starts a job, `sweep` many; inside their function, `report`, `emit`, `latest`, `device`,
`rank` and `world_size` talk to them. Nothing here imports PyTorch before a job needs it.

Inside there are layers, and each imports only those after it: `sweeps`, `driver`, `worker`,
`ranks`, `metrics`. What driver, worker and rank say to each other is in `messages` and `events`.
`data` feeds ranks, `checkpoint` saves them, `trackers` and `reports` show what they reported.
"""

from ..errors import CheckpointError, NonFiniteError, RankError, StoppedError, TrainError
from .checkpoint import Checkpoint
from .data.batches import Batches, batches
from .driver.inbox import Emitted
from .driver.job import Job
from .driver.run import run
from .ranks.context import device, latest, local_rank, rank, report, world_size
from .ranks.emit import emit
from .sweeps import Range, Sweep, sweep

__all__ = [
    "Batches",
    "Checkpoint",
    "CheckpointError",
    "Emitted",
    "Job",
    "NonFiniteError",
    "Range",
    "RankError",
    "StoppedError",
    "Sweep",
    "TrainError",
    "batches",
    "device",
    "emit",
    "latest",
    "local_rank",
    "rank",
    "report",
    "run",
    "sweep",
    "world_size",
]
