"""The order of an epoch's rows: a keyed permutation, a piece of it computed when it is needed."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.random import SeedSequence

from ...api.namespace.ranges import arange
from ...api.sources import asarray
from ...random.generator import default_rng
from ...random.permutations import permutation_key, permuted_place
from ...random.seeds import seed_sequence
from .kernel import Kernel
from .shares import Shares

# Child of a seed that orders rows; its own children are the epochs. No child that `spawn` gives
# has this number before four billion others.
CHILD: Final = 2**32 - 1
# Places computed at once: a millisecond of a CPU, and no more calls of Python than that pays for.
CHUNK: Final = 1 << 16


def epoch_key(seed: Any, epoch: int) -> tuple[int, int]:
    """The key of the order of ``epoch``.

    The order is ``default_rng(SeedSequence(seed, spawn_key=(2**32 - 1, epoch))).permutation(n)``.
    """
    parent = seed_sequence(seed)
    child = SeedSequence(parent.entropy, spawn_key=(*parent.spawn_key, CHILD, epoch))
    return permutation_key(default_rng(child))


class Order:
    """The rows of each of a rank's batches as index tensors on ``device``.

    They are computed for some batches ahead. For one thread at a time.
    """

    def __init__(self, shares: Shares, key: tuple[int, int], device: Any) -> None:
        self.shares, self.device = shares, device
        self.key = [_scalar(word - (word >> 63 << 64), device) for word in key]  # the same bits
        chunks = max(1, -(-shares.whole * shares.each // CHUNK))
        self.ahead = -(-shares.whole // chunks)
        self.first = self.known = 0  # batches first ... first + known - 1 are in chunk
        self.chunk: Any = None

    def batch(self, number: int) -> Any:
        """The rows of batch ``number``: int64."""
        if not self.first <= number < self.first + self.known:
            self._compute(number)
        return self.chunk[number - self.first]

    def _compute(self, number: int) -> None:
        begin, end = self.shares.span(number)
        left = max(1, self.shares.whole - number)
        count = self.ahead if number < self.shares.whole else 1
        piece = _piece(self.shares, count, end - begin, self.device)
        self.chunk = piece(_scalar(begin, self.device), *self.key)
        self.first, self.known = number, min(count, left)


def _scalar(value: int, device: Any) -> Any:
    """``value`` on ``device``; to a GPU it goes with the call that fills it."""
    import torch

    return torch.full((1,), value, dtype=torch.int64, device=device)


@lru_cache(maxsize=64)
def _piece(shares: Shares, count: int, each: int, device: Any) -> Kernel:
    """The rows at ``each`` places of ``count`` batches, given the first place and the key's words.

    So one kernel, made once, gives every piece of the order of every epoch.
    """
    begin, low, high = (asarray(np.zeros(1, kind)) for kind in ("int64", "uint64", "uint64"))
    place = begin + arange(count * shares.batch).reshape(count, shares.batch)[:, :each]
    if shares.last == "pad":
        place = place % shares.rows
    return Kernel(permuted_place(place, shares.rows, (low, high)), (begin, low, high), device)
