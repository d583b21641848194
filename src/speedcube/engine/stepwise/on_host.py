"""Few elements that a GPU's rung is asked for: made where they lie, by one core.

The way to a GPU and back takes some 60 us, and a kernel for it some 100 ms to compile; the bits are
the same. A loop whose state has few elements would compile a kernel in nearly each of its steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, Final

import numpy as np

from ...expr.graph import few_below
from ...expr.nodes import Expr, Leaf, Map, Node, Stored
from ...expr.pairs.node import is_pair, parts
from ...plan.costs import LAUNCH, of_node
from ..asked.reading import KEPT_ON_HOST
from ..foreign.held import client_of
from ..results import ResultMemory
from ..routines import direct
from ..rungs import Rung, resolve
from ..small.call import is_here
from .choice import Limits
from .nodes import READ

_KINDS: Final = frozenset(("gpu", "gpus"))
_NODES: Final = 1 << 15
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
    few = all([_is_of_few(one) for root in roots for one in _reals(root)])
    return on_one_core(rung) if few else rung


def kind_here(
    root: Expr, on: Any, scheduler: Any, prefers_gpu: bool, to: str | ResultMemory, size: int
) -> str | None:
    """The rung that makes ``size`` elements of ``root``; None where it is not in this thread."""
    rung = where_few_lie(resolve(on, scheduler, size, prefers_gpu, root.dtype), (root,), to)
    return rung.kind if is_here(rung.kind) else None


def on_one_core(rung: Rung) -> Rung:
    """``rung`` for what is made in the host's memory."""
    reason = f"few elements, which lie in the host's memory; {rung.reason}"
    return replace(rung, name="core", kind="core", workers=1, devices=(), reason=reason)


def _reals(root: Expr) -> tuple[Expr, ...]:
    return parts(root) if is_pair(root) else (root,)


def _is_of_few(root: Expr) -> bool:
    """Whether all that ``root`` is made of from now on is little, and lies on the host."""
    return few_below(root, _NODES, KEPT_ON_HOST, _is_little) is not None


def _is_little(node: Node) -> bool:
    """Whether a core makes ``node`` sooner than a GPU begins to."""
    count = prod(node.shape)
    if count > Limits.several:
        return False
    if type(node) is Leaf:
        source = node.source
        on_host = type(source) in READ if type(source) is not Stored else _is_numpys(source)
        return on_host and of_node(node) * count <= _NODE
    return type(node) is not Map or (node.op != "complex" and of_node(node) * count <= _NODE)


def _is_numpys(source: Stored) -> bool:
    return type(source.buffer) is np.ndarray
