"""Results of groups by a GPU: elements are added up, counted and compared by group, in any order.

A group of one line is a number, and what `ordering/on_gpu` makes of numbers is made here, too:
exact sums in integers, keys of extremes. Products, sorted groups and what has no exact way here are
left to the host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr import build
from ...expr.nodes import Expr, Leaf, Map, Position
from ...expr.push import push
from ...expr.through.grouping import Options, nothing
from ...expr.through.node import Through
from ...expr.views import Affine, Axis
from ...kernel.cuda.ordering import foremost
from ...kernel.exact.digits import each
from ..ordering.elements import Array
from ..ordering.on_gpu.counting import MOST, tallied
from ..ordering.on_gpu.scattering import added, keys_of, sweep_by, values_of, wide
from ..ordering.on_gpu.sweeps import DeviceWork
from ..ordering.on_gpu.weighing import exact_sums, reach_of

_SPREADS: Final = 1 << 20  # groups whose spreads the host finishes
_BLOCK: Final = 1 << 14  # that it finishes together


@dataclass(frozen=True, eq=False)
class GroupedElements:
    """Elements of all lines beside numbers of their groups: one for each group of each line."""

    work: DeviceWork
    options: Options
    number: Expr
    x: Expr
    place: Expr  # in the line

    @property
    def length(self) -> int:
        rows, columns = self.x.shape
        return self.options.groups * (columns if self.options.rows else rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.x.dtype)

    def beside(self, *values: Expr) -> DeviceWork:
        return self.work.several(self.number, *values)


def grouped_elements(source: Through, work: DeviceWork) -> GroupedElements:
    """The elements of ``source``; what is in no group, or left out, has the number -1."""
    options = Options(*source.options)
    work = work.in_one_kernel()
    assert isinstance(work.root, Map)
    codes, x = work.root.args
    shape = x.shape
    along, across = (0, 1) if options.rows else (1, 0)
    code = push(build.cast(codes, "int64"), Affine(shape, (Axis(along, 0, 1),)))
    inside: Expr = build.elementwise(
        "logical_and",
        [
            build.elementwise("greater_equal", [code, 0]),
            build.elementwise("less", [code, options.groups]),
        ],
    )
    skip = options.skip or source.op == "group_numbers"
    if skip and np.dtype(x.dtype).kind == "f":
        known = build.elementwise("logical_not", [build.elementwise("isnan", [x])])
        inside = build.elementwise("logical_and", [inside, known])
    other = _positions(shape, across)
    number = (
        build.elementwise("add", [build.elementwise("multiply", [code, shape[1]]), other])
        if options.rows
        else build.elementwise(
            "add", [build.elementwise("multiply", [other, options.groups]), code]
        )
    )
    number = build.elementwise("where", [inside, number, -1])
    return GroupedElements(work, options, number, x, _positions(shape, along))


def _positions(shape: tuple[int, ...], axis: int) -> Expr:
    return Leaf(Position(), shape, 0, tuple(int(k == axis) for k in range(len(shape))))


def counts_of(given: GroupedElements) -> Any:
    """How many elements each group has."""
    return tallied(given.work.of(given.number), given.length)


def _summed(op: str, source: Through, given: GroupedElements) -> Any:
    dtype = np.dtype(source.dtype)
    if dtype.kind != "f":
        return added(given.beside(wide(given.x)), given.length).view(dtype)
    if given.dtype.itemsize == 8 and given.dtype.kind != "f":
        return None  # no doubles
    x = build.cast(given.x, "float64")
    reach = reach_of(given.work.of(x))
    if op in ("var", "std"):
        return _spread(op, given, x, reach, dtype)
    sums = exact_sums(given.beside(x), given.length, reach)
    counts = None if op == "sum" else counts_of(given)
    return None if sums is None else sums.rounded(dtype.name, counts)


def _spread(op: str, given: GroupedElements, x: Expr, reach: Any, dtype: Any) -> Array | None:
    ddof, square = given.options.ddof, reach.squared()
    if square is None or given.length > _SPREADS or not float(ddof).is_integer():
        return None
    sums = exact_sums(given.beside(x), given.length, reach)
    squares = exact_sums(given.beside(x), given.length, square, squares=True)
    if sums is None or squares is None:
        return None
    counts = np.asarray(counts_of(given).get())
    found = np.empty(given.length, dtype)
    for start in range(0, given.length, _BLOCK):
        some = slice(start, start + _BLOCK)
        limbs = np.stack([sums.records(some), squares.records(some)], axis=1)
        found[some] = each(op, limbs, dtype.name, counts[some], counts[some] - int(ddof))
    return found


def _first(source: Through, given: GroupedElements) -> Any:
    """Elements that are first by value or by place, or their places."""
    op, dtype = source.op.removeprefix("group_"), given.dtype
    by_place = op in ("first", "last")
    order = "greatest" if op in ("last", "max", "argmax") else "least"
    value = given.place if by_place else wide(given.x)
    if op.startswith("arg") and dtype.kind == "f":
        value = build.elementwise("add", (value, 0.0))  # zeros are equal
    keys = keys_of(order, given.work, given.number, value, given.length)
    none = nothing(dtype)
    if not by_place and not op.startswith("arg") and (dtype.kind == "f" or dtype.itemsize < 8):
        return values_of(order, keys, dtype, none, given.work.device)
    if by_place:
        places = values_of(order, keys, np.dtype(np.int64), -1, given.work.device)
    else:
        places = _places(order, given, value, keys)
    return places if op.startswith("arg") else _picked(given, places)


def _places(order: str, given: GroupedElements, value: Expr, keys: Any) -> Any:
    """The first place of each group's key, or -1."""
    import cupy

    places = cupy.zeros(given.length, np.uint64)
    places -= np.uint64(1)
    arrays = {foremost.KEYS: keys, foremost.PLACES: places}
    sweep_by(f"{order} place", given.beside(value, given.place), given.length, arrays)
    return places.view(np.int64)


def _picked(given: GroupedElements, places: Any) -> Any:
    """The elements at ``places`` of their lines; of groups without one, nothing."""
    import cupy

    x = wide(given.x)
    results = cupy.zeros(given.length, np.dtype(x.dtype))
    results += np.dtype(x.dtype).type(nothing(given.dtype))
    arrays = {foremost.PLACES: places, foremost.RESULTS: results}
    sweep_by("picked", given.beside(x, given.place), given.length, arrays)
    return results.astype(given.dtype)


def _grouped(
    make: Callable[[Through, GroupedElements], Any], source: Through, work: DeviceWork
) -> Any:
    given = grouped_elements(source, work)
    if not given.length or not work.size or given.length > MOST:
        return None
    return make(source, given)


GROUPED_ON_GPU: Final[dict[str, Callable[[Through, DeviceWork], Any]]] = {
    **{
        f"group_{op}": partial(_grouped, partial(_summed, op))
        for op in ("sum", "mean", "var", "std")
    },
    **{
        f"group_{op}": partial(_grouped, _first)
        for op in ("min", "max", "argmin", "argmax", "first", "last")
    },
    "group_numbers": partial(_grouped, lambda _, given: counts_of(given)),
}
