"""What computations were made of, and where what was asked for again stood among it."""

from __future__ import annotations

import math
import threading
import weakref
from collections import OrderedDict
from collections.abc import Container, Sequence
from typing import Final

from ... import dtypes
from ...expr.nodes import Expr
from .below import Thing, asked_whole, has_values, is_heavy, thing_of, things_below

_PLACES: Final = 32  # that are remembered
_FIRST: Final = 256  # things from the roots on among which these are

_views: Final[dict[int, weakref.ref[Expr]]] = {}  # that were asked for, of a part of a thing
_seen: Final[dict[int, tuple[weakref.ref[Thing], int]]] = {}  # by id, with the place
_places: Final[OrderedDict[tuple[object, ...], None]] = OrderedDict()
_FEW: Final = 1 << 14  # elements; more are made by kernels, which make only what they are asked for
_FEW_BYTES: Final = 1 << 24  # of all together
_MANY: Final = 48  # things that a loop has made before somebody asks
_lock: Final = threading.RLock()  # a thing may die while it is held


def forget() -> None:
    """Nothing was computed before."""
    with _lock:
        _seen.clear()
        _views.clear()
        _places.clear()


def notice(roots: Sequence[Expr], things: Sequence[Thing]) -> None:
    """``things``, the roots' first, are part of a computation of ``roots``."""
    for root in roots:
        if not asked_whole(root) and not _is_view_again(root):
            _views[id(root)] = _noticed_view(root)
    for k, thing in enumerate(things):
        if not _is_seen(thing):
            _seen[id(thing)] = _noticed(thing), k


def _noticed(thing: Thing) -> weakref.ref[Thing]:
    name = id(thing)

    def gone(ref: weakref.ref[Thing]) -> None:
        if (known := _seen.get(name)) is not None and known[0] is ref:
            del _seen[name]

    return weakref.ref(thing, gone)


def _noticed_view(root: Expr) -> weakref.ref[Expr]:
    name = id(root)

    def gone(ref: weakref.ref[Expr]) -> None:
        if _views.get(name) is ref:
            del _views[name]

    return weakref.ref(root, gone)


def _is_view_again(root: Expr) -> bool:
    known = _views.get(id(root))
    return known is not None and known() is root


def _asked_before(root: Expr) -> bool:
    """Whether ``root`` was asked for, or is all of what a computation was made of."""
    if not asked_whole(root):
        return _is_view_again(root)
    thing = thing_of(root)
    return thing is None or _is_seen(thing)


def _is_seen(thing: Thing) -> bool:
    known = _seen.get(id(thing))
    return known is not None and known[0]() is thing


def asked_again(
    roots: Sequence[Expr], things: Sequence[Thing], kept: Container[int]
) -> list[Thing]:
    """What ``roots`` have in common with computations before: the topmost that is not cheap.

    Without what is ``kept``; nothing where all is the same question once more.
    """
    if not any([id(thing) in _seen for thing in things]):
        return []
    if all(map(_asked_before, roots)):
        return []
    parts = [thing_of(root) for root in roots if not asked_whole(root)]
    stack = [thing for thing in parts if thing is not None]
    for thing in things:
        if not _is_seen(thing):
            stack += things_below(thing)
    found: dict[int, Thing] = {}
    looked: set[int] = set()
    while stack:
        thing = stack.pop()
        if id(thing) in looked or id(thing) in kept or not _is_seen(thing):
            continue
        looked.add(id(thing))
        if has_values(thing) and is_heavy(thing):
            found[id(thing)] = thing
            _note_place(_seen[id(thing)][1], thing)
        else:
            stack += things_below(thing)
    return list(found.values())


def few_between(things: Sequence[Thing]) -> list[Thing]:
    """What takes long and was asked before, of a computation whose every array is of few elements.

    Backwards along what a loop has made (a path through its steps), each question is of an earlier
    step. A loop that is run once more has new steps, which nobody asked for twice.
    """
    if any(math.prod(thing.shape) > _FEW for thing in things):
        return []
    seen = [one for one in things if _is_seen(one)]
    if len(seen) <= _MANY:
        return []
    found = [one for one in seen if has_values(one) and is_heavy(one)]
    size = sum(math.prod(one.shape) * dtypes.itemsize(one.dtype) for one in found)
    return found if size <= _FEW_BYTES else []


def foreseen(things: Sequence[Thing]) -> list[Thing]:
    """What stands where something stood that a later computation was made of."""
    places = enumerate(things[:_FIRST])
    return [one for k, one in places if _place(k, one) in _places and has_values(one)]


def _place(k: int, thing: Thing) -> tuple[object, ...]:
    return k, type(thing), getattr(thing, "op", None), thing.shape, thing.dtype


def _note_place(k: int, thing: Thing) -> None:
    with _lock:
        _places[_place(k, thing)] = None
        _places.move_to_end(_place(k, thing))
        while len(_places) > _PLACES:
            _places.popitem(last=False)
