"""The states of the random generators of a process: PyTorch, NumPy, Python.

What ``torch.rand``, ``numpy.random.rand`` and ``random.random`` draw next is a function of these.
Generators that a program makes itself (``torch.Generator``, ``numpy.random.default_rng``) are its
own: their states belong in its checkpoint.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ...errors import CheckpointError

RngState = dict[str, Any]  # of numbers and NumPy arrays alone, so that it can be saved and sent


def capture() -> RngState:
    """Return the states of this process; the GPU's is the current device's, once it is in use."""
    import torch

    version, words, gauss = random.getstate()
    used = torch.cuda.is_available() and torch.cuda.is_initialized()
    return {
        "python": {"version": version, "words": np.array(words, np.uint32), "gauss": gauss},
        "numpy": np.random.get_state(legacy=False),
        "torch": torch.get_rng_state().numpy(),
        "cuda": torch.cuda.get_rng_state().numpy() if used else None,
    }


def restore(state: RngState) -> None:
    """Make this process draw what the captured one drew next.

    The GPU's state is left out on a machine without one.

    Raises
    ------
    CheckpointError
        For what is no state of these generators.
    """
    import torch

    try:
        python, legacy, cuda = state["python"], state["numpy"], state["cuda"]
        if legacy["bit_generator"] == "MT19937" and not 0 <= legacy["state"]["pos"] <= 624:
            raise ValueError("a place beyond the generator's words")  # which NumPy does not check
        random.setstate((python["version"], tuple(python["words"].tolist()), python["gauss"]))
        np.random.set_state(legacy)
        torch.set_rng_state(torch.from_numpy(state["torch"]))
        if cuda is not None and torch.cuda.is_available():
            torch.cuda.set_rng_state(torch.from_numpy(cuda))
    except (
        AttributeError,
        LookupError,
        RuntimeError,
        TypeError,
        ValueError,
        OverflowError,
    ) as error:
        raise CheckpointError(f"not a state of the random generators: {error}") from error
