"""A worker on a machine that may be taken away: python worker.py tls://host:8786.

At SIGTERM, which a machine that is shut down sends half a minute before its end, what lies on this
worker is moved to others, and it leaves. Parts that it was computing others go on with.
"""

import argparse
import asyncio
import os
import signal

from distributed import Client, Nanny

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("scheduler")
parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--memory-limit", default="auto")
parser.add_argument("--notice", type=float, default=25.0, help="seconds to leave in")


async def leave(scheduler: str, worker: str) -> None:
    """Move what lies on ``worker`` to the others, and close it."""
    async with Client(scheduler, asynchronous=True, set_as_default=False) as client:
        await client.retire_workers([worker], close_workers=True, remove=True)


async def run(asked: argparse.Namespace) -> None:
    """Work until SIGTERM, or until the scheduler is gone."""
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    async with Nanny(
        asked.scheduler,
        nthreads=asked.threads,
        memory_limit=asked.memory_limit,
        death_timeout=300,  # a scheduler that is away for longer has ended
        dashboard=False,
        dashboard_address="127.0.0.1:0",
    ) as nanny:
        print(f"works as {nanny.worker_address}", flush=True)
        ended = asyncio.create_task(nanny.finished())
        notice = asyncio.create_task(told.wait())
        await asyncio.wait({ended, notice}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():
            try:
                moved = leave(asked.scheduler, nanny.worker_address)
                await asyncio.wait_for(moved, asked.notice)
                print("left, and nothing is lost", flush=True)
            except (OSError, TimeoutError) as err:
                print(f"left in a hurry ({err!r}): others compute anew what is lost", flush=True)
        ended.cancel()
        notice.cancel()


if __name__ == "__main__":
    asyncio.run(run(parser.parse_args()))
