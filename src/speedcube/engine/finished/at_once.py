"""Results that kernels of a CPU make without a doubt: folds, and products of pairs of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from numpy.typing import NDArray

from ...plan.stages import Part, Stage
from ..boxes import Stop
from ..prepare import prepare_folded
from .cpu import run_folded
from .pairs import run_pairs

Array: TypeAlias = NDArray[Any]


def results_of(
    stage: Stage, part: Part, inputs: Mapping[int, Array], stop: Stop, out: Any
) -> Array | None:
    """The results of ``part``, in ``out`` if they can be made there; None: they are others."""
    folded = prepare_folded(stage, part)
    if folded is not None:
        return run_folded(folded, inputs, stop, stage.dtype, out)
    return run_pairs(stage, part, inputs, stop, out)
