"""Whether all ranks stop at a step: each says whether it has a reason, before any goes on.

Through the store that they share, and not with an operation of their group: a rank that does not
report would take its own next operation for this one, and compute with its numbers.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from ...errors import TrainError
from ..messages import Launch
from .peers import Absent, Peers, Wait
from .store import Steps

STEP_SECONDS: Final = timedelta(days=30)  # the driver knows how long a step may take
_DONE: Final = b"+"


def agree(steps: Steps, peers: Peers, launch: Launch, step: int, reason: str) -> str:
    """The reason of the first rank that has one, "" where none has; the same in every rank.

    Raises
    ------
    TrainError
        A rank does not report at this step.
    """
    rank, size = launch.rank, launch.settings.world_size
    words = {other: f"said/{step}/{other}" for other in range(size)}
    answer = f"agreed/{step}"
    store, own = steps.at(step)
    store.set(words[rank], _DONE + reason.encode())
    if store.add(f"count/{step}", 1) == size:
        said = [word[1:] for word in store.multi_get([*words.values()])]
        store.set(answer, _DONE + next(filter(None, said), b""))
    try:
        wait = Wait(f"its report {step}", step, words, answer, own)
        agreed = peers.answer(store, wait, STEP_SECONDS)
    except Absent as err:
        raise TrainError(
            f"rank {rank} is in its report {step}, but {err}: with stop_on_nan=True or "
            "prunable=True, and in sweeps, all ranks stop at one step, so every rank has to call "
            "train.report() at every step"
        ) from None
    store.delete_key(f"said/{step - 1}/{rank}")  # which all have heard who have come here
    if rank == 0:
        store.delete_key(f"count/{step - 1}")
        store.delete_key(f"agreed/{step - 1}")
    return agreed[1:].decode()
