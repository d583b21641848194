"""What lies below the roots of a computation, down to what is kept of others before it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ...expr.graph import HAVE_BELOW, children, is_short, memories
from ...expr.nodes import (
    STAGED,
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Random,
    Staged,
    Stored,
    is_whole,
    whole,
)
from ...expr.pairs.node import COMPLEX
from ...expr.piecewise.assigned import First
from ...expr.sources.read import Const, Position
from ...ops import GATHERS
from .unwritten import Read, is_frozen

# What has values of its own; a leaf is a view of one, or of a source.
Thing: TypeAlias = Map | Staged | Piecewise
MOST: Final = 1 << 15  # nodes that are looked through
HEAVY: Final = 8  # operations an element, from which it pays to read it from memory
_NO_ARRAYS: Final = frozenset((COMPLEX, "several"))
_BOXES: Final = 32  # what is assigned to more often is put together another way; these are looked
_STEPS: Final = 64  # through where what is assigned is of many nodes, as the state of a loop is
_SHORT: Final = 48
_SORTED: Final = 8  # operations that an element of a sort counts for
_DRAWN: Final = 4  # and one that is drawn
# What a node of few elements counts for: it takes some microseconds. On a GPU each step that is
# made anew has a kernel of its own, which takes some 10 ms a node to compile.
_LEAST: Final = 1 << 12
_LEAST_ON_GPU: Final = 1 << 20


def nodes_below(roots: Sequence[Node], is_kept: Callable[[Node], bool] | None) -> list[Node] | None:
    """``roots`` and what they need, each after its own; below what ``is_kept``, nothing.

    None where that is too much to look through.
    """
    done: dict[int, Node] = {}
    stack: list[Any] = [*reversed(roots)]
    while stack:
        node = stack.pop()
        if node is None:  # what the next one needs is done
            node = stack.pop()
        elif id(node) in done:
            continue
        elif type(node) is Leaf:
            source = node.source
            if type(source) in HAVE_BELOW and not (is_kept and is_kept(source)):  # type: ignore[arg-type]
                stack += (node, None, source)
                continue
        elif type(node) is Piecewise and _is_patchwork(node):
            return None
        elif type(node) is Map and is_kept and is_kept(node):
            pass
        elif needs := children(node):
            stack += (node, None, *needs[::-1])
            continue
        done[id(node)] = node
        if len(done) > MOST:
            return None
    return list(done.values())


def _is_patchwork(node: Piecewise) -> bool:
    boxes = node.boxes
    if not isinstance(boxes, First) or boxes.count <= _BOXES:
        return False
    return boxes.count > _STEPS or is_short(boxes.last.expr, _SHORT)


def things_of(nodes: Sequence[Node]) -> list[Thing]:
    """The things among ``nodes``, the roots' first."""
    return [node for node in reversed(nodes) if not isinstance(node, Leaf)]


def thing_of(expr: Node) -> Thing | None:
    """What ``expr`` is a view of, if that is a thing."""
    while isinstance(expr, Leaf):
        below = children(expr)
        if not below:
            return None
        (expr,) = below
    return expr


def things_below(thing: Thing) -> Iterator[Thing]:
    """What ``thing`` is made of at once."""
    for child in children(thing):
        if (found := thing_of(child)) is not None:
            yield found


def has_values(thing: Thing) -> bool:
    """Whether ``thing`` is an array; not the arguments of a routine, nor the parts of a pair."""
    return getattr(thing, "op", None) not in _NO_ARRAYS


def asked_whole(root: Expr) -> bool:
    """Whether ``root`` is all of a thing, not a part of it."""
    if isinstance(root, Map):
        return True
    source = root.source
    return getattr(source, "shape", None) == root.shape and is_whole(root)


def as_expr(thing: Thing) -> Expr:
    """``thing`` as an expression."""
    return thing if isinstance(thing, Map) else whole(thing, thing.shape)


@dataclass(frozen=True)
class Work:
    """What it takes to make something from its sources on: ``operations`` on single elements.

    ``alone``: each element is made of one element of each source, so that few of them take little.
    """

    operations: int
    alone: bool

    def for_some(self, share: float) -> float:
        """Operations that a ``share`` of the elements takes."""
        return self.operations * min(1.0, share) if self.alone else self.operations

    def and_before(self, before: Sequence[Work]) -> Work:
        """The same from the sources of those ``before`` on."""
        most = max([one.operations for one in before], default=0)
        return Work(self.operations + most, self.alone and all(one.alone for one in before))


def work_of(nodes: Sequence[Node], on_gpu: bool) -> Work:
    """What it takes to make ``nodes``."""
    least = _LEAST_ON_GPU if on_gpu else _LEAST
    operations = sum([max(_operations(node), least) for node in nodes])
    return Work(operations, all(map(_is_alone, nodes)))


def _is_alone(node: Node) -> bool:
    return isinstance(node, Leaf) or (isinstance(node, Map) and node.op not in GATHERS)


def is_heavy(thing: Thing) -> bool:
    """Whether an element of ``thing`` takes many operations."""
    enough = HEAVY * max(math.prod(thing.shape), 1)
    done: set[int] = set()
    stack: list[Node] = [thing]
    operations = 0
    while stack and operations < enough:
        node = stack.pop()
        if id(node) in done:
            continue
        done.add(id(node))
        operations += _operations(node)
        stack.extend(children(node))
    return operations >= enough


def _operations(node: Node) -> int:
    if isinstance(node, (Map, Piecewise)):
        return math.prod(node.shape)
    if isinstance(node, STAGED):
        each = 1 if not hasattr(node, "options") else _SORTED
        return each * math.prod(node.arg.shape)
    drawn = isinstance(node, Leaf) and isinstance(node.source, Random)
    return _DRAWN * math.prod(node.shape) if drawn else 0


def read_below(nodes: Sequence[Node]) -> list[Read] | None:
    """What ``nodes`` read of arrays in memory; None where they read what could be anything."""
    found: dict[int, Read] = {}
    anywhere = memories(nodes)
    for node in nodes:
        if not isinstance(node, Leaf):
            continue
        source = node.source
        if isinstance(source, Stored):
            if 0 not in node.shape and not is_frozen(source):
                one = _read_by(node, source, id(node) in anywhere)
                found[id(source)] = _joined(found.get(id(source), one), one)
        elif not isinstance(source, (Const, Position, Random, Map, Leaf, Piecewise, *STAGED)):
            return None
    return [one.widened for one in found.values()]


def _read_by(leaf: Leaf, source: Stored, anywhere: bool) -> Read:
    """The positions of ``source`` from the first to the last that ``leaf`` reads."""
    if anywhere:  # at indices: all there is
        leaf = Leaf(source, tuple(source.buffer.shape), 0, _steps(source.buffer))
    ends = [step * (n - 1) for step, n in zip(leaf.strides, leaf.shape, strict=True)]
    low = leaf.offset + sum([end for end in ends if end < 0])
    return Read(source, low, leaf.offset + sum([end for end in ends if end > 0]) + 1)


def _steps(buffer: Any) -> tuple[int, ...]:
    return tuple([step // buffer.itemsize for step in buffer.strides])


def _joined(one: Read, other: Read) -> Read:
    return Read(one.stored, min(one.low, other.low), max(one.high, other.high))
