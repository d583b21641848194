"""Few elements that a GPU's rung is asked for: made where they lie, by one core.

The way to a GPU and back takes some 60 us, and a kernel for it some 100 ms to compile; the bits are
the same. A loop whose state has few elements would compile a kernel in nearly each of its steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from ...expr.nodes import Expr, Leaf, Map
from ...expr.pairs.node import is_pair, parts
from ...plan.costs import LAUNCH, of_node
from ..foreign.held import client_of
from ..results import ResultMemory
from ..routines import direct
from ..rungs import Rung, resolve
from .choice import Limits
from .nodes import few_nodes

_KINDS: Final = frozenset(("gpu", "gpus"))
_NODE: Final = LAUNCH / 4  # nanoseconds that the elements of one node may take


def rung_of(
    roots: Sequence[Expr],
    on: Any,
    scheduler: Any,
    prefers_gpu: bool,
    to: str | ResultMemory = "numpy",
) -> Rung:
    """The rung for all of ``roots``, as for one that visits as much as they together."""
    visited = [direct.visited(root) for root in roots]
    sizes = [direct.elements(root) for root in roots]
    widest = visited[sizes.index(max(sizes))]
    rung = resolve(on, scheduler, sum(sizes), prefers_gpu, widest.dtype, client_of(roots))
    return where_few_lie(rung, roots, to)


def where_few_lie(rung: Rung, roots: Sequence[Expr], to: str | ResultMemory = "numpy") -> Rung:
    """One core, if ``rung`` is a GPU's and ``roots`` are few elements from the host ``to`` it."""
    if rung.kind not in _KINDS or to != "numpy" or rung.cores or Limits.several <= 0:
        return rung
    reals = [one for root in roots for one in (parts(root) if is_pair(root) else (root,))]
    nodes = few_nodes(reals, Limits.several)
    if nodes is None or any(of_elements(node) > _NODE for node in nodes):
        return rung
    return on_one_core(rung)


def on_one_core(rung: Rung) -> Rung:
    """``rung`` for what is made in the host's memory."""
    reason = f"few elements, which lie in the host's memory; {rung.reason}"
    return replace(rung, name="core", kind="core", workers=1, devices=(), reason=reason)


def of_elements(node: object) -> float:
    """Nanoseconds that the elements of ``node`` take on a core, of single operations."""
    if not isinstance(node, (Leaf, Map)):
        return 0.0
    count = 1
    for n in node.shape:
        count *= n
    return of_node(node) * count
