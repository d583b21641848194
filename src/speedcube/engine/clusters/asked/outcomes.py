"""What is taken of the futures of results: their values, or the word that they are there."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from .submitted import Submission

# Waits for the results on their client's loop, and takes of them what is wanted.
Taken: TypeAlias = Callable[[Submission], Coroutine[Any, Any, list[Any]]]


async def values_of(submission: Submission) -> list[Any]:
    """The values of the results, here; each goes from the workers as soon as it is."""
    import asyncio

    async def take(name: str) -> None:
        submission.take(name, await submission.futures[name].result())

    await asyncio.gather(*map(take, {*submission.results} - {*submission.taken}))
    values = [submission.taken[name] for name in submission.results]
    submission.taken.clear()
    return values


async def gathered(submission: Submission) -> list[Any]:
    """The values of results that are all of one client's, in few questions."""
    return list(await submission.client.gather(submission.wanted(), asynchronous=True))


async def made_there(submission: Submission) -> list[Any]:
    """The futures of the results, once all have values, which stay with their workers."""
    import asyncio

    async def made(future: Any) -> None:
        failure = await future.exception()
        if failure is not None or future.cancelled():
            await future.result()  # it raises that as Dask does

    futures = submission.wanted()
    await asyncio.gather(*map(made, futures))
    return futures
