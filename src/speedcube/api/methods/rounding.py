"""`Array`'s `astype`, `round` and `clip`."""

from __future__ import annotations

import math
import operator
import warnings
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError, ParameterTypeError
from ...expr import build
from ...expr.pairs.node import is_pair, pair, parts
from .keywords import put
from .lazy import A


def astype(
    self: A,
    dtype: Any,
    order: str = "K",
    casting: Any = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> A:
    """Convert the elements to another dtype: `speedcube.astype`, with NumPy's keywords.

    Parameters
    ----------
    dtype : dtype
        The other one.
    order : {"C", "F", "A", "K"}
        NumPy's word for the layout in memory; it decides nothing here.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        Which conversions are allowed; ``"same_value"`` computes at once whether all elements keep
        their values, which is a ValueError where they do not.
    subok : bool
        NumPy's; it changes nothing here.
    copy : bool
        False gives the array itself where it has the dtype.

    Returns
    -------
    Array
        Of the same shape.

    Raises
    ------
    DTypeError
        Where `casting` does not allow it; it is a TypeError.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.asarray([1.5, -2.5]).astype("int64").compute()
    array([ 1, -2])
    """
    if isinstance(dtype, (np.ndarray, type(self))):
        raise DTypeError("astype takes a dtype, not an array: give y.dtype")
    name = dtypes.check(dtype)
    if casting == "same_value":
        kept: A = _same_values(self, name, copy)
        return kept
    if not dtypes.castable(self._expr.dtype, name, casting):
        raise DTypeError(f"{self._expr.dtype} cannot become {name} with casting={casting!r}")
    if not copy and name == self._expr.dtype:
        return self
    if is_pair(self._expr) and name != "bool" and name not in dtypes.COMPLEX:
        text = "Casting complex values to real discards the imaginary part"  # NumPy's
        warnings.warn(text, np.exceptions.ComplexWarning, stacklevel=2)
        return self._view(build.cast(parts(self._expr)[0], name), self._grid)
    return self._view(build.cast(self._expr, name), self._grid)


def _same_values(array: Any, dtype: str, copy: bool) -> Any:
    """``array`` as ``dtype``, where no element changes its value; that is computed now."""
    reals = [array.real, array.imag] if array._expr.dtype in dtypes.COMPLEX else [array]
    part = dtypes.PARTS.get(dtype, dtype)
    kept = [] if dtype == "bool" else [_keep(one, part) for one in reals]
    if len(reals) > 1 and part == dtype != "bool":
        kept, array = [kept[0], reals[1] == 0], reals[0]
    if not all(bool(one.all()) for one in kept):
        raise ParameterError(f"not every element keeps its value as {dtype} (casting='same_value')")
    return array.astype(dtype, copy=copy)


def _keep(reals: Any, dtype: str) -> Any:
    """Which elements come back as they were."""
    made = reals.astype(dtype)
    same = (made.astype(reals.dtype) == reals) & ((made < 0) == (reals < 0))
    for one, other in ((reals, made), (made, reals)):
        if one.dtype.kind == "f" and other.dtype.kind in "iu":  # the next above is held to the last
            same = same & (one < float(int(np.iinfo(other.dtype).max) + 1))
    return same | (reals != reals) if reals.dtype.kind == made.dtype.kind == "f" else same


def round(self: A, decimals: int = 0, out: Any = None) -> A:
    """To the nearest number of so many decimals, ties to even: `speedcube.round`.

    As NumPy does: multiplied by a power of ten, rounded to a whole number, and divided by it.

    Parameters
    ----------
    decimals : int
        Places behind the point; below 0, in front of it.
    out : Array, optional
        Takes the result.

    Returns
    -------
    Array
        Of the same dtype; float16 of bool.

    Raises
    ------
    ParameterTypeError
        Where `decimals` is no integer; it is a TypeError.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.asarray([0.125, 2.5]).round(1).compute()
    array([0.1, 2.5])
    """
    try:
        places = operator.index(decimals)
    except TypeError as err:
        raise ParameterTypeError(f"decimals must be an integer, not {decimals!r}") from err
    dtype = self._expr.dtype
    if dtype == "bool":
        if places:
            raise DTypeError(f"round of bool takes decimals=0 only, not {places}")
        expr = build.cast(self._expr, "float16")
        return put(out, self._view(expr, self._grid), "round")
    if dtypes.is_integer(dtype) and places >= 0:
        return put(out, self._view(self._expr, self._grid), "round")
    if places == 0:
        return put(out, self._elementwise("rint", self), "round")
    if is_pair(self._expr):
        each = (round(self._view(part, self._grid), places)._expr for part in parts(self._expr))
        return put(out, self._view(pair(*each), self._grid), "round")
    to, back = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    scale = 10.0 ** abs(places) if abs(places) < 309 else math.inf
    whole = self._elementwise("rint", self._elementwise(to, self, scale))
    near = self._elementwise(back, whole, scale)
    return put(out, near._view(build.cast(near._expr, dtype), near._grid), "round")


def clip(self: A, min: Any = None, max: Any = None, out: Any = None) -> A:
    """Elements held between ``min`` and ``max``: `speedcube.clip`.

    Python integers beyond what the dtype holds limit nothing on their side.

    Parameters
    ----------
    min, max : array_like, optional
        The limits, which broadcast; NaN in one gives NaN.
    out : Array, optional
        Takes the result.

    Returns
    -------
    Array
        Of the dtype that they have together.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.asarray([-3, 1, 7]).clip(0, 5).compute()
    array([0, 1, 5])
    """
    dtype = self._expr.dtype
    if dtypes.is_integer(dtype):
        limits = np.iinfo(dtype)
        min = None if type(min) is int and min <= limits.min else min
        max = None if type(max) is int and max >= limits.max else max
    same = self._view(self._expr, self._grid)  # another one, to be assigned to
    held = same if min is None else self._elementwise("maximum", self, min)
    held = held if max is None else self._elementwise("minimum", held, max)
    return put(out, held, "clip")
