"""flox's `groupby_reduce`: its signature and what it returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ParameterError
from ...expr import build
from ..array import Array, array_of
from .folds import Wanted, counts_of_groups, filled, folded
from .labels import coded
from .layout import layout

_OPTIONS = {"ddof", "q", "method"}


def groupby_reduce(
    array: Any,
    *by: Any,
    func: str,
    expected_groups: Any = None,
    sort: bool = True,
    isbin: Any = False,
    axis: Any = None,
    fill_value: Any = None,
    dtype: Any = None,
    min_count: int | None = None,
    method: Any = None,
    engine: Any = None,
    reindex: Any = None,
    finalize_kwargs: dict[str, Any] | None = None,
) -> tuple[Any, ...]:
    """A result of each group of elements, with the signature of flox's function of this name.

    Labels that are not given are found when this is called; the rest is lazy. Sums are exact,
    and all results have the same bits everywhere.

    Parameters
    ----------
    array : array_like
        The elements.
    *by : array_like
        Keys of any dtype, of the shape of the last axes of `array`, or of those that `axis` names.
        Of several keys each combination of labels is a group. NaN is in no group.
    func : str
        sum mean var std min max argmin argmax first last prod median quantile, each with "nan" in
        front of it to leave NaN out; count (of what is no NaN), any, all. Complex numbers have
        sum mean var std first last count any all.
    expected_groups : array_like, pandas.IntervalIndex or tuple of these, optional
        The labels, one array for each of `by`; others are in no group.
    sort : bool
        Whether labels are sorted; else they are as they come.
    isbin : bool or tuple of bool
        Whether `expected_groups` are edges that rise: a bin holds its upper edge, and its label is
        the pair of both. A pandas.IntervalIndex has bins and labels of its own.
    axis : int or tuple of int, optional
        What is folded: by default all axes of the keys.
    fill_value : number, optional
        The result of a group that has no element; by default 0 of sums and counts, 1 of products,
        NaN of other floats, the least number of other integers, -1 of places.
    dtype : dtype, optional
        Of the result.
    min_count : int, optional
        How many elements that are no NaN a result takes; with less it is `fill_value`, or NaN.
    method : str, optional
        flox's; it decides nothing, and nor do `engine` and `reindex`.
    engine : str, optional
        flox's.
    reindex : bool, optional
        flox's.
    finalize_kwargs : dict, optional
        ``ddof`` of spreads, ``q`` and ``method`` of quantiles.

    Returns
    -------
    tuple
        The result (Array, lazy), whose last axes are those of the groups, and the labels of each
        of `by` (numpy.ndarray).

    Raises
    ------
    ShapeError
        For keys that do not lie beside the elements.
    DTypeError
        For complex numbers, of which a `func` is not.
    ParameterError
        For another `func`, labels that are given twice, and bins that fall or overlap.

    Examples
    --------
    >>> import speedcube as sc
    >>> result, labels = sc.groupby_reduce([1.0, 2.0, 4.0], ["a", "b", "a"], func="mean")
    >>> result.tolist(), labels.tolist()
    ([2.5, 2.0], ['a', 'b'])
    """
    options = dict(finalize_kwargs or {})
    if not options.keys() <= _OPTIONS:
        raise ParameterError(f"finalize_kwargs are {', '.join(sorted(_OPTIONS))}, not {options}")
    if func in ("quantile", "nanquantile") and "q" not in options:
        raise ParameterError('quantiles need finalize_kwargs={"q": ...}')
    keys = coded(by, expected_groups, sort, isbin)
    lie = layout(array_of(array), keys, axis)
    wanted = Wanted(False, dtype, **options)
    result = folded(func, lie, wanted)
    if min_count is not None and build.check_integer("min_count", min_count) > 0:
        enough = folded("count", lie, Wanted())
        result = filled(result, enough, np.nan if fill_value is None else fill_value, min_count)
    elif fill_value is not None:
        result = filled(result, _present(lie, result), fill_value, 1)
    return result, *keys.labels


def _present(lie: Any, result: Array) -> Array:
    """How many elements each group has, beside ``result``."""
    counts = counts_of_groups(lie).reshape((*lie.kept, *lie.labels))
    return counts


__all__ = ["groupby_reduce"]
