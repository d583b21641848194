"""The expression executed with NumPy, node by node: slow, obvious, the right answer.

Random sources are asked of ``random_values(source, positions)``, so that this module knows
nothing of kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..ops import OPS
from .nodes import Const, Deferred, Expr, Leaf, Position, Random, Reduced, Stored

Array: TypeAlias = NDArray[Any]
Draw: TypeAlias = Callable[[Random, NDArray[np.int64]], Array]


def positions(leaf: Leaf) -> NDArray[np.int64]:
    """The position each element of ``leaf`` reads."""
    total = np.full(leaf.shape, leaf.offset, np.int64)
    for axis, (n, stride) in enumerate(zip(leaf.shape, leaf.strides, strict=True)):
        shape = [1] * len(leaf.shape)
        shape[axis] = n
        total += (np.arange(n, dtype=np.int64) * stride).reshape(shape)
    return total


def interpret(root: Expr, draw: Draw) -> Array:
    """The elements of ``root``."""
    done: dict[int, Array] = {}

    def visit(node: Expr) -> Array:
        if id(node) not in done:
            done[id(node)] = _leaf(node, draw) if isinstance(node, Leaf) else _map(node, visit)
        return done[id(node)]

    return visit(root)


def _map(node: Any, visit: Callable[[Expr], Array]) -> Array:
    args = [visit(arg) for arg in node.args]
    with np.errstate(all="ignore"):
        if node.op == "cast":
            return np.asarray(args[0].astype(node.dtype))
        return np.asarray(OPS[node.op].numpy(*args)).astype(node.dtype, copy=False)


def _leaf(leaf: Leaf, draw: Draw) -> Array:
    source = leaf.source
    if isinstance(source, Const):
        return np.full(leaf.shape, source.value, source.dtype)
    at = positions(leaf)
    if isinstance(source, Position):
        return at
    if isinstance(source, Random):
        return draw(source, at)
    if isinstance(source, Reduced):
        return _reduced(source, interpret(source.arg, draw)).reshape(-1)[at]
    if isinstance(source, Deferred):
        return np.asarray(source.collection.compute()).reshape(-1)[at]
    assert isinstance(source, Stored)
    return _stored(leaf, source)


def _stored(leaf: Leaf, source: Stored) -> Array:
    base = np.asarray(source.buffer)
    size = base.itemsize
    interface = {
        "version": 3,
        "typestr": base.dtype.str,
        "shape": leaf.shape,
        "strides": tuple(s * size for s in leaf.strides),
        "data": (base.ctypes.data + leaf.offset * size, True),
    }
    holder = type("Window", (), {"__array_interface__": interface, "base": base})()
    return np.array(holder)


def _reduced(source: Reduced, arg: Array) -> Array:
    options: dict[str, Any] = {"keepdims": source.keepdims}
    if source.op in ("var", "std"):
        options["ddof"] = source.ddof
    axes: Any = source.axes
    if source.op.startswith("arg"):
        axes = source.axes[0] if len(source.axes) == 1 else None
    with np.errstate(all="ignore"):
        found = getattr(np, source.op)(arg, axis=axes, **options)
    return np.asarray(found).astype(source.dtype)
