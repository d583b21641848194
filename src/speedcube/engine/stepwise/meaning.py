"""What NumPy gives for an operation with the bits of a kernel, or that it does not.

Additions, products, quotients, roots, comparisons and whatever works on bits are correctly rounded
or exact in both. Elementary functions have bits of their own, and are made by a kernel each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...expr.gather import is_moved
from ...expr.nodes import Expr, Leaf, Map, Reduced
from ...expr.scans import one_nan
from ...expr.sources.scalars import limits
from ...ops import ELEMENTARY, OPS

Function = Callable[..., Any]


def _least(a: Any, b: Any) -> Any:
    """Of zeros the second, as in kernels: NumPy's own choice of floats differs between loops."""
    if a.dtype.kind in "iub":
        return np.minimum(a, b)
    return np.where((a < b) | (a != a), a, b)


def _most(a: Any, b: Any) -> Any:
    if a.dtype.kind in "iub":
        return np.maximum(a, b)
    return np.where((a > b) | (a != a), a, b)


FUNCTIONS: Final[dict[str, Function]] = {
    name: op.numpy for name, op in OPS.items() if name not in ELEMENTARY and op.numpy is not None
} | {"minimum": _least, "maximum": _most}

# Of a computed NaN the sign is the processor's choice: these look at it.
_LOOK: Final = ("bitcast", "signbit")
# Reductions of integers and booleans, in which nothing is rounded and no zero has a sign.
FOLDS: Final = frozenset(("sum", "min", "max", "any", "all", "argmin", "argmax"))


def is_computed(node: Expr) -> bool:
    """Whether its NaN are the processor's, not data that are only viewed."""
    while type(node) is Leaf or is_moved(node):
        source = node.args[1] if type(node) is Map else node.source  # type: ignore[union-attr]
        if type(source) not in (Map, Leaf):
            return False
        node = source  # type: ignore[assignment]
    return True


def mapped(node: Map, args: list[Any]) -> Any:
    """The elements of ``node`` of its arguments' elements; None where NumPy's bits may differ."""
    op, dtype = node.op, node.dtype
    if op in _LOOK:
        of = zip(args, node.args, strict=True)
        args = [one_nan(x) if is_computed(arg) else x for x, arg in of]
    if op == "cast":
        return args[0].astype(dtype) if _casts_alike(args[0], dtype) else None
    if op == "bitcast":
        return np.ascontiguousarray(args[0]).view(dtype).reshape(np.shape(args[0]))
    function = FUNCTIONS.get(op)
    if function is None:
        return None
    made = function(*args)
    return made if made.dtype == dtype else made.astype(dtype)


def _casts_alike(values: Any, dtype: str) -> bool:
    """Whether a cast is the same everywhere: a float beyond an integer dtype is the processor's."""
    if values.dtype.kind != "f" or dtypes.is_float(dtype) or dtype == "bool":
        return True
    least, most = limits(dtype)
    return bool(((values > least) & (values < most)).all())


def folded(source: Reduced, arg: Any) -> Any:
    """The reduction of ``arg``; None where NumPy's bits may differ."""
    if arg.dtype.kind not in "iub" or source.op not in FOLDS or not source.count:
        return None
    if source.op.startswith("arg"):
        if len(source.axes) > 1 and len(source.axes) < arg.ndim:
            return None
        axis: Any = source.axes[0] if len(source.axes) == 1 else None
    else:
        axis = source.axes
    options = {"dtype": source.dtype} if source.op == "sum" else {}
    made = getattr(arg, source.op)(axis=axis, keepdims=source.keepdims, **options)
    return np.asarray(made).astype(source.dtype, copy=False)
