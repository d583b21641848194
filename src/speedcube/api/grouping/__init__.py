"""Results of each group of elements, and what counts and ranks values."""

from .groups import Groups, groupby
from .reduce import groupby_reduce
from .values import mode, rank, value_counts

__all__ = ["Groups", "groupby", "groupby_reduce", "mode", "rank", "value_counts"]
