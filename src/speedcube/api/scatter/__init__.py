"""What is added, or held against what is there, at given places: in any order, the same bits."""

from . import ufuncs as _ufuncs  # noqa: F401  (``np.add.at`` takes our arrays from here on)
from .segments import segment_max, segment_min, segment_sum
from .sparse import csr_matvec

__all__ = ["csr_matvec", "segment_max", "segment_min", "segment_sum"]
