"""Modules for GPUs, loaded when a GPU is asked for: they would be a twelfth of the import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...late import Late

if TYPE_CHECKING:
    from ...kernel.cuda import compile as compiling
    from ...kernel.cuda import text as text
    from ...kernel.cuda.many import teams as teams
    from ...kernel.cuda.many import together as together
    from .. import gpu as gpu
    from .. import gpu_records as gpu_records
    from ..finished import gpu as finished
    from ..known import launches as launches
    from ..ordering.on_gpu import distinct as distinct
    from ..ordering.on_gpu import run as ordering
    from ..ordering.on_gpu import sweeps as sweeps
    from ..scans import launched as scanned
    from ..scans import running as running
    from ..scans import trees as trees
    from ..small import launch as launch
else:
    compiling = Late("speedcube.kernel.cuda.compile")
    distinct = Late("speedcube.engine.ordering.on_gpu.distinct")
    finished = Late("speedcube.engine.finished.gpu")
    gpu = Late("speedcube.engine.gpu")
    gpu_records = Late("speedcube.engine.gpu_records")
    launch = Late("speedcube.engine.small.launch")
    launches = Late("speedcube.engine.known.launches")
    ordering = Late("speedcube.engine.ordering.on_gpu.run")
    running = Late("speedcube.engine.scans.running")
    scanned = Late("speedcube.engine.scans.launched")
    sweeps = Late("speedcube.engine.ordering.on_gpu.sweeps")
    teams = Late("speedcube.kernel.cuda.many.teams")
    text = Late("speedcube.kernel.cuda.text")
    together = Late("speedcube.kernel.cuda.many.together")
    trees = Late("speedcube.engine.scans.trees")

__all__ = [
    "compiling",
    "distinct",
    "finished",
    "gpu",
    "gpu_records",
    "launch",
    "launches",
    "ordering",
    "running",
    "scanned",
    "sweeps",
    "teams",
    "text",
    "together",
    "trees",
]
