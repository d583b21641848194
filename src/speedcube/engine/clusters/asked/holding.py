"""Arrays that are made on a cluster and stay there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Final

import numpy as np

from .... import dtypes
from ....expr.nodes import Expr
from ....expr.pairs.node import is_pair, pair
from ....late import task_spec, uuid
from ....plan.plan import Plan
from ...foreign.held import leaf_of_future
from ...foreign.values import values_there
from ...progress.count import Told
from ...results import Array
from ..losses import reported
from ..plans import How, calls_of
from ..submission import hold_calls
from .calls import PlanCall
from .pieces import grain_of

_turn: Final = count()


def held_on(
    client: Any, plan: Plan, roots: Sequence[Expr], workers: Sequence[str], told: Told
) -> list[Expr]:
    """``roots`` as what lies with ``workers``, where ``plan`` makes it.

    One worker puts the parts of a result together: workers take turns at it.
    """
    with reported(client):
        ready = values_there(plan, client)
    name = f"speedcube-{uuid.uuid4().hex}"
    how = How(hand_over=True, grain=grain_of(client, plan))
    calls = calls_of(plan, ready, name, how)
    shapes = [root.shape for root, own in zip(roots, plan.roots, strict=True) for _ in own]
    last = tuple(
        PlanCall(f"{name}-held-{k}", 0, in_shape, (shape, task_spec.TaskRef(result)))
        for k, (shape, result) in enumerate(zip(shapes, calls.results, strict=True))
    )
    calls = replace(calls, all=(*calls.all, *last), results=tuple(call.name for call in last))
    first = next(_turn) % len(workers)
    futures = hold_calls(client, calls, [*workers[first:], *workers[:first]], told)
    return [
        _held(root, [futures[k] for k in own]) for root, own in zip(roots, plan.roots, strict=True)
    ]


def in_shape(shape: tuple[int, ...], array: Array) -> Array:
    """Task: a result in the expression's shape."""
    return np.asarray(array).reshape(shape)


def _held(root: Expr, futures: Sequence[Any]) -> Expr:
    """``root`` as what the ``futures`` stand for, of a pair both."""
    if not is_pair(root):
        return leaf_of_future(futures[0], root.dtype, root.shape)
    part = dtypes.PARTS[root.dtype]
    return pair(*(leaf_of_future(future, part, root.shape) for future in futures))
