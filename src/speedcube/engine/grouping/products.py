"""Products of groups by the tree of places, of which others are 1: stacks of what waits."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...expr.through.grouping import Options
from ...expr.through.ordering import one_nan
from ...kernel.llvm.grouping.products import BEFORE, HEAD, TOP, WORDS
from ...kernel.llvm.grouping.program import TreesOfGroups
from ...kernel.llvm.simd import targets
from ..cpu import address_of
from ..ordering.elements import AllElements, Array
from .folds import each_group
from .members import Members
from .stream import compiled, pairs

_CACHED: Final = 1 << 22  # bytes of stacks; of more elements are dealt out to their groups first


def products(codes: AllElements, x: AllElements, options: Options) -> Array:
    """The products of the groups."""
    floats = x.dtype.kind == "f"
    wide = np.float64 if floats else np.uint64 if x.dtype == np.uint64 else np.int64
    stride = HEAD + 2 * (codes.size.bit_length() + 1)
    fits = 8 * stride * (options.groups + 1) <= _CACHED
    if not options.rows and fits and x.dtype == wide:
        return _scattered(codes, x, options, stride)

    def fold(values: Array, members: Members, places: Array) -> Array:
        if len(values) == 1:
            return _by_group(values[0].astype(wide, copy=False), members, options.skip)
        results = values.astype(wide)
        if options.skip and floats:
            results[np.isnan(results)] = 1
        return _side_by_side(results, members, places)

    return each_group(codes, x, options, fold, 1, wide)


def _side_by_side(results: Array, members: Members, places: Array) -> Array:
    """The products of lines that are multiplied together, level by level."""
    groups, at = members.groups, places
    with np.errstate(all="ignore"):
        while len(groups) > len(members.present):
            at = at >> 1
            begins = np.ones(len(at), bool)
            begins[1:] = (groups[1:] != groups[:-1]) | (at[1:] != at[:-1])
            starts = np.flatnonzero(begins)
            results = np.multiply.reduceat(results, starts, axis=1)
            groups, at = groups[starts], at[starts]
    return one_nan(results)


def _by_group(values: Array, members: Members, skip: bool) -> Array:
    """The products of each group of one line, whose ``values`` lie by group."""
    kernel = compiled(TreesOfGroups(values.dtype.name, skip, False), targets()[0])
    count = len(members.present)
    words, out = np.array([0, count, 0, 0]), np.empty(count, values.dtype)
    ends = np.append(members.starts, members.ends[-1:])  # groups without elements are no gaps
    addresses = values.ctypes.data, members.order.ctypes.data, ends.ctypes.data, out.ctypes.data
    kernel.function(words.ctypes.data, *addresses)
    return one_nan(out)[None]


def _scattered(codes: AllElements, x: AllElements, options: Options, stride: int) -> Array:
    """The products of lines, each with a stack for each group, which are read once."""
    kernel = compiled(TreesOfGroups(x.dtype.name, options.skip, True), targets()[0])
    lines, length = x.root.shape
    results = np.empty((lines, options.groups), x.dtype)

    def line(k: int) -> None:
        stacks = np.zeros((options.groups + 1, stride), np.int64)
        stacks[:, BEFORE] = -1
        stacks.view(x.dtype)[:, TOP] = 1
        words = np.zeros(WORDS, np.int64)

        def run(count: int, first: int, values: int, numbers: int) -> None:
            words[:] = count, options.groups, first, stride
            addresses = values, numbers, numbers, stacks.ctypes.data
            kernel.function(words.ctypes.data, *addresses)

        for first, numbers, values in pairs(codes, x, k * length, (0, length)):
            run(len(numbers), first, address_of(values), address_of(numbers))
        run(0, 0, 0, 0)
        results[k] = stacks.view(x.dtype)[: options.groups, TOP]

    x.each(line, range(lines))
    found: Any = one_nan(results)
    return np.asarray(found)
