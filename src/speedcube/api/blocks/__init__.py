"""dask.array's functions over blocks of our arrays; the package has them from here."""

from . import overlap, special
from . import twins as _twins  # noqa: F401  (NumPy's functions take our arrays from here on)
from .gufuncs import apply_gufunc, as_gufunc, gufunc
from .lines import apply_along_axis
from .mapping import atop, blockwise, map_blocks, map_overlap, reduction
from .moving import coarsen, push, rechunk, reshape_blockwise, shuffle, unify_chunks
from .reading import from_array, from_delayed, from_npy_stack, from_tiledb
from .storing import to_hdf5, to_npy_stack, to_tiledb

__all__ = [
    "apply_along_axis",
    "apply_gufunc",
    "as_gufunc",
    "atop",
    "blockwise",
    "coarsen",
    "from_array",
    "from_delayed",
    "from_npy_stack",
    "from_tiledb",
    "gufunc",
    "map_blocks",
    "map_overlap",
    "overlap",
    "push",
    "rechunk",
    "reduction",
    "reshape_blockwise",
    "shuffle",
    "special",
    "to_hdf5",
    "to_npy_stack",
    "to_tiledb",
    "unify_chunks",
]
