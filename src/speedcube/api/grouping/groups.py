"""Elements by group: `groupby`, and what can be asked of its groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..array import Array, array_of
from .folds import Wanted, folded
from .labels import coded
from .layout import GroupLayout, layout


class Groups:
    """Elements by group, made by `groupby`: each method gives a lazy result of every group.

    Results have the axes of the elements that no key has, then one axis of groups for each key.
    `skipna` leaves NaN out. Of a group that has no element sums and counts are 0, products 1,
    places -1, other floats NaN, other integers the least number.
    """

    def __init__(self, layout: GroupLayout, labels: tuple[np.ndarray[Any, Any], ...]) -> None:
        self._layout, self._labels = layout, labels

    @property
    def labels(self) -> Any:
        """The labels of the groups (numpy.ndarray), in their order; of several keys a tuple."""
        return self._labels[0] if len(self._labels) == 1 else self._labels

    def __len__(self) -> int:
        return self._layout.groups

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self._layout.labels))
        return f"<{shape} groups of {self._layout.x.size:,} elements, {self._layout.x.dtype}>"

    def _of(self, func: str, skipna: bool, **options: Any) -> Array:
        return folded(func, self._layout, Wanted(bool(skipna), **options))

    def sum(self, *, skipna: bool = False, dtype: Any = None) -> Array:
        """The exact sum of each group, rounded once; integers wrap in 64 bits."""
        return self._of("sum", skipna, dtype=dtype)

    def prod(self, *, skipna: bool = False, dtype: Any = None) -> Array:
        """The product of each group: that of the tree of ``where(key == group, x, 1)``."""
        return self._of("prod", skipna, dtype=dtype)

    def mean(self, *, skipna: bool = False, dtype: Any = None) -> Array:
        """The exact sum of each group over its count, rounded once."""
        return self._of("mean", skipna, dtype=dtype)

    def var(self, ddof: float = 0, *, skipna: bool = False, dtype: Any = None) -> Array:
        """The variance of each group from exact sums, rounded once."""
        return self._of("var", skipna, dtype=dtype, ddof=ddof)

    def std(self, ddof: float = 0, *, skipna: bool = False, dtype: Any = None) -> Array:
        """The square root of the variance, rounded once."""
        return self._of("std", skipna, dtype=dtype, ddof=ddof)

    def min(self, *, skipna: bool = False) -> Array:
        """The least element; NaN if there is one; -0.0 is below 0.0."""
        return self._of("min", skipna)

    def max(self, *, skipna: bool = False) -> Array:
        """The greatest element; NaN if there is one."""
        return self._of("max", skipna)

    def argmin(self, *, skipna: bool = False) -> Array:
        """The place of the first least element among all elements beside the keys."""
        return self._of("argmin", skipna)

    def argmax(self, *, skipna: bool = False) -> Array:
        """The place of the first greatest element among all elements beside the keys."""
        return self._of("argmax", skipna)

    def first(self, *, skipna: bool = False) -> Array:
        """The element of each group that comes first by position."""
        return self._of("first", skipna)

    def last(self, *, skipna: bool = False) -> Array:
        """The element of each group that comes last by position."""
        return self._of("last", skipna)

    def count(self) -> Array:
        """How many elements of each group are no NaN."""
        return self._of("count", False)

    def any(self) -> Array:
        """Whether any element of each group is true."""
        return self._of("any", False)

    def all(self) -> Array:
        """Whether every element of each group is true."""
        return self._of("all", False)

    def median(self, *, skipna: bool = False) -> Array:
        """The median of each group: of two in the middle their exact mean, rounded once."""
        return self._of("median", skipna)

    def quantile(self, q: Any, method: str = "linear", *, skipna: bool = False) -> Array:
        """The quantiles `q` of each group, by one of NumPy's methods; the axes of `q` in front."""
        return self._of("quantile", skipna, q=q, method=method)


def groupby(
    x: Any, *keys: Any, expected_groups: Any = None, axis: Any = None, sort: bool = True
) -> Groups:
    """Elements by group, of which sums, means, extremes, medians ... can be asked.

    Labels that are not given are found when this is called; the rest is lazy.

    Parameters
    ----------
    x : array_like
        The elements.
    *keys : array_like
        Of any dtype, of the shape of the last axes of `x`, or of those that `axis` names. Of
        several keys each combination of labels is a group. NaN is in no group.
    expected_groups : array_like or tuple of array_like, optional
        The labels, one array for each of `keys`; others are in no group.
    axis : int or tuple of int, optional
        What is folded: by default all axes of the keys.
    sort : bool
        Whether labels are sorted; else they are as they come.

    Returns
    -------
    Groups
        Its methods give the results, its `labels` the labels.

    Raises
    ------
    ShapeError
        For keys that do not lie beside the elements.
    ParameterError
        For labels that are given twice.

    Examples
    --------
    >>> import speedcube as sc
    >>> groups = sc.groupby([1.0, 2.0, 4.0], ["a", "b", "a"])
    >>> groups.labels.tolist(), groups.mean().tolist()
    (['a', 'b'], [2.5, 2.0])
    """
    found = coded(keys, expected_groups, sort)
    return Groups(layout(array_of(x), found, axis), found.labels)
