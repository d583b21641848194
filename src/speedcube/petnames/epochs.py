"""What a rank trains on: its rows of every batch, from `speedcube.train.batches`.

The ranks' shares of an epoch are disjoint, and the batch is the one of all ranks together: any
number of them sees the same batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from .. import train
from ..errors import ParameterError

if TYPE_CHECKING:
    import torch

# A rank's rows of a batch, and how many rows the batch has on all ranks.
Batch: TypeAlias = "tuple[torch.Tensor, int]"


class Epochs:
    """The batches of ``rows``, each of at most ``batch`` rows on all ranks together.

    Rows stay in host memory, for which `speedcube.train.batches` needs no package beside PyTorch,
    and a step copies its own to the GPU.

    Attributes
    ----------
    wholes
        Rows of each batch of an epoch, on all ranks together. The last batch may be smaller. It is
        left out where some rank would have none of it.
    """

    def __init__(self, rows: npt.NDArray[np.uint8], batch: int, seed: int) -> None:
        import torch

        rank, world = train.rank(), train.world_size()
        self._rows, self._batch, self._seed = torch.from_numpy(rows), batch, seed
        # A batch that does not divide by the ranks is drawn whole on each, and they take turns.
        divides = batch % world == 0
        self._place = (rank, world) if divides else (0, 1)
        self._turn = slice(None) if divides else slice(rank, None, world)
        first = self._batches(0)
        sizes = [first.rows(number) for number in range(len(first))]
        self.wholes = [size for size in sizes if size >= world]
        if not self.wholes:
            raise ParameterError(f"batches of {sizes[0]} rows are none for {world} ranks")

    def begin(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch, the first of them made now and each other in its turn.

        So a GPU that is still at the steps of one epoch need not wait for the next.
        """
        batches = zip(self._batches(epoch), self.wholes, strict=False)
        mine = ((rows[self._turn], whole) for rows, whole in batches)
        return chain([next(mine)], mine)

    def _batches(self, epoch: int) -> train.Batches:
        rank, world = self._place
        return train.batches(
            self._rows,
            self._batch,
            self._seed,
            epoch,
            last="short",
            rank=rank,
            world_size=world,
            device="cpu",
        )
