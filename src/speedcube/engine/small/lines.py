"""Programs of several stages over short lines: one kernel after the other, for any length.

What a stage does to arrays of one axis is the same for all lengths, but for how many elements there
are. So the stages of such a program are found once, each as a `Reusable` kernel with the places its
arguments come from (`recipe.py`); another length is neither planned nor lowered. An extent or an
offset is in the key as its distance from the nearer end of the longest axis: ``x[2:-3]`` is one
program for all lengths.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...expr.nodes import STAGED, Expr, Leaf, Reduced, Stored
from ...expr.pairs.node import is_pair
from ...kernel.math.positions import SEGMENT
from .. import machine
from ..known.memory import is_known
from ..known.outline import Hashed, NoOutlineError, Outline, outline_of
from ..results import shaped
from ..rungs import Rung
from ..scans import lines as scans
from .call import computed
from .finished import array_at
from .lengths import MOST_LENGTH, extent_of, line_key
from .recipe import LineStep, Made, Recipe, made_for, recipe_of
from .structure import NotSmallError, Structure

MOST: Final = 256  # programs that are remembered; the one not asked for longest is forgotten

_NOTHING: Final = Stored(np.empty(0), "float64")

# A key's recipe; None: seen once; False: there is none; True: constants count.
_known: OrderedDict[Hashable, Recipe | bool | None] = OrderedDict()
_lock = threading.Lock()


def outline(roots: Sequence[Expr]) -> Outline | None:
    """The outline of ``roots``, if they may be a program of short lines."""
    for root in roots:
        if is_pair(root):
            return None
        visited: Expr = root
        if isinstance(root, Leaf) and isinstance(root.source, STAGED):
            visited = root.source.arg
        if len(visited.shape) > 1 or (visited.shape and not 0 < visited.shape[0] <= MOST_LENGTH):
            return None
    try:
        return outline_of(roots, machine.free_memory() // 4)
    except NoOutlineError:
        return None


def values(found: Outline, roots: Sequence[Expr], rung: Rung) -> list[Any] | None:
    """The values of ``roots``, whose outline is ``found``; None where they are planned.

    So when a program is seen for the first time, for many are never seen again, and where that
    very length has a plan already.
    """
    known = None if is_known(rung, found) else line_key(found)
    if known is None:
        return None
    key, length = known
    recipe = _recipe(Hashed(key), found, length)
    if recipe is None or machine.free_memory() < 2 * recipe.peak_bytes:
        return None
    try:
        made = _run(recipe, found, length)
    except NotSmallError:
        return None
    given: list[Any] = []
    for k, (number, root) in enumerate(zip(recipe.results, roots, strict=True)):
        value = shaped(made[number].buffer, root.shape)
        given.append(value.copy() if number in recipe.results[:k] else value)
    return given


def _recipe(key: Hashable, found: Outline, length: int) -> Recipe | None:
    with _lock:
        first = key not in _known
        known = _known.setdefault(key, None)
        _known.move_to_end(key)
    if first:
        _forget()
        return None
    if known is True:
        return _recipe((key, *found.values), found, length)
    if known is None:
        known = _new(key, found, length)
    return known if isinstance(known, Recipe) else None


def _new(key: Hashable, found: Outline, length: int) -> Recipe | bool:
    """The recipe of ``found``, which is remembered; False where there is none."""
    try:
        made = recipe_of(found, length)
    except NotSmallError:
        return _remember(key, False)
    if made.constants_count and found.values:
        _remember(key, True)
        key = (key, *found.values)
    return _remember(key, made)


def _remember(key: Hashable, known: Recipe | bool) -> Recipe | bool:
    with _lock:
        _known[key] = known
    _forget()
    return known


def _forget() -> None:
    with _lock:
        while len(_known) > MOST:
            _known.popitem(last=False)


def _run(recipe: Recipe, found: Outline, length: int) -> list[Stored]:
    """What each step of ``recipe`` makes; nothing is left of what nobody asked for."""
    made: list[Stored] = []
    for step in recipe.steps:
        shape = tuple([extent_of(mark, length) for mark in step.shape])
        made.append(Stored(_computed(step, shape, found, made, length), step.dtype))
        for number in step.last:
            made[number] = _NOTHING
    return made


def _computed(
    step: LineStep, shape: tuple[int, ...], found: Outline, made: Sequence[Stored], length: int
) -> Any:
    """The result of ``step``, whose elements have ``shape``."""
    source = step.source
    if step.ready is None:  # in memory already
        given = array_at(_leaf(step.data[0], shape, found, made, length), shape)
    else:
        elements = _structure(step, shape, found, made, length)
        reduces = elements.source is not None
        root = made_for((), step.dtype) if reduces else elements.root
        given = np.asarray(computed(step.ready, elements, root))
        if reduces or source is None:
            return given
    if isinstance(source, Reduced):
        return scans.products(iter((given,)), shape[0], np.empty(1, step.dtype)).reshape(())
    assert source is not None
    own = replace(source, arg=made_for(shape, step.arg_dtype))
    results = np.empty(own.shape, step.dtype)
    scans.scan(own, 0, 0, results.reshape(1, -1), iter((given,)), None)
    return results


def _structure(
    step: LineStep, shape: tuple[int, ...], found: Outline, made: Sequence[Stored], length: int
) -> Structure:
    """The structure of ``step`` with the arguments of ``found`` and what was ``made`` before."""
    root = made_for(shape, step.arg_dtype)
    size = shape[0] if shape else 1
    if step.random and (size > SEGMENT) != step.segments:
        raise NotSmallError
    source = step.source
    if isinstance(source, Reduced) and source.op != "prod":
        source = Reduced(source.op, root, source.axes, False, source.dtype, source.ddof)
    else:
        source = None
    data = [_leaf(place, shape, found, made, length) for place in step.data]
    constants = [found.constants[k] if isinstance(k, int) else k for k in step.constants]
    random = [found.random[k] for k in step.random]
    return Structure((), root, size, source, step.line, data, constants, random, 0)


def _leaf(
    place: Made, shape: tuple[int, ...], found: Outline, made: Sequence[Stored], length: int
) -> Leaf:
    """An argument: the user's data, or the result of an earlier step."""
    at = extent_of(place.at, length)
    if place.made is None:
        return Leaf(found.data[place.data], shape, at, ())
    return Leaf(made[place.made], shape, at, ())
