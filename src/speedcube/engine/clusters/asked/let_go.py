"""Workers that are silent, and what they hold or make: others do it again, or the user hears of it.

Dask takes a stopped worker for alive, for five minutes by default. It waits for what it holds, and
so does a worker that has begun to fetch something from it, though others have that, too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from ....errors import WorkerError
from ..losses import on_loop
from ..patience import Listed
from ..watch import Watch, alive, any_given_up


async def holding(client: Any, inputs: Sequence[Any], workers: Sequence[Listed]) -> dict[str, str]:
    """Which of ``workers`` hold, or make, arrays that ``inputs`` may stand for, in words.

    Of those that were given up already what they hold is known, but Dask may move tasks to them.
    """
    if not inputs or not workers:
        return {}
    new = [one.address for one in alive(workers)]
    held = await client.has_what(workers=new) if new else {}
    is_made = any(one.status == "pending" for one in inputs)
    making = await processing(client, {one.address for one in workers}) if is_made else {}
    found = [one.address for one in workers if held.get(one.address) or making.get(one.address)]
    return dict.fromkeys(found, "arrays that lie there, or are made there")


async def processing(client: Any, workers: Collection[str]) -> dict[str, Sequence[Any]]:
    """The keys of what those of ``workers`` run that are there: Dask would not know another one."""
    running = await client.processing()
    return {address: keys for address, keys in running.items() if address in workers}


def of(client: Any, inputs: Sequence[Any], others: Sequence[str]) -> list[str]:
    """Those of ``others`` with which to go on without the workers that were given up.

    Of a cluster of ours these are ended, as nobody else uses them: Dask makes again what they held,
    and who waits for an answer of theirs waits no more. Of another cluster they may have other
    users. Then only workers that hold the arrays already are asked for more, as others may wait for
    the silent one.

    Raises
    ------
    WorkerError
        The cluster is not ours, and no worker that answers has the arrays of ``inputs``.
    """
    end = getattr(client.cluster, "end_worker", None)
    if not any_given_up() or (end is None and not inputs):
        return list(others)
    silent = on_loop(client, partial(_given_up, client))
    if end is None:
        return on_loop(client, partial(_with_arrays, client, inputs, others, silent))
    for address in silent:
        end(address)
    return list(others)


async def _given_up(client: Any) -> list[str]:
    there, _ = await Watch(client).look()
    living = alive(there)
    return [one.address for one in there if one not in living]


async def _with_arrays(
    client: Any, inputs: Sequence[Any], others: Sequence[str], silent: Sequence[str]
) -> list[str]:
    """Those of ``others`` that need nothing of the ``silent`` for what ``inputs`` stand for."""
    held = await client.who_has(list(inputs))
    making = await processing(client, silent)
    usable = {*others}
    for one in inputs:
        places = {*held.get(one.key, ())}
        waits = not places and any(making.values())
        if waits or places & {*silent}:
            usable &= places
    if usable:
        return [one for one in others if one in usable]
    raise WorkerError(
        f"worker {silent[0]} gives no sign of life, and holds or makes arrays that this reads: "
        "continue it (kill -CONT), or end it, and Dask makes them again on others; then compute "
        "again"
    )
