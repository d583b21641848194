"""Arrays that lie on workers which are silent: others make them again, or the user hears of it.

Dask takes a stopped worker for alive, for five minutes by default, and waits for what it holds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from ....errors import WorkerError
from ..losses import on_loop


async def holding(client: Any, inputs: Sequence[Any], workers: Sequence[str]) -> dict[str, str]:
    """Which of ``workers`` hold arrays that a computation of ``inputs`` may read, in words."""
    if not inputs or not workers:
        return {}
    held = await client.has_what(workers=list(workers))
    return {address: "arrays that lie there" for address, keys in held.items() if keys}


def of(client: Any, inputs: Sequence[Any], others: Collection[str]) -> None:
    """Go on without the arrays that only workers other than ``others`` hold.

    Workers of a cluster of ours are ended, as nobody else uses them: Dask makes the arrays again.

    Raises
    ------
    WorkerError
        The cluster is not ours: it may have other users.
    """
    if not inputs:
        return
    silent = on_loop(client, partial(_silent, client, inputs, frozenset(others)))
    end = getattr(client.cluster, "end_worker", None)
    if not silent:
        return
    if end is None:
        raise WorkerError(
            f"worker {silent[0]} gives no sign of life, and holds arrays that this reads: continue "
            "it (kill -CONT), or end it, and Dask makes them again on others; then compute again"
        )
    for address in silent:
        end(address)


async def _silent(client: Any, inputs: Sequence[Any], others: frozenset[str]) -> list[str]:
    """The workers that hold data and are not among ``others``, if ``inputs`` need them."""
    held = await client.who_has(list(inputs))
    if all(others & {*places} for places in held.values()):
        return []
    return [a for a, keys in (await client.has_what()).items() if keys and a not in others]
