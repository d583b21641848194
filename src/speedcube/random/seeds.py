"""Seeds: what a stream of numbers starts from, and the turn that callers take."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ParameterError

Seed = int | Sequence[int] | np.random.SeedSequence | None

TURN = threading.Lock()  # one for all, so that generators can be copied and pickled
if hasattr(os, "register_at_fork"):  # a child never gets it locked by a thread it has not
    os.register_at_fork(
        before=TURN.acquire, after_in_parent=TURN.release, after_in_child=TURN.release
    )


def entropy_of(seed: Any) -> tuple[int, ...]:
    """The integers of ``seed``; without one, 128 bits from the system."""
    if seed is None:
        return (secrets.randbits(128),)
    if isinstance(seed, np.random.SeedSequence):
        return entropy_of(seed.entropy)
    given = tuple(seed) if isinstance(seed, (tuple, list, np.ndarray)) else (seed,)
    for part in given:
        if isinstance(part, bool) or not hasattr(part, "__index__") or int(part) < 0:
            raise ParameterError(f"a seed is an integer >= 0 or a sequence of them, not {seed!r}")
    return tuple(int(part) for part in given)
