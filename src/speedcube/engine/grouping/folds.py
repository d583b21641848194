"""What of a group cannot round: extremes, who comes first, counts; and groups that are sorted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ...expr.through.grouping import Options, nothing
from ...expr.through.ordering import one_nan
from ..ordering.elements import AllElements, Array, in_memory_as
from ..ordering.sorting import in_order, places_of
from .foremost import can_pass, foremost, numbers_in_lines
from .members import Members, by_group, deal_line, ends_of, members_of
from .stream import kernel_dtype, line_of


def each_group(
    codes: AllElements,
    x: AllElements,
    options: Options,
    fold: Callable[[Array, Members, Array], Array],
    empty: Any,
    dtype: Any,
) -> Array:
    """``fold`` of lines whose elements lie group after group, with the places they had.

    Rows are folded group by group, lines some at a time; ``empty`` stands for no element.
    """
    members, lines = members_of(codes, options.groups), x.root.shape[1 if options.rows else 0]
    results = np.full(
        (options.groups, lines) if options.rows else (lines, options.groups), empty, dtype
    )
    if not len(members.present) or not lines:
        return results
    if options.rows:
        held = x.held().reshape(x.root.shape)

        def of_group(g: int) -> None:
            places = members.of(g)
            one = Members(places, np.array([0, len(places)]), np.array([0]))
            results[g] = fold(np.ascontiguousarray(held[places].T), one, places)[:, 0]

        x.each(of_group, members.present.tolist())
        return results

    def of_line(k: int) -> None:
        line = by_group(codes, x, k, members)[None, : len(members.order)]
        results[k, members.present] = fold(line, members, members.order)[0]

    x.each(of_line, range(lines))
    return results


def _each_row(
    codes: AllElements,
    x: AllElements,
    options: Options,
    fold: Callable[[Array], Array],
    empty: Any,
    dtype: Any,
) -> Array:
    """``fold`` of the rows of each group as they lie; ``empty`` stands for none."""
    members, held = members_of(codes, options.groups), x.held().reshape(x.root.shape)
    results = np.full((options.groups, held.shape[1]), empty, dtype)

    def of_group(g: int) -> None:
        places = members.of(g)
        first, last = int(places[0]), int(places[-1]) + 1
        together = last - first == len(places)  # they rise
        results[g] = fold(held[first:last] if together else held[places])

    x.each(of_group, members.present.tolist() if held.shape[1] else [])
    return results


# By whether the least one is meant, and whether NaN is left out.
_EXTREMES: Final = {
    (True, False): np.minimum,
    (False, False): np.maximum,
    (True, True): np.fmin,
    (False, True): np.fmax,
}


def _extreme_row(least: bool, skip: bool, rows: Array) -> Array:
    """The least or greatest of each column; -0 is below 0, which NumPy takes for the same."""
    if rows.dtype.kind != "f":
        return np.asarray(_EXTREMES[least, False].reduce(rows, axis=0))
    with np.errstate(invalid="ignore"):
        found = np.asarray(_EXTREMES[least, skip].reduce(rows, axis=0))
    zeros = np.flatnonzero(found == 0)
    if len(zeros):
        some = rows[:, zeros]
        meant = ((some == 0) & (np.signbit(some) == least)).any(axis=0)
        found[zeros] = np.where(meant == least, rows.dtype.type(-0.0), rows.dtype.type(0))
    return one_nan(found)


def _numbers_row(rows: Array) -> Array:
    """How many elements of each column are no NaN."""
    if rows.dtype.kind != "f":
        return np.full(rows.shape[1], len(rows))
    return np.asarray(len(rows) - np.isnan(rows).sum(axis=0))


def _keys(values: Array, first: bool, skip: bool) -> Array:
    """Integers whose least is the element that is meant: by value, -0 below 0.

    NaN is the least of them; where it is left out, the greatest. ``first``: the least value is.
    """
    dtype = values.dtype
    if dtype.kind != "f":
        wide = values.astype(np.uint8) if dtype.kind == "b" else values
        return wide if first else ~wide
    word = np.dtype(f"int{8 * dtype.itemsize}")
    bits = values.view(word)
    keys = bits ^ ((bits >> word.type(8 * dtype.itemsize - 1)) & np.iinfo(word).max)
    keys = keys if first else ~keys
    limits = np.iinfo(word)
    keys[np.isnan(values)] = limits.max if skip else limits.min
    return np.asarray(keys)


def extremes(op: str, codes: AllElements, x: AllElements, options: Options) -> Array:
    """The elements, or places, of each group that come first by value or by place."""
    if can_pass(op, x, options):
        return foremost(op, codes, x, options)
    if options.rows and op in ("min", "max"):
        fold_rows = partial(_extreme_row, op == "min", options.skip)
        return _each_row(codes, x, options, fold_rows, nothing(x.dtype), x.dtype)
    by_place, value = op in ("first", "last"), not op.startswith("arg")
    dtype: Any = x.dtype if value else np.dtype(np.int64)
    floats = x.dtype.kind == "f"

    def fold(values: Array, members: Members, places: Array) -> Array:
        starts, groups = members.starts, members.counts[members.present]
        left_out = np.isnan(values) if options.skip and floats else np.zeros((1, 1), bool)
        if by_place:
            at = np.broadcast_to(np.arange(len(places)), values.shape)
            if op == "last":
                at = len(places) - 1 - at
            chosen = ~left_out
        else:
            at = np.broadcast_to(np.arange(len(places)), values.shape)
            alike = values + values.dtype.type(0) if floats and not value else values
            keys = _keys(alike, op.endswith("min"), options.skip)
            least = np.minimum.reduceat(keys, starts, axis=1)
            chosen = (keys == np.repeat(least, groups, axis=1)) & ~left_out
        found = np.minimum.reduceat(np.where(chosen, at, len(places)), starts, axis=1)
        none = found == len(places)
        found = np.where(none, 0, len(places) - 1 - found if op == "last" else found)
        if not value:
            return np.where(none, -1, places[found])
        results = np.take_along_axis(values, found, axis=1)
        results[none] = nothing(dtype)
        return one_nan(results)

    return each_group(codes, x, options, fold, nothing(dtype) if value else -1, dtype)


def numbers(codes: AllElements, x: AllElements, options: Options) -> Array:
    """How many elements of each group are no NaN."""
    if not options.rows:
        return numbers_in_lines(codes, x, options)
    return _each_row(codes, x, options, _numbers_row, 0, np.int64)


def sorted_groups(codes: AllElements, x: AllElements, options: Options) -> Array:
    """The elements in the order of their groups, and sorted within each; others are last."""
    if not options.rows:
        return _sorted_lines(codes, x, options.groups)
    members = members_of(codes, options.groups)
    held, numbers_ = x.held().reshape(x.root.shape), codes.held()
    others = np.flatnonzero((numbers_ < 0) | (numbers_ >= options.groups))
    results = np.take(held, np.concatenate([members.order, others]), axis=0)

    def of_group(g: int) -> None:
        part = slice(members.ends[g], members.ends[g + 1])
        results[part] = one_nan(np.sort(results[part], axis=0, kind="stable"))

    x.each(of_group, members.present.tolist())
    return results


_FEW: Final = 1 << 7  # elements of a group; of fewer a call costs more than it sorts


def _sorted_lines(codes: AllElements, x: AllElements, groups: int) -> Array:
    """Each line dealt out to its groups, which are sorted then; or before, if they are small."""
    dtype = x.dtype if x.dtype == bool else np.dtype(kernel_dtype(x.dtype))
    results, ends = np.empty(x.root.shape, dtype), ends_of(codes, groups)
    present = np.flatnonzero(np.diff(ends)[:groups]).tolist()
    small = ends[groups] < _FEW * len(present)

    def of_line(k: int) -> None:
        if small:
            _sorted_and_dealt(codes, x, k, ends, results[k])
            return
        deal_line(codes, x, k, ends, results[k])
        for g in present:
            in_order(results[k, ends[g] : ends[g + 1]].reshape(1, -1))

    x.each(of_line, range(len(results)))
    return results.astype(x.dtype, copy=False)


def _sorted_and_dealt(codes: AllElements, x: AllElements, k: int, ends: Array, out: Array) -> None:
    """Line ``k`` into ``out``: sorted, then dealt out, which keeps the order in a group."""
    line = line_of(x, k, codes.size)
    order = places_of(line)
    turned = in_memory_as(x, line[order])
    deal_line(in_memory_as(codes, codes.held()[order]), turned, 0, ends, out)
    others = out[ends[-2] :]  # what is in no group stays as it comes
    if len(others):
        held = codes.held()
        others[:] = line[(held < 0) | (held >= len(ends) - 2)]
    one_nan(out[: ends[-2]])
