"""What is made of each group of elements, as it is defined, with NumPy.

The codes are whole numbers: of which group a place is; what is no number of a group is in none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..nodes import Expr, Leaf, Map, Through, whole
from .ordering import one_nan

Array: TypeAlias = NDArray[Any]


class Options(NamedTuple):
    """How the elements of ``groups`` lie: ``rows`` of a group, or elements of lines.

    ``skip``: NaN is left out. ``ddof`` is of spreads alone.
    """

    groups: int
    rows: bool
    skip: bool = False
    ddof: float = 0.0


def grouped(op: str, codes: Expr, x: Expr, options: Options, dtype: str) -> Leaf:
    """``op`` of each group of ``x``, which has two axes; "sort" keeps its shape."""
    length = x.shape[0 if options.rows else 1] if op == "sort" else options.groups
    shape = (length, x.shape[1]) if options.rows else (x.shape[0], length)
    both = Map("several", (codes, x), x.shape, x.dtype)
    return whole(Through(f"group_{op}", both, shape, dtype, tuple(options)), shape)


def counts(codes: Expr, groups: int) -> Leaf:
    """How many places each group has."""
    shape = (groups,)
    return whole(
        Through("group_count", codes, shape, "int64", tuple(Options(groups, False))), shape
    )


def _places(codes: Array, group: int) -> Array:
    return np.flatnonzero(codes.reshape(-1) == group)


def of_each(fold: Callable[[Array, Options, Array], Any]) -> Callable[..., Array]:
    """A fold of a group's elements of one line, for all groups and lines."""

    def meaning(codes: Array, x: Array, given: tuple[Any, ...]) -> Array:
        options = Options(*given)
        lines = x.T if options.rows else x
        found = []
        for line in lines:
            for group in range(options.groups):
                places = _places(codes, group)
                values = line[places]
                if options.skip and x.dtype.kind == "f":
                    places, values = places[~np.isnan(values)], values[~np.isnan(values)]
                found.append(fold(values, options, places))
        results = np.array(found).reshape(len(lines), options.groups)
        return results.T if options.rows else results

    return meaning


def nothing(dtype: Any) -> Any:
    """What stands where a group has no element: NaN, the least integer, or False."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return np.iinfo(dtype).min
    return np.nan if kind == "f" else False


def _moment(name: str) -> Callable[..., Any]:
    def fold(values: Array, options: Options, places: Array) -> Any:
        if not len(values):
            return np.nan
        extra = {} if name == "mean" else {"ddof": options.ddof}
        with np.errstate(all="ignore"):
            return getattr(values, name)(**extra)

    return fold


def _foremost(values: Array, name: str) -> int:
    """Where the least or the greatest of ``values`` is first: NaN before all, -0 below 0."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        return int(np.flatnonzero(np.isnan(values))[0])
    known = values == getattr(values, name)()
    if values.dtype.kind == "f":
        first = np.signbit(values) if name == "min" else ~np.signbit(values)
        known &= first if (known & first).any() else True
    return int(np.flatnonzero(known)[0])


def _place(name: str) -> Callable[..., Any]:
    """Of equals the first, zeros among them."""

    def place(values: Array, options: Options, places: Array) -> Any:
        alike = values + values.dtype.type(0) if values.dtype.kind == "f" else values
        return places[_foremost(alike, name)] if len(values) else -1

    return place


def _element(name: str) -> Callable[..., Any]:
    return lambda values, *_: (
        one_nan(values[[_foremost(values, name)]])[0] if len(values) else nothing(values.dtype)
    )


def _at(k: int) -> Callable[..., Any]:
    return lambda values, *_: values[k] if len(values) else nothing(values.dtype)


def _product(values: Array, options: Options, places: Array) -> Any:
    """By the tree of places: neighbours 2k and 2k + 1, then their products."""
    wide = values.astype(np.float64 if values.dtype.kind == "f" else values.dtype)
    found = dict(zip(places.tolist(), wide, strict=True))
    with np.errstate(all="ignore"):
        while any(found):
            level: dict[int, Any] = {}
            for k, value in found.items():
                level[k // 2] = level[k // 2] * value if k // 2 in level else value
            found = level
    product = next(iter(found.values()), 1)
    return product if product == product else np.nan  # NumPy's


def sorted_groups(codes: Array, x: Array, given: tuple[Any, ...]) -> Array:
    """Each group's elements, sorted, group after group; then those of none, as they come."""
    options = Options(*given)
    lines = x.T if options.rows else x
    results = []
    for line in lines:
        parts = [np.sort(line[_places(codes, g)], kind="stable") for g in range(options.groups)]
        others = (codes.reshape(-1) < 0) | (codes.reshape(-1) >= options.groups)
        results.append(np.concatenate([*parts, line[others]]))
    found = np.array(results).reshape(lines.shape)
    return found.T if options.rows else found


def counted(codes: Array, given: tuple[Any, ...]) -> Array:
    """How many places each group has."""
    groups = Options(*given).groups
    return np.array([len(_places(codes, g)) for g in range(groups)], np.int64)


FOLDS: Final[dict[str, Callable[..., Array]]] = {
    "sum": of_each(lambda values, *_: values.sum()),
    "mean": of_each(_moment("mean")),
    "var": of_each(_moment("var")),
    "std": of_each(_moment("std")),
    "numbers": of_each(lambda values, *_: np.count_nonzero(values == values)),
    "min": of_each(_element("min")),
    "max": of_each(_element("max")),
    "argmin": of_each(_place("min")),
    "argmax": of_each(_place("max")),
    "first": of_each(_at(0)),
    "last": of_each(_at(-1)),
    "prod": of_each(_product),
}
