"""`Array`'s methods and attributes that Dask's arrays have besides NumPy's."""

from .attributes import Gridded
from .calls import Called
from .leaving import Leaving


class Chunked(Called, Gridded, Leaving):
    """An array that is cut into chunks: how, and what is made of each."""

    __slots__ = ()
