"""Blocks written by the workers of a Dask cluster, each some that follow one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...expr.nodes import Expr
from ...plan.writing import WriteGrid
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


def write_on_client(
    rung: Rung, written: Written, numbers: Sequence[int], threads: int, meter: Meter
) -> None:
    """Write the blocks ``numbers`` on the workers of ``rung``, each by so many ``threads``."""
    from distributed import as_completed

    client, count = rung.client, max(1, len(rung.addresses) * threads * _SHARES)
    (told,) = client.scatter([written], broadcast=True, hash=False)
    step = max(1, -(-len(numbers) // count))
    shares = [numbers[k : k + step] for k in range(0, len(numbers), step)]
    sizes = [block_sizes(written.roots, written.grid, share) for share in shares]
    futures = [
        client.submit(_write, told, share, workers=list(rung.addresses), pure=False)
        for share in shares
    ]
    size_of = dict(zip(futures, sizes, strict=True))
    try:
        for done in as_completed(futures, loop=client.loop):
            done.result()
            meter.add(size_of[done])
    except BaseException:
        client.cancel(futures)
        raise


def _write(written: Written, numbers: Sequence[int]) -> None:
    """Task: write some blocks. One that was begun before is written again, with the same bytes."""
    WriteRun(written.roots, written.targets, written.grid).write(numbers, 1)


def threads_of(rung: Rung) -> int:
    """Threads of a worker of the client's, at most."""
    workers: Any = rung.client.scheduler_info(n_workers=-1)["workers"]
    counts = [one["nthreads"] for name, one in workers.items() if name in rung.addresses]
    return max(counts, default=1)
