"""Results along the same axes that one kernel makes of the same sums: a mean and a deviation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...plan.passes import Pass
from ...plan.stages import Part, Stage
from ..boxes import Stop
from ..prepare import prepare_along
from .cpu import repaired, run_together

Array: TypeAlias = NDArray[Any]


def own_parts(one: Pass, part: Part) -> list[tuple[Stage, Part]]:
    """The stages of ``one``, each with its own part of the same elements as ``part``."""
    number = one.visited.parts.index(part)
    return [(stage, stage.parts[number]) for stage in one.stages]


def run(
    one: Pass, part: Part, shares: Sequence[Any], inputs: Mapping[int, Array], stop: Stop
) -> bool:
    """The results of ``part`` into ``shares``; whether one kernel can make them."""
    many = prepare_along(one, part)
    if many is None:
        return False
    prepared, order = many
    own = own_parts(one, part)
    found = run_together(prepared, inputs, stop, [shares[k] for k in order])
    for k, (results, failed) in zip(order, found, strict=True):
        whole = repaired(*own[k], inputs, stop, results, failed).reshape(shares[k].shape)
        if not np.may_share_memory(whole, shares[k]):
            shares[k][...] = whole
    return True
