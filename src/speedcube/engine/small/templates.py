"""A structure with marks in the places of what it leaves out, planned and lowered as usual.

The marks are found again among the kernel's parameters. That is how a kernel that was made once
takes other constants and other keys.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from ...dataclass import dataclass
from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Random,
    Reduced,
    Source,
    Stored,
    c_strides,
    walk,
)
from ...expr.space import build, tile
from ...kernel.lower.lower import lower_several
from ...philox import round_keys
from ...plan.requests import of_numbers
from ...plan.stages import Stage, make_stage
from ..prepare import Prepared, prepare, prepare_folded, prepare_many, prepared_of
from ..results import strides_of
from .lengths import PACKED
from .structure import NotSmallError, Structure, is_long, word

_NO_DATA: Final = np.empty(0)
# A constant's mark is a NaN of its own: of NaN nothing is known, so that a kernel made for it holds
# whatever the constant is.
_QUIET: Final = 0x7FFC_ED00_0000_0000
_STEP: Final = 29  # marks are numbered in the bits that a float32 NaN keeps
_KEY: Final = 0x5CED_0B5E_6C4A_11E3


@dataclass(frozen=True, eq=False)
class Slots:
    """A kernel of a structure, and where its arguments go.

    ``data`` has the kernel's leaves that are data, each with the number of its array, ``constants``
    the parameter of each constant (None: their values count, and are in the kernel's parameters
    already), ``random`` the first parameter of each key with the number of its source. ``sources``
    stand for the arrays in ``stage`` and ``numbers`` for its constants; its results are
    ``several``.
    """

    stage: Stage
    sources: tuple[Source, ...]
    numbers: tuple[Const, ...]
    several: bool
    prepared: Prepared
    data: tuple[tuple[int, int], ...]
    constants: tuple[int, ...] | None
    random: tuple[tuple[int, int], ...]
    order: tuple[int, ...] | None  # of the axes of what is stored, in memory; None: C order


def slots_of(found: Structure, on_host: bool = True) -> Slots:
    """The kernel of ``found``.

    Several results of a reduction are the worker's own business: there the constants count.
    `NotSmallError` where random keys would, too.
    """
    own = [replace(constant) for constant in found.constants]
    stage, prepared, data = _prepared(found, own, on_host)
    several = found.source is not None and prepared.loops[0] != 1
    if on_host and found.source is not None and not found.line and is_long(found):
        one = not several
        several = several or finishing_kernel(stage) is not None
        if several and found.constants and not (one and _takes_any(stage)):
            raise NotSmallError  # a program's take any
    if several and found.random:
        raise NotSmallError
    numbers = {id(leaf): k for k, leaf in enumerate(data)}
    leaves = [(k, id(leaf)) for k, leaf in enumerate(prepared.space.leaves)]
    arrays = tuple((k, numbers[leaf]) for k, leaf in leaves if leaf in numbers)
    sources = tuple(leaf.source for leaf in data)
    given = _given(found, stage, prepared, several, on_host)
    random = _random(found, prepared)
    lies = stage.order if on_host else None
    return Slots(stage, sources, tuple(own), several, prepared, arrays, given, random, lies)


def finishing_kernel(stage: Stage) -> Prepared | None:
    """The kernel that finishes the results of ``stage``; None where there is none."""
    part = stage.parts[0]
    return prepare_folded(stage, part) or prepare_many(stage, part)


def _takes_any(stage: Stage) -> bool:
    """Whether that kernel takes any constants: it leaves no result to be made from ``stage``."""
    return prepare_folded(stage, stage.parts[0]) is not None


def _given(
    found: Structure, stage: Stage, prepared: Prepared, several: bool, on_host: bool
) -> tuple[int, ...] | None:
    """The parameters that are the constants; None where their values are in the kernel."""
    if not found.constants:
        return ()
    if not several:
        return _constants(found, prepared, on_host)
    folded = prepare_folded(stage, stage.parts[0]) if on_host and is_long(found) else None
    return None if folded is None else _constants(found, folded, on_host)


def prepared_for(found: Structure, numbers: Sequence[Const]) -> tuple[Stage, list[Leaf]]:
    """A stage like ``found`` with ``numbers`` for constants; what stands for the data."""
    stage, _, data = _prepared(found, numbers, True)
    return stage, data


def _prepared(
    found: Structure, numbers: Sequence[Const], on_host: bool
) -> tuple[Stage, Prepared, list[Leaf]]:
    """The stage and its kernel, with ``numbers`` for constants; what stands for the data."""
    shape = (math.prod(found.root.shape),) if found.line else found.root.shape
    constants, keys, data = iter(numbers), iter(range(len(found.random))), []
    done: dict[int, Expr] = {}

    def leaf(node: Leaf) -> Leaf:
        source, strides = node.source, node.strides
        if found.line:
            strides = (int(any(strides)),)
        if isinstance(source, Const):
            own = next(constants) if source.dtype in PACKED else source
            return Leaf(own, shape, 0, (0,) * len(shape))
        if isinstance(source, Stored):
            data.append(Leaf(Stored(_NO_DATA, source.dtype), shape, 0, strides))
            return data[-1]
        if isinstance(source, Random):
            key = _KEY + next(keys)
            source = Random(source.distribution, key, source.parameters, source.dtype)
        return Leaf(source, shape, node.offset, strides)

    for node in walk(found.root):  # no function that calls itself: sources would live in a cycle
        done[id(node)] = (
            leaf(node)
            if isinstance(node, Leaf)
            else Map(node.op, tuple(done[id(arg)] for arg in node.args), shape, node.dtype)
        )
    root, source = done[id(found.root)], found.source
    if source is not None:
        axes = (0,) if found.line else source.axes
        source = Reduced(source.op, root, axes, False, source.dtype, source.ddof)
    stage = make_stage(*of_numbers(root, source), 1)
    if isinstance(root, Map) and root.op == "several":
        return stage, _both_parts(root), data
    steps = strides_of(shape, stage.order) if on_host and stage.order else None
    return stage, prepare(stage, stage.parts[0], steps, gpu=not on_host), data


def _both_parts(root: Map) -> Prepared:
    """What stores both parts of complex numbers in C order, one beside the other."""
    space = build(root, (), (), tuple(2 * step for step in c_strides(root.shape)), everywhere=True)
    tiling = tile(space)
    both = ((0, None), (1, None))
    return prepared_of(space, tiling, lower_several(root, space, tiling, both, (0,)))


def _constants(found: Structure, actual: Prepared, on_host: bool) -> tuple[int, ...] | None:
    """The parameters that are the constants and nothing else; None where the kernel needs more."""
    if _folds(found.root):
        return None
    marks = [
        struct.unpack("<d", struct.pack("<Q", _QUIET | k << _STEP))[0]
        for k in range(len(found.constants))
    ]
    pairs = zip(found.constants, marks, strict=True)
    stage, free, _ = _prepared(found, [replace(c, value=mark) for c, mark in pairs], on_host)
    if actual.program.sink.folded is not None:
        free = prepare_folded(stage, stage.parts[0]) or free
    words = free.params.tolist()
    places = []
    for constant, mark in zip(found.constants, marks, strict=True):
        marked = word(mark, constant.dtype)
        if words.count(marked) != 1:
            return None
        places.append(words.index(marked))
    for place, constant in zip(places, found.constants, strict=True):
        words[place] = word(constant.value, constant.dtype)
    same = free.program == actual.program and words == actual.params.tolist()
    return tuple(places) if same else None


def _folds(root: Expr) -> bool:
    """Whether some node is made of constants alone, so that lowering computes with them."""
    constant: dict[int, bool] = {}

    def visit(node: Expr) -> bool:
        if id(node) not in constant:
            if isinstance(node, Leaf):
                constant[id(node)] = isinstance(node.source, Const)
            else:
                args = [visit(arg) for arg in node.args]
                constant[id(node)] = all(args)
                folded.append(all(args))
        return constant[id(node)]

    folded: list[bool] = []
    visit(root)
    return any(folded)


def _random(found: Structure, prepared: Prepared) -> tuple[tuple[int, int], ...]:
    """Where the round keys of each random source begin."""
    words = prepared.params.tolist()
    places = []
    for number in range(len(found.random)):
        keys = [int(key) for key in round_keys(_KEY + number)]
        at = [k for k in range(len(words)) if words[k : k + len(keys)] == keys]
        if not at:
            raise NotSmallError
        places += [(place, number) for place in at]
    return tuple(places)
