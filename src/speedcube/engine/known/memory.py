"""The programs that were seen, with their plans; nothing in it holds what users handed over."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Final

from ...dataclass import dataclass
from ...expr.nodes import Expr, Leaf, Map, Reduced, Scanned, Through
from ...expr.push import straightened
from ...expr.space import TILE
from ...plan.costs import GPU_TRAFFIC, of_element
from ...plan.plan import Plan, Resources, make_plan
from .. import machine
from ..rungs import Rung
from ..small.call import ALONE, most_at_once
from .outline import Key, NoOutlineError, Outline, outline_of
from .template import Template, needs_its_constants, template_of

# Programs that are remembered, and nodes of all of them (about a kilobyte each, kernels' arguments
# with them); the one that was not asked for longest is forgotten.
MOST: Final = 256
MOST_NODES: Final = 1 << 16
_FEW: Final = most_at_once("cores", True, False)
_IDLE: Final = 4  # of one program, as many as threads that run it at the same time leave


@dataclass(frozen=True, eq=False)
class Copy:
    """A program of our own with its plan, for one thread at a time."""

    template: Template
    plan: Plan


@dataclass(eq=False)
class Entry:
    """What is known of an outline: programs that nobody runs now, and the constants of the first.

    ``free``: whether the plan is good for any constants (None: nobody has asked).
    """

    nodes: int
    values: tuple[Key, ...]
    free: bool | None = None
    idle: list[Copy] = field(default_factory=list)


_known: OrderedDict[Key, Entry] = OrderedDict()
_lock = threading.Lock()


@contextmanager
def planned(
    roots: Sequence[Expr], rung: Rung, outline: Outline | None = None
) -> Iterator[Plan | None]:
    """A plan of ``roots`` on ``rung``, to be run inside the block; None where none is remembered.

    ``outline``: theirs, where it is known already. Its sources have the data of ``roots`` until the
    block ends. None as well where it needs more than there is: another plan may not.
    """
    free = machine.free_memory()
    try:
        found = outline or outline_of(roots, free // 4)
    except NoOutlineError:
        yield None
        return
    on_gpu = bool(rung.devices)
    traffic = GPU_TRAFFIC if on_gpu else 1.0
    resources = Resources(rung.name, rung.workers, memory=free // 4, traffic=traffic, gpu=on_gpu)
    entry = _entry((rung.name, rung.workers, found.hashed()), found)
    ready = _taken(entry, found) or _made(found, resources)
    if ready.plan.peak_bytes > free:
        ready.template.forget()
        yield None
        return
    yield ready.plan
    # After a failure threads may still read the data: then the copy goes when the last one does.
    ready.template.forget()
    if len(entry.idle) < _IDLE:
        entry.idle.append(ready)


def is_known(rung: Rung, found: Outline) -> bool:
    """Whether there is a plan for programs like ``found`` on ``rung``."""
    return (rung.name, rung.workers, found.hashed()) in _known


def _entry(key: Key, found: Outline) -> Entry:
    """The entry of ``found``: by its outline, and by its constants where they count."""
    values = tuple(found.values)
    entry = _looked_up(key, found, values)
    if values != entry.values:
        if entry.free is None and not _settled(entry):
            return Entry(len(found.nodes), values)  # others run it: this one is not remembered
        if not entry.free:
            return _looked_up((key, values), found, values)
    return entry


def _looked_up(key: Key, found: Outline, values: tuple[Key, ...]) -> Entry:
    with _lock:
        entry = _known.get(key)
        if entry is None:
            entry = _known[key] = Entry(len(found.nodes), values)
            _forget()
        else:
            _known.move_to_end(key)
    return entry


def _forget() -> None:
    nodes = sum([entry.nodes for entry in _known.values()])
    while len(_known) > 1 and (len(_known) > MOST or nodes > MOST_NODES):
        nodes -= _known.popitem(last=False)[1].nodes


def _settled(entry: Entry) -> bool:
    """Find out whether the plan of ``entry`` is good for any constants; False if it is in use."""
    try:
        ready = entry.idle.pop()
    except IndexError:
        return False
    entry.free = not needs_its_constants(ready.plan)
    entry.idle.append(ready)
    return True


def _taken(entry: Entry, found: Outline) -> Copy | None:
    """A program of ``entry`` with what ``found`` has."""
    try:
        ready = entry.idle.pop()
    except IndexError:
        return None
    ready.template.fill(found)
    return ready


def _made(found: Outline, resources: Resources) -> Copy:
    template = template_of(found)
    roots = [straightened(root) for root in template.roots]
    if resources.workers > 1 and not resources.gpu and _has_few(found):
        plan = make_plan(roots, replace(resources, workers=1), "", TILE)
        if _is_brief(plan):
            return Copy(template, plan)
    return Copy(template, make_plan(roots, resources, "", TILE))


def _has_few(found: Outline) -> bool:
    """Whether no node has more elements than one thread soon has made, nor is a scan or a sort."""
    if any([isinstance(node, (Scanned, Through)) for node in found.nodes]):
        return False
    shapes = [node.shape for node in found.nodes if isinstance(node, (Leaf, Map))]
    return max(map(math.prod, shapes)) <= _FEW


def _is_brief(plan: Plan) -> bool:
    """Whether one thread has made it before a second one would have saved anything.

    Stores and reductions of what lies in memory: others deal out their work themselves.
    """
    elements, nanoseconds = 0, 0.0
    for one in plan.passes:
        stage = one.visited
        if stage.streams or not (stage.source is None or isinstance(stage.source, Reduced)):
            return False
        size = math.prod(stage.root.shape)
        elements += size
        nanoseconds += size * of_element(stage.root)
    return elements <= _FEW and nanoseconds <= ALONE and not plan.deferred
