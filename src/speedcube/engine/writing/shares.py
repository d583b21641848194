"""Blocks written by the workers of a Dask cluster, each some that follow one another."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from itertools import dropwhile
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr.nodes import Expr
from ...late import task_spec, uuid
from ...plan.writing import WriteGrid
from ..clusters.asked.calls import Calls, PlanCall
from ..clusters.submission import run_calls
from ..rungs import Rung
from .progress import Meter
from .run import WriteRun, block_sizes
from .target import WriteTarget

_SHARES: Final = 8  # of a thread, so that nobody waits long for the last one


@dataclass(frozen=True, eq=False)
class Written:
    """What the workers are told once: arrays, targets, blocks."""

    roots: tuple[Expr, ...]
    targets: tuple[WriteTarget, ...]
    grid: WriteGrid


@dataclass(eq=False)
class Follows:
    """Says on ``meter`` which of the shares are written, once each."""

    meter: Meter
    sizes: dict[str, int]  # bytes of each share that is not written yet, by the name of its call
    hears = False

    def look(self, finished: Collection[str], _: Sequence[Any] = ()) -> None:
        """Add what is new."""
        for name in self.sizes.keys() & {*finished}:
            self.meter.add(self.sizes.pop(name))


def write_on_client(
    rung: Rung, written: Written, numbers: Sequence[int], threads: int, meter: Meter
) -> bool:
    """Write the blocks ``numbers`` on the workers of ``rung``, each by so many ``threads``.

    What a worker that is lost had to write is written by others, with the same bytes. Whether any
    of them has gone since.
    """
    count = max(1, len(rung.addresses) * threads * _SHARES)
    step = max(1, -(-len(numbers) // count))
    shares = [numbers[k : k + step] for k in range(0, len(numbers), step)]
    token = f"speedcube-write-{uuid.uuid4().hex}"
    # A task, and no scattered data: Dask makes it again where its worker is lost.
    first = PlanCall(token, 0, _same, (written,))
    calls = [
        PlanCall(f"{token}-{k}", k, _write, (task_spec.TaskRef(token), share))
        for k, share in enumerate(shares)
    ]
    names = tuple(call.name for call in calls)
    sizes = [block_sizes(written.roots, written.grid, share) for share in shares]
    follower = Follows(meter, dict(zip(names, sizes, strict=True)))
    shapes = [()] * len(names)
    run_calls(rung.client, Calls((first, *calls), names), shapes, rung.addresses, follower)
    follower.look(names)
    return not {*rung.addresses} <= {*rung.client.scheduler_info(n_workers=-1)["workers"]}


def _same(written: Written) -> Written:
    """Task: what the others are told."""
    return written


def _write(written: Written, numbers: Sequence[int]) -> Any:
    """Task: write some blocks, one after the other.

    Those that a worker has written that was lost since are there: it goes on behind them. The one
    that was begun is written again, with the same bytes.
    """
    targets = [copy(target) for target in written.targets]  # other threads have files of their own

    def is_there(number: int) -> bool:
        return all(target.has(number) for target in targets)

    try:
        left = list(dropwhile(is_there, numbers))
        WriteRun(written.roots, targets, written.grid).write(left, 1)
    finally:
        for target in targets:
            target.leave()
    return np.zeros(())


def threads_of(rung: Rung) -> int:
    """Threads of a worker of the client's, at most."""
    workers: Any = rung.client.scheduler_info(n_workers=-1)["workers"]
    counts = [one["nthreads"] for name, one in workers.items() if name in rung.addresses]
    return max(counts, default=1)
