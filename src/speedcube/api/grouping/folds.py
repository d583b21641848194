"""Each function of groups, of elements that lie as a `GroupLayout` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...dataclass import dataclass
from ...errors import DTypeError, ParameterError, ShapeError
from ...expr import build, reductions
from ...expr.through import grouping
from ...expr.through.between import neighbours
from ..array import Array, array_of, elementwise
from ..functions.floats import either, is_of_floats
from ..joining import stack
from ..methods.reducing import float_result, total_dtype
from ..order.lines import along
from ..order.quantiles import WHOLE, Lazily, between, check_method, probabilities
from ..order.skipping import middle
from ..shapes import broadcast_to
from .complexes import of_parts
from .layout import GroupLayout


@dataclass(frozen=True)
class Wanted:
    """What is wanted of each group: ``skip``: NaN is left out."""

    skip: bool = False
    dtype: Any = None
    ddof: float = 0.0
    q: Any = 0.5
    method: str = "linear"


def _node(op: str, lie: GroupLayout, x: Array, dtype: str, wanted: Wanted) -> Array:
    floats = dtypes.is_float(x._expr.dtype)
    options = grouping.Options(lie.numbers, lie.rows, wanted.skip and floats, wanted.ddof)
    return Array(grouping.grouped(op, lie.codes._expr, x._expr, options, dtype), gpu=x._gpu)


def counts_of_groups(lie: GroupLayout) -> Array:
    """How many elements each group has, beside results of two axes."""
    counts = Array(grouping.counts(lie.codes._expr, lie.numbers))
    return counts.reshape((-1, 1) if lie.rows else (1, -1))


def _sum(lie: GroupLayout, wanted: Wanted) -> Array:
    x, name = lie.x, total_dtype(lie.x, wanted.dtype)
    if dtypes.is_float(name):
        if not is_of_floats(x):
            x = x.astype("float64")
        elif dtypes.itemsize(name) > x.dtype.itemsize:
            x = x.astype(name)
    elif is_of_floats(x) or name == "bool":
        x = x.astype(name)
    wide = name if dtypes.is_float(name) else "uint64" if x.dtype == np.uint64 else "int64"
    return _node("sum", lie, x, wide, wanted).astype(name)


def _moment(op: str) -> Callable[[GroupLayout, Wanted], Array]:
    def fold(lie: GroupLayout, wanted: Wanted) -> Array:
        name = float_result(lie.x, op, wanted.dtype)
        x = lie.x
        if is_of_floats(x) and dtypes.itemsize(name) > x.dtype.itemsize:
            x = x.astype(name)
        ddof = reductions.checked_ddof(wanted.ddof) if op != "mean" else 0.0
        return _node(op, lie, x, name, Wanted(wanted.skip, ddof=ddof))

    return fold


def _element(op: str) -> Callable[[GroupLayout, Wanted], Array]:
    return lambda lie, wanted: _typed(_node(op, lie, lie.x, lie.x._expr.dtype, wanted), wanted)


def _typed(result: Array, wanted: Wanted) -> Array:
    return result if wanted.dtype is None else result.astype(wanted.dtype)


def _place(op: str) -> Callable[[GroupLayout, Wanted], Array]:
    def fold(lie: GroupLayout, wanted: Wanted) -> Array:
        places = _node(op, lie, lie.x, "int64", wanted)
        if lie.kept and lie.length:
            places = elementwise("where", places < 0, -1, places % lie.length)
        return _typed(places, wanted)

    return fold


def _truth(op: str, nothing: bool) -> Callable[[GroupLayout, Wanted], Array]:
    def fold(lie: GroupLayout, wanted: Wanted) -> Array:
        found = _node(op, lie, lie.x.astype("bool"), "bool", wanted)
        return _typed(either(counts_of_groups(lie) == 0, nothing, found), wanted)

    return fold


def _product(lie: GroupLayout, wanted: Wanted) -> Array:
    name = total_dtype(lie.x, wanted.dtype)
    x = lie.x if dtypes.is_float(name) else lie.x.astype(name)
    wide = "float64" if dtypes.is_float(name) else "uint64" if name == "uint64" else "int64"
    return _node("prod", lie, x.astype(wide), wide, wanted).astype(name)


def numbers(lie: GroupLayout, wanted: Wanted) -> Array:
    """How many elements of each group are no NaN."""
    if is_of_floats(lie.x):
        return _typed(_node("numbers", lie, lie.x, "int64", wanted), wanted)
    shape = (lie.numbers, lie.x.shape[1]) if lie.rows else (lie.x.shape[0], lie.numbers)
    return _typed(broadcast_to(counts_of_groups(lie), shape), wanted)


# Quantiles ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Sorted:
    """Elements that are sorted in their groups: where each begins, and how many are meant."""

    lie: GroupLayout
    values: Array
    first: Array
    count: Array
    holed: Array | None  # whether a group has a NaN that counts

    def at(self, place: Array) -> Array:
        """The elements of all groups at their ``place``."""
        shape, axis = self.values.shape, self.lie.axis
        last = max(0, shape[axis] - 1)
        where = elementwise("add", self.first, place.astype("int64")).clip(0, last)
        size = list(shape)
        size[axis] = self.lie.numbers
        return along(self.values, broadcast_to(where, tuple(size)), axis)

    def checked(self, result: Array) -> Array:
        """``result``, but NaN of nothing and of what has a NaN."""
        result = either(self.count == 0, np.nan, result)
        return result if self.holed is None else either(self.holed, np.nan, result)


def _sorted(lie: GroupLayout, wanted: Wanted) -> _Sorted:
    x = lie.x
    if not x.shape[lie.axis]:
        raise ShapeError("quantiles of groups need elements, and there are none")
    values = _node("sort", lie, x, x._expr.dtype, wanted)
    members = counts_of_groups(lie)
    first = members.cumsum(axis=lie.axis) - members
    found = _Sorted(lie, values, first, members, None)
    if not is_of_floats(x):
        return found
    if wanted.skip:
        return _Sorted(lie, values, first, numbers(lie, Wanted()), None)
    last = found.at(elementwise("subtract", members, 1).clip(0, None))
    return _Sorted(lie, values, first, members, elementwise("isnan", last))


def _median(lie: GroupLayout, wanted: Wanted) -> Array:
    if lie.x.dtype == bool:
        raise DTypeError("bool has no median: convert it with .astype('uint8') first")
    groups = _sorted(lie, wanted)
    low, high = groups.at((groups.count - 1) // 2), groups.at(groups.count // 2)
    return _typed(groups.checked(middle(low, high)), wanted)


def _quantiles(lie: GroupLayout, wanted: Wanted) -> list[Array]:
    """One for each of ``wanted.q``, with NumPy's operations on two elements."""
    check_method(wanted.method)
    weak = isinstance(wanted.q, (float, int))
    q = probabilities(wanted.q, 1)
    groups, whole = _sorted(lie, wanted), wanted.method in WHOLE
    if lie.x.dtype == bool and not whole:
        raise DTypeError(
            "bool has no differences to interpolate with: convert it with .astype('uint8') first"
        )
    n = groups.count.astype("float64")
    found = []
    for one in q.reshape(-1).tolist():
        previous, following, gamma = neighbours(wanted.method, n, float(one), Lazily)
        result = groups.at(previous)
        if not whole:
            dtype = lie.x.dtype if weak and is_of_floats(lie.x) else np.dtype(np.float64)
            dtype = dtype if weak else np.result_type(lie.x.dtype, np.float64)
            step, rest = gamma.astype(dtype), (1 - gamma).astype(dtype)
            result = between(result, groups.at(following), step, rest, gamma >= 0.5)
        found.append(_typed(groups.checked(result), wanted))
    return found


