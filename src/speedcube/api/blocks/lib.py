"""``speedcube.lib.stride_tricks``, where xarray looks for NumPy's windows of an array's library."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from .strided import as_strided
from .windows import numpys_sliding_window_view

stride_tricks: Final = SimpleNamespace(
    as_strided=as_strided, sliding_window_view=numpys_sliding_window_view
)
