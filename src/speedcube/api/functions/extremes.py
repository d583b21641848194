"""The extremes of what is no NaN, and their places."""

from __future__ import annotations

import math
from typing import Any

from ...errors import ParameterError
from ..array import Array, array_of, elementwise
from ..methods.keywords import axis_of, put
from ..methods.reducing import reduced
from .floats import either, is_of_floats


class Found(Array):
    """Places, of which -1 is none: refused by what asks for values."""

    __slots__ = ("_function",)

    def __init__(self, places: Array, function: str) -> None:
        super().__init__(places._expr, gpu=places._gpu, hint=places._grid)
        self._function = function

    def compute(self, *args: Any, **keywords: Any) -> Any:
        """The values, or `ParameterError`, a ValueError."""
        plain: Any = super()
        return self._checked(plain.compute(*args, **keywords))

    def persist(self, *args: Any, **keywords: Any) -> Any:
        """The same array with its values in memory."""
        plain: Any = super()
        held: Array = plain.persist(*args, **keywords)
        self._checked(held.compute())
        return held

    def __dask_postcompute__(self) -> tuple[Any, tuple[Any, ...]]:
        return _checked_only, (self,)

    def _checked(self, values: Any) -> Any:
        if (values < 0).any():
            raise ParameterError(
                f"{self._function}: a line holds only NaN, so it has no extreme; "
                "speedcube.where(speedcube.isnan(x), value, x) gives it one"
            )
        return values


def _checked_only(results: Any, places: Found) -> Any:
    return places._checked(results[0])


def without_nan(array: Array, value: float) -> Array:
    """``array`` with ``value`` for NaN."""
    return either(elementwise("isnan", array), value, array) if is_of_floats(array) else array


def nanmin(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    split_every: Any = None,
) -> Array:
    """The least of what is no NaN; NaN where nothing else is there.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    out : Array, optional
        Takes the result.
    keepdims : bool
        Whether folded axes stay, with size one.
    initial : number, optional
        The result where nothing is less.
    where : array_like of bool, optional
        The elements that count; needs `initial`.
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        Lazy, without the folded axes.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nanmin([[1.0, float("nan")], [3.0, 4.0]], axis=0).compute()
    array([1., 4.])
    """
    return put(out, _extreme("min", a, math.inf, axis, keepdims, initial, where), "nanmin")


def nanmax(
    a: Any,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    split_every: Any = None,
) -> Array:
    """The greatest of what is no NaN; NaN where nothing else is there.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    out : Array, optional
        Takes the result.
    keepdims : bool
        Whether folded axes stay, with size one.
    initial : number, optional
        The result where nothing is greater.
    where : array_like of bool, optional
        The elements that count; needs `initial`.
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        Lazy, without the folded axes.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nanmax([[1.0, float("nan")], [3.0, 4.0]], axis=0).compute()
    array([3., 4.])
    """
    return put(out, _extreme("max", a, -math.inf, axis, keepdims, initial, where), "nanmax")


def nanargmin(
    a: Any,
    axis: int | None = None,
    out: Any = None,
    *,
    keepdims: bool = False,
    split_every: Any = None,
) -> Array:
    """The place of the first least element that is no NaN.

    A line of nothing but NaN has none: a ValueError where the places are computed. In a larger
    expression such a place is -1.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int, optional
        Along which; all elements in C order by default.
    out : Array, optional
        Takes the result.
    keepdims : bool
        Whether the axis stays, with size one.
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        int64.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nanargmin([float("nan"), 3.0, 1.0]).compute()
    np.int64(2)
    """
    return put(out, _place("argmin", a, math.inf, axis, keepdims), "nanargmin")


def nanargmax(
    a: Any,
    axis: int | None = None,
    out: Any = None,
    *,
    keepdims: bool = False,
    split_every: Any = None,
) -> Array:
    """The place of the first greatest element that is no NaN.

    A line of nothing but NaN has none: a ValueError where the places are computed. In a larger
    expression such a place is -1.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int, optional
        Along which; all elements in C order by default.
    out : Array, optional
        Takes the result.
    keepdims : bool
        Whether the axis stays, with size one.
    split_every : optional
        Dask's; it decides nothing.

    Returns
    -------
    Array
        int64.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.nanargmax([float("nan"), 3.0, 1.0]).compute()
    np.int64(1)
    """
    return put(out, _place("argmax", a, -math.inf, axis, keepdims), "nanargmax")


def _extreme(
    op: str, a: Any, neutral: float, axis: Any, keepdims: bool, initial: Any, where: Any
) -> Array:
    array = array_of(a)
    if initial is None and where is True and array.dtype.kind == "f":  # NaN is just the last key
        return reduced(array, f"nan{op}", axis_of(array, axis), keepdims, array._expr.dtype)
    known = without_nan(array, neutral)
    extreme: Array = getattr(known, op)(axis, None, keepdims, initial, where)
    if known is array or initial is not None:
        return extreme
    nothing = elementwise("isnan", array).all(axis, keepdims=keepdims)
    return either(nothing, math.nan, extreme)


def _place(op: str, a: Any, neutral: float, axis: Any, keepdims: bool) -> Array:
    array = array_of(a)
    known = without_nan(array, neutral)
    place: Array = getattr(known, op)(axis, keepdims=keepdims)
    if known is array:
        return place
    place = either(elementwise("isnan", array).all(axis, keepdims=keepdims), -1, place)
    return Found(place, f"nan{op}")
