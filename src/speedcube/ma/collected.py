"""A masked array as a Dask collection: that of the array of Dask's that it becomes."""

from __future__ import annotations

from typing import Any


class Collected:
    """Dask's protocol for collections, of what `to_dask_array` gives."""

    __slots__ = ("_collection",)
    _collection: Any  # None until Dask asks

    def to_dask_array(self) -> Any:
        """The same as an array of Dask's."""
        raise NotImplementedError

    def _as_dask(self) -> Any:
        if self._collection is None:
            self._collection = self.to_dask_array()
        return self._collection

    def __dask_graph__(self) -> Any:
        return self._as_dask().__dask_graph__()

    def __dask_keys__(self) -> Any:
        return self._as_dask().__dask_keys__()

    def __dask_layers__(self) -> Any:
        return self._as_dask().__dask_layers__()

    def __dask_tokenize__(self) -> Any:
        return self._as_dask().__dask_tokenize__()

    def __dask_postcompute__(self) -> Any:
        return self._as_dask().__dask_postcompute__()

    def __dask_postpersist__(self) -> Any:
        return self._as_dask().__dask_postpersist__()

    @property
    def __dask_optimize__(self) -> Any:
        return self._as_dask().__dask_optimize__

    @property
    def __dask_scheduler__(self) -> Any:
        return self._as_dask().__dask_scheduler__
