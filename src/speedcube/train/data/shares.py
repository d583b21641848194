"""Which places of an epoch's order each batch has, and which of them are a rank's."""

from __future__ import annotations

from typing import Final

from ...dataclass import dataclass
from ...errors import ParameterError

# What becomes of the rows that do not fill a batch.
LAST: Final = {
    "drop": "left out of this epoch",
    "pad": "filled up with the first rows of the epoch's order",
    "short": "a batch of fewer rows",
}


@dataclass(frozen=True)
class Shares:
    """Batches of ``batch`` rows for all ranks together; ``rank`` takes its part of each.

    Batch k has the places k * batch ... (k + 1) * batch - 1 of the order, whoever asks: the ranks
    share them out, in turn a stretch each. So the batches are the same for any ``world_size``.
    """

    rows: int
    batch: int
    last: str
    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise ParameterError("the arrays have no rows; batches need at least one")
        if self.last not in tuple(LAST):
            ways = ", ".join(f"{name!r} ({what})" for name, what in LAST.items())
            raise ParameterError(
                f"last={self.last!r} is not a rule for the last batch; the rules are {ways}"
            )
        if self.world_size < 1 or not 0 <= self.rank < self.world_size:
            raise ParameterError(
                f"rank {self.rank} of world_size {self.world_size}: a rank is between 0 and "
                "world_size - 1"
            )
        if self.batch < 1:
            raise ParameterError(f"batch_size must be 1 or more, not {self.batch}")
        if self.batch % self.world_size:
            less = self.batch - self.batch % self.world_size
            near = f"{less} or {less + self.world_size}" if less else f"{self.world_size}"
            raise ParameterError(
                f"batch_size counts the rows of all ranks together, and {self.batch} do not divide "
                f"by {self.world_size} ranks; {near} would"
            )
        if self.last == "drop" and self.batch > self.rows:
            raise ParameterError(
                f"batch_size {self.batch} is more than the {self.rows} rows there are, and "
                "last='drop' would leave no batch; use a smaller one, last='short' or last='pad'"
            )

    @property
    def each(self) -> int:
        """Rows of this rank in a whole batch."""
        return self.batch // self.world_size

    @property
    def whole(self) -> int:
        """How many batches have ``batch`` rows."""
        return self.rows // self.batch if self.last != "pad" else -(-self.rows // self.batch)

    @property
    def count(self) -> int:
        """How many batches an epoch has, on every rank."""
        return self.rows // self.batch if self.last == "drop" else -(-self.rows // self.batch)

    def size(self, number: int) -> int:
        """Rows of batch ``number`` on all ranks together."""
        return self.batch if number < self.whole else self.rows - number * self.batch

    def span(self, number: int) -> tuple[int, int]:
        """Places of batch ``number`` that are this rank's: from, up to.

        Those of a padded batch beyond the last row stand for the order's first.
        """
        first, size = number * self.batch, self.size(number)
        end = first + size * (self.rank + 1) // self.world_size
        return first + size * self.rank // self.world_size, end
