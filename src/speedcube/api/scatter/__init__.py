"""What is added, or held against what is there, at given places: in any order, the same bits."""

from .segments import segment_max, segment_min, segment_sum
from .sparse import csr_matvec

__all__ = ["csr_matvec", "segment_max", "segment_min", "segment_sum"]