FOLDS: Final[dict[str, Callable[[GroupLayout, Wanted], Array]]] = {
    "sum": _sum,
    **{op: _moment(op) for op in ("mean", "var", "std")},
    **{op: _element(op) for op in ("min", "max", "first", "last")},
    **{op: _place(op) for op in ("argmin", "argmax")},
    "any": _truth("max", False),
    "all": _truth("min", True),
    "prod": _product,
    "count": numbers,
    "median": _median,
}
_NO_NAN: Final = ("any", "all", "count")


def folded(func: Any, lie: GroupLayout, wanted: Wanted) -> Array:
    """``func`` of each group, in the shape that users see; quantiles have theirs in front."""
    name = func.removeprefix("nan") if isinstance(func, str) else ""
    skip = wanted.skip or func != name
    if name not in (*FOLDS, "quantile") or (func != name and name in _NO_NAN):
        raise ParameterError(
            f"{func!r} is not a function of groups; those are {', '.join(known())}"
        )
    wanted = Wanted(skip, wanted.dtype, wanted.ddof, wanted.q, wanted.method)
    if lie.x.dtype.kind == "c":
        return lie.spread(of_parts(name, FOLDS, lie, wanted))
    if name != "quantile":
        return lie.spread(FOLDS[name](lie, wanted))
    found = [lie.spread(one) for one in _quantiles(lie, wanted)]
    shape = np.shape(wanted.q)
    return stack(found).reshape((*shape, *found[0].shape)) if shape else found[0]


def known() -> list[str]:
    """The names of all functions of groups."""
    names = [*FOLDS, "quantile"]
    return names + [f"nan{name}" for name in names if name not in _NO_NAN]


def filled(result: Array, counts: Array, fill: Any, least: int) -> Array:
    """``result`` with ``fill`` where fewer than ``least`` elements count."""
    dtype = np.result_type(
        result.dtype, fill if isinstance(fill, (int, float)) else np.asarray(fill)
    )
    dtypes.check(dtype)
    value = build.cast(array_of(fill)._expr, dtype.name)
    return elementwise("where", counts >= least, result.astype(dtype), Array(value))
