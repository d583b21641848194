"""Functions that assign, for arrays of NumPy's too: its own function writes them at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

import numpy as np

from ..array import Array


def also_into_numpys(ours: Callable[..., None]) -> Callable[..., None]:
    """``ours``, or NumPy's function of its name where NumPy's own array is assigned to."""
    theirs = getattr(np, ours.__name__)
    name = next(iter(signature(ours).parameters))

    @wraps(ours)
    def function(*args: Any, **keywords: Any) -> None:
        target = args[0] if args else keywords.get(name)
        if not isinstance(target, np.ndarray):
            ours(*args, **keywords)
            return
        named = {key: _computed(value) for key, value in keywords.items()}
        theirs(*map(_computed, args), **named)

    return function


def _computed(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, Array) else value
