"""Which rows a rank trains on, batch after batch, by `speedcube.train.batches`.

The ranks' shares of an epoch are disjoint, and the batch is the one of all ranks together: any
number of them sees the same batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias

from .. import train
from ..errors import ParameterError

if TYPE_CHECKING:
    import torch

# The numbers of a rank's rows of a batch, int64 in host memory, and how many all ranks have.
Batch: TypeAlias = "tuple[torch.Tensor, int]"


class Epochs:
    """The batches of ``rows`` rows, each of at most ``batch`` on all ranks together.

    They are batches of the rows' numbers, drawn in host memory. There `speedcube.train.batches`
    needs no package beside PyTorch, and 16,384 numbers take the host a third of a millisecond. The
    rows themselves lie on the device, where a step selects them.

    Attributes
    ----------
    wholes
        Rows of each batch of an epoch, on all ranks together. The last batch may be smaller. It is
        left out where some rank would have none of it.
    """

    def __init__(self, rows: int, batch: int, seed: int) -> None:
        import torch

        rank, world_size = train.rank(), train.world_size()
        self._numbers, self._batch, self._seed = torch.arange(rows), batch, seed
        # A batch that does not divide by the ranks is drawn whole on each, and they take turns.
        divides = batch % world_size == 0
        self._place = (rank, world_size) if divides else (0, 1)
        self._turn = slice(None) if divides else slice(rank, None, world_size)
        first = self._batches(0)
        sizes = [first.rows(number) for number in range(len(first))]
        self.wholes = [size for size in sizes if size >= world_size]
        if not self.wholes:
            raise ParameterError(f"batches of {sizes[0]} rows are too small for {world_size} ranks")

    def begin(self, epoch: int) -> Iterator[Batch]:
        """The batches of an epoch, the first of them made now and each other in its turn.

        So a GPU that is still at the steps of one epoch need not wait for the next.
        """
        # Wholes end first where the last batch is left out: it is not drawn.
        batches = zip(self.wholes, self._batches(epoch), strict=False)
        mine = ((numbers[self._turn], whole) for whole, numbers in batches)
        return chain([next(mine)], mine)

    def _batches(self, epoch: int) -> train.Batches:
        rank, world_size = self._place
        return train.batches(
            self._numbers,
            self._batch,
            self._seed,
            epoch,
            last="short",
            rank=rank,
            world_size=world_size,
            device="cpu",
        )
