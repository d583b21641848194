"""What is taken of the futures of results: their values, or the word that they are there."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

# Waits for futures on their client's loop, and takes of them what is wanted.
Taken: TypeAlias = Callable[[Sequence[Any]], Coroutine[Any, Any, list[Any]]]


async def values_of(futures: Sequence[Any]) -> list[Any]:
    """The values of ``futures``, here."""
    import asyncio

    return list(await asyncio.gather(*(future.result() for future in futures)))


async def gathered(futures: Sequence[Any]) -> list[Any]:
    """The same of ``futures`` that are all of one client's, in few questions."""
    return list(await futures[0].client.gather(list(futures), asynchronous=True))


async def made_there(futures: Sequence[Any]) -> list[Any]:
    """``futures`` themselves, once all have values, which stay with their workers."""
    import asyncio

    async def made(future: Any) -> None:
        failure = await future.exception()
        if failure is not None or future.cancelled():
            await future.result()  # it raises that as Dask does

    await asyncio.gather(*map(made, futures))
    return list(futures)
