"""Regions of few elements, made step by step until they were met often.

An array with borders has a region for each edge and each corner. A kernel for one takes tens of
milliseconds to compile, and saves a tenth of one: a program whose steps each have borders of their
own would be compiled for half a minute.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Expr, Leaf, Map, Reduced, StageResult, Stored, walk, whole
from ...plan.regions import Region
from ...plan.stages import Part, Stage
from .. import cpu
from ..boxes import Stop
from ..prepare import prepare
from ..stepwise import choice
from ..stepwise.walk import made_of

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[int, Array]

_NEVER: Final = Stop()


def left(
    regions: Sequence[Region], out: Any, inputs: Inputs, device: int | None
) -> Iterator[Region]:
    """Store the few elements of ``regions`` in ``out``; those that are left to kernels."""
    for region in regions:
        made = _elements(region, inputs) if device is None else None
        if made is None:
            yield region
        else:
            out[region.kept] = made


def in_memory(regions: Sequence[Region], inputs: Inputs, device: int | None) -> Iterator[Region]:
    """``regions``; of few elements those that read what was made of them, by one kernel for all.

    A dot takes the factors of its products, which are not rounded: it is left as it is.
    """
    for region in regions:
        is_left = device is not None or region.stage.op == "dot"
        made = None if is_left else _elements(region, inputs)
        yield region if made is None else _over(region, made)


def _over(region: Region, made: Array) -> Region:
    """``region``, whose elements are ``made``."""
    stage = region.stage
    root = whole(Stored(np.ascontiguousarray(made), stage.root.dtype), stage.root.shape)
    source = stage.source
    if isinstance(source, Reduced):
        source = replace(source, arg=root)
    one = Part(root, region.part.extra, None, 0, 0)
    return Region(region.at, Stage(root, source, stage.axes, (one,), "one"))


def _elements(region: Region, inputs: Inputs) -> Array | None:
    """What ``region`` has, if it is little and was not met often."""
    root = region.part.root
    size = math.prod(root.shape)
    if not 0 < size <= choice.FEW or size > choice.Limits.first or type(root) is not Map:
        return None
    if not choice.is_new(region.structure, size):
        return None
    made = made_of([_over_arrays(root, inputs)], choice.FEW, _made)
    return None if made is None else made[0]


def _over_arrays(root: Expr, inputs: Inputs) -> Expr:
    """``root`` that reads the arrays of ``inputs`` themselves."""
    done: dict[int, Expr] = {}
    for node in walk(root):
        new: Expr = node
        if isinstance(node, Map):
            args = tuple([done[id(arg)] for arg in node.args])
            if any(a is not b for a, b in zip(args, node.args, strict=True)):
                new = Map(node.op, args, node.shape, node.dtype)
        elif isinstance(node.source, StageResult):
            array = inputs[id(node.source)]
            new = Leaf(Stored(array, node.dtype), node.shape, node.offset, node.strides)
        done[id(node)] = new
    return done[id(root)]


def _made(root: Expr) -> Array:
    """One operation, by its kernel: a function that NumPy has with other bits."""
    one = Part(root, (), None, 0, 0)
    out = np.empty(root.shape, root.dtype)
    cpu.run_store(prepare(Stage(root, None, (), (one,), "one"), one, None), {}, out, _NEVER)
    return out
