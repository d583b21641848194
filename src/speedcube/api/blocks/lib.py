"""``speedcube.lib.stride_tricks``, where xarray looks for NumPy's windows of an array's library."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final, NoReturn

from ...errors import UnsupportedError
from .windows import numpys_sliding_window_view


def _as_strided(x: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise UnsupportedError(
        "as_strided: arrays have no layout in memory; sliding_window_view gives windows"
    )


stride_tricks: Final = SimpleNamespace(
    as_strided=_as_strided, sliding_window_view=numpys_sliding_window_view
)
