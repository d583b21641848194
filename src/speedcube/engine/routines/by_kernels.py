"""Routines of ours that kernels make, in the place of what says what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...expr.routines.covariances import COVARIANCES
from ...expr.routines.row import Routine
from ...expr.routines.sliding import SLID
from .covariances import covariances
from .slid import slides

KERNELS: Final[dict[str, Callable[..., Any]]] = {SLID: slides, COVARIANCES: covariances}


def by_kernels(routine: Routine) -> Callable[..., Any]:
    """What makes ``routine`` of NumPy's arrays."""
    return KERNELS.get(routine.name, routine.run)
