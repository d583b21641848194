"""Values on their way between processes: cloudpickle, and tensors of a GPU as CPU tensors."""

from __future__ import annotations

import io
import sys
from typing import Any

import cloudpickle


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Copies a tensor off its GPU: whoever unpickles it may have none. Notices Dask's futures."""

    def reducer_override(self, obj: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(obj, torch.Tensor) and obj.is_cuda:
            return obj.detach().cpu().__reduce_ex__(self.proto)
        distributed = sys.modules.get("distributed")
        if distributed is not None and isinstance(obj, distributed.Future):
            self.futures = True
        return super().reducer_override(obj)

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.proto = 5
        self.futures = False


def dumps(value: Any) -> bytes:
    """``value`` pickled, functions and classes of a notebook by value."""
    return dumps_call(value)[0]


def dumps_call(value: Any) -> tuple[bytes, bool]:
    """``value`` pickled, and whether futures of Dask are somewhere in it."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    return file.getvalue(), pickler.futures
