"""NumPy's functions that choose between arrays: `where`, `choose` and `select`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import AxisError, DTypeError, ParameterError, ParameterTypeError
from ...expr.views import broadcast_shapes
from ..array import Array, array_of
from ..elementwise import where as chosen_by
from ..methods.keywords import put
from ..shapes import broadcast_to
from .places import checked
from .searching import nonzero


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """``x`` where ``condition``, else ``y``; without these the places where it is true.

    Parameters
    ----------
    condition : array_like of bool
    x, y : array_like, optional
        Both or none; broadcast with ``condition``, of their common dtype.

    Returns
    -------
    Array or tuple of Array
        Lazy; without ``x`` and ``y`` what `nonzero` gives.

    Raises
    ------
    ParameterError
        For one of ``x`` and ``y`` alone.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.arange(5)
    >>> sc.where(x < 3, x, -x).tolist()
    [0, 1, 2, -3, -4]
    >>> sc.where(x > 2)[0].tolist()
    [3, 4]
    """
    if (x is None) != (y is None):
        raise ParameterError("where takes both x and y, or neither")
    return nonzero(condition) if x is None else chosen_by(condition, x, y)


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Array:
    """From several arrays, at each place the element of the one that ``a`` names.

    Parameters
    ----------
    a : array_like of int
        Which of ``choices``.
    choices : sequence of array_like
        They broadcast together, and with ``a``.
    out : Array, optional
        Takes the result.
    mode : {'raise', 'wrap', 'clip'}
        What is done with numbers that there are not: an error, which computes the least and the
        greatest of ``a``; modulo how many there are; the first or the last.

    Returns
    -------
    Array

    Raises
    ------
    ParameterError
        For another mode, or for numbers out of bounds.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.choose([1, 0, 1], [[1, 2, 3], [10, 20, 30]]).tolist()
    [10, 2, 30]
    """
    listed = list(_listed("choose", choices))
    several = [array_of(one) for one in listed]
    index = array_of(a)
    if index.dtype.kind == "b":
        index = index.astype("int64")
    if index.dtype.kind not in "iu":
        raise DTypeError(f"choose takes integers, which of the arrays; got {index.dtype}")
    count = len(several)
    if not count:
        raise ParameterError("choose takes at least one array to choose from")
    if mode == "raise":
        negative = index.size and index.dtype.kind == "i" and int(index.min()) < 0
        if negative:
            raise ParameterError(f"choose of {count} arrays: there is no array {int(index.min())}")
        try:
            index = checked(index, count, 0)
        except AxisError as err:
            raise ParameterError(f"choose of {count} arrays: {err}") from err
    elif mode == "wrap":
        index = index % count
    elif mode == "clip":
        index = chosen_by(index < 0, 0, chosen_by(index > count - 1, count - 1, index))
    else:
        raise ParameterError(f"choose has the modes 'raise', 'wrap' and 'clip', not {mode!r}")
    shape = broadcast_shapes(index.shape, *(one.shape for one in several))
    both = zip(listed, several, strict=True)  # Python's numbers decide no dtype beside arrays
    weak = (bool, int, float, complex)
    common = np.result_type(*(type(a)(1) if type(a) in weak else one.dtype for a, one in both))
    chosen = broadcast_to(several[-1].astype(common), shape)
    for k in range(count - 1):
        chosen = chosen_by(index == k, several[k].astype(common), chosen)
    return put(out, chosen, "choose")


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Array:
    """At each place the element of the first of ``choicelist`` whose condition is true.

    Parameters
    ----------
    condlist : sequence of array_like of bool
    choicelist : sequence of array_like
        As many.
    default : scalar or array_like
        Where no condition is true.

    Returns
    -------
    Array

    Raises
    ------
    ParameterError
        For lists of other lengths, and empty ones.
    ParameterTypeError
        For a condition that is not of bools.
    DTypeError
        For a Python integer among choices that are unsigned.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.arange(6)
    >>> sc.select([x < 2, x > 3], [x, x * 10], -1).tolist()
    [0, 1, -1, -1, 40, 50]
    """
    conditions = [array_of(one) for one in _listed("select", condlist)]
    choicelist = _listed("select", choicelist)
    if len(conditions) != len(choicelist):
        raise ParameterError(
            f"select takes as many conditions as choices, not {len(conditions)} and "
            f"{len(choicelist)}"
        )
    if not conditions:
        raise ParameterError("select takes at least one condition and one choice")
    for k, one in enumerate(conditions):
        if one.dtype.kind != "b":
            raise ParameterTypeError(f"condition {k} of select is of {one.dtype}, not of bools")
    kept = [one if isinstance(one, (bool, int, float)) else array_of(one) for one in choicelist]
    types = [one.dtype if isinstance(one, Array) else one for one in (*kept, default)]
    common = np.result_type(*types)
    if common.kind == "u" and any(type(one) is int for one in kept):
        raise DTypeError(
            f"select casts no Python integer to {common}, as NumPy does not: give it one of that "
            f"dtype, numpy.{common}(number)"
        )
    choices = [array_of(one).astype(common) for one in kept]
    shape = broadcast_shapes(*(one.shape for one in (*conditions, *choices)))
    chosen = broadcast_to(array_of(default).astype(common), shape)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        chosen = chosen_by(condition, choice, chosen)
    return chosen


def _listed(name: str, several: Any) -> list[Any]:
    """What a list of arrays, or an array of them, has."""
    try:
        return list(several)
    except TypeError as err:
        raise ParameterTypeError(f"{name} takes a list of arrays, not {several!r}") from err
