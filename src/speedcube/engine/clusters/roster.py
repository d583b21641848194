"""The workers that may compute: each was asked, once, whether it would give the right bits.

A question to a worker ends when the worker does, and one that has died or is silent for too long
is left out. A worker that was started again is a new one, at the same address too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ...errors import WorkerError
from .fingerprint import Fingerprint, expected, refusal
from .losses import none_left, on_loop, reported
from .patience import LOOK, SAY, Listed, WorkerKey
from .watch import Watch, alive, identity

if TYPE_CHECKING:
    import asyncio

_AGAIN: Final = 0.1  # seconds until the scheduler is asked again
_FILES: Final = 5.0  # seconds for the list of files that goes with a refusal

# Those that have answered, by their scheduler: True where with their known answers, too.
_trusted: Final[dict[str, dict[WorkerKey, bool]]] = {}


def worker_states(client: Any) -> dict[str, Any]:
    """What the scheduler says of each worker, by address."""
    with reported(client):
        return on_loop(client, lambda: identity(Watch(client)))[1]


def worker_addresses(client: Any, answers: bool = True) -> list[str]:
    """Addresses of the client's workers, checked for this package; `WorkerError` without any.

    Without ``answers`` only their files are checked: training has no use for the rest.
    """
    return [worker.address for worker in checked_workers(client, answers)]


def checked_workers(client: Any, answers: bool = True) -> list[Listed]:
    """The workers of `worker_addresses`, each with what tells it from others at its address."""
    with reported(client):
        return on_loop(client, lambda: _usable(Watch(client), answers))


async def _usable(watch: Watch, answers: bool) -> list[Listed]:
    import asyncio

    while True:
        there, silent = await watch.look()
        workers = alive(there)
        if workers:
            new = _unknown(there, workers, answers)
            if not new or await _ask(watch, new, answers):
                return workers
        elif silent or watch.silence.empty >= watch.limit:
            raise none_left(watch.client, watch.limit, there)
        elif watch.silence.empty >= SAY:
            watch.sayings.say(
                f"{watch.client} has no workers: waiting for one, {watch.limit:g} s in all "
                "(worker_timeout=)",
                "no workers",
            )
        await asyncio.sleep(_AGAIN)


def _unknown(there: list[Listed], workers: list[Listed], answers: bool) -> list[Listed]:
    """Those of ``workers`` that have not been asked; what is known of those gone is dropped."""
    scheduler = there[0].key[0]
    known = _trusted.get(scheduler, {})
    _trusted[scheduler] = {one.key: known[one.key] for one in there if one.key in known}
    return [one for one in workers if known.get(one.key, None) not in (answers, True)]


async def _ask(watch: Watch, new: list[Listed], answers: bool) -> bool:
    """Ask ``new`` workers; whether all have answered: one that died or is silent has not."""
    import asyncio

    asked = {one: asyncio.ensure_future(_answer(watch.client, one, answers)) for one in new}
    awaited = dict.fromkeys(asked, "what it says of its speedcube")
    failed: dict[Listed, BaseException] = {}
    lost: set[Listed] = set()
    try:
        while asked:
            await asyncio.wait(asked.values(), timeout=LOOK)
            for one in [one for one, question in asked.items() if question.done()]:
                failure = await _took(watch.client, one, asked.pop(one), answers)
                if failure is not None:
                    failed[one] = failure
            if asked:
                there, silent = await watch.look()
                given_up = await watch.hopeless(silent, awaited)
                left = len({*alive(there)} - {*silent})
                if left:
                    watch.say_given_up({one: silent[one] for one in given_up}, awaited, left)
                lost |= {*asked} - {*there} | {*given_up}
                for one in lost & {*asked}:
                    asked.pop(one).cancel()
    finally:
        for question in asked.values():
            question.cancel()
    if failed:
        await _unreached(watch, failed)
    return not failed and not lost


async def _unreached(watch: Watch, failed: Mapping[Listed, BaseException]) -> None:
    """Give up those of the ``failed`` that are silent, too; `WorkerError` for one that is not."""
    there, silent = await watch.look()
    quiet = {one: seconds for one, seconds in silent.items() if one in failed}
    await watch.hopeless(quiet, dict.fromkeys(quiet, "what it says of its speedcube"))
    living = [one for one in failed if one in there and one not in quiet]
    # One that was stopped is known as silent after a while only.
    if living and time.monotonic() - watch.began > max(watch.limit, SAY + 2 * LOOK):
        raise WorkerError(
            f"worker {living[0]} could not be reached from its scheduler for {watch.limit:g} s: "
            f"{failed[living[0]]}; see its log, or start it again (worker_timeout= says how long "
            "this tries)"
        ) from failed[living[0]]


async def _answer(client: Any, worker: Listed, answers: bool) -> Any:
    async def said(answers: bool) -> tuple[str, ...]:  # sent by value: it may lack the package
        import asyncio
        from importlib import import_module

        def found() -> tuple[str, ...]:
            try:
                import_module("speedcube")
                version = str(import_module("speedcube.__about__").__version__)
            except ModuleNotFoundError as err:
                if err.name not in ("speedcube", "speedcube.__about__"):
                    raise
                return ()
            try:
                module = import_module("speedcube.engine.clusters.fingerprint")
            except ModuleNotFoundError:
                return (version,)
            return tuple(module.said(answers))

        for _ in range(3):
            try:
                return await asyncio.to_thread(found)  # a worker goes on while it compiles
            except ModuleNotFoundError:
                raise
            except ImportError:  # another thread is in the middle of importing it
                await asyncio.sleep(0.2)
        return found()

    question = client.run(said, answers, workers=[worker.address], on_error="return")
    (answer,) = (await question).values()
    return answer


async def _took(
    client: Any, worker: Listed, question: asyncio.Future[Any], answers: bool
) -> BaseException | None:
    """Trust ``worker`` if its answer is right; what came instead if its connection ended."""
    answer = question.exception() or question.result()
    if isinstance(answer, OSError):
        return answer
    if isinstance(answer, BaseException):
        raise WorkerError(
            f"worker {worker} cannot say which speedcube it has: {type(answer).__name__}: "
            f"{answer}; see its log, and run speedcube verify there"
        ) from answer
    here, there = expected(answers), Fingerprint(*answer)
    if there != here:
        files = await _files(client, worker) if there.sources else {}
        raise WorkerError(refusal(worker.address, here, there, files))
    _trusted[worker.key[0]][worker.key] = answers
    return None


async def _files(client: Any, worker: Listed) -> dict[str, str]:
    """The hashes of the package's files on ``worker``, if it can tell."""
    import asyncio

    def digests() -> dict[str, str]:
        from importlib import import_module

        module = import_module("speedcube.engine.clusters.fingerprint")
        return dict(module.source_digests())

    try:
        question = client.run(digests, workers=[worker.address], on_error="return")
        (answer,) = (await asyncio.wait_for(question, _FILES)).values()
    except Exception:  # what is told with them is known
        return {}
    return answer if isinstance(answer, dict) else {}
