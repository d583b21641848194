"""Training on a GPU with large shared memory: Triton kernels for the LSTM, steps as CUDA graphs.

Only a rank on such a GPU imports the modules of this package, which need PyTorch and Triton when
they load; `why_not` tells first whether they would run.
"""

from __future__ import annotations

import importlib.util
import shutil
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import torch

SHARED_MEMORY: Final = 213_000  # bytes that a block of the forward kernel takes


def why_not(device: torch.device) -> str:
    """Why the modules of this package cannot train on ``device``, or "" where they can."""
    import torch

    if device.type != "cuda":
        return "the device is not a CUDA GPU"
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    if not any(shutil.which(compiler) for compiler in ("cc", "gcc", "clang")):
        return "Triton finds no C compiler"
    offered = torch.cuda.get_device_properties(device).shared_memory_per_block_optin
    if offered < SHARED_MEMORY:
        return f"a block has {offered} bytes of shared memory, the kernels take {SHARED_MEMORY}"
    return ""
