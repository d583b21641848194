"""Arrays cut into pieces: views of the same elements."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import ParameterError, ParameterTypeError, ParameterZeroError, ShapeError
from ...expr import build
from ..array import Array, array_of


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Cut an array into pieces, as equal as they can be.

    Parameters
    ----------
    ary : array
        The values.
    indices_or_sections : int, or sequence of int
        How many pieces, or where they are cut.
    axis : int
        Along which axis.

    Returns
    -------
    list of Array
        The pieces: views.

    Raises
    ------
    ValueError
        If there are fewer pieces than one.

    Examples
    --------
    >>> [piece.shape for piece in sc.array_split(sc.ones(5), 2)]
    [(3,), (2,)]
    """
    x = array_of(ary)
    k = build.check_axis(axis, x.ndim)
    extent = x.shape[k]
    ends = _cuts(indices_or_sections)
    if isinstance(ends, int):
        if ends <= 0:
            raise (ParameterError if ends else ParameterZeroError)(
                f"there must be one piece or more, not {ends}"
            )
        size, rest = divmod(extent, ends)
        ends = [j * size + min(j, rest) for j in range(1, ends)]
    before = (slice(None),) * k
    starts, stops = [0, *ends], [*ends, extent]
    return [x[(*before, slice(a, b))] for a, b in zip(starts, stops, strict=True)]


def _cuts(value: Any) -> int | list[int]:
    try:
        return operator.index(value)
    except TypeError:
        several = np.asarray(value).tolist()
    try:
        return [operator.index(one) for one in several]
    except TypeError as err:
        raise ParameterTypeError(
            f"cuts are a number of pieces, or the places between them, not {value!r}"
        ) from err


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Array]:
    """Cut an array into equal pieces, or at places.

    Parameters
    ----------
    ary : array
        The values.
    indices_or_sections : int, or sequence of int
        How many pieces, or where they are cut.
    axis : int
        Along which axis.

    Returns
    -------
    list of Array
        The pieces: views.

    Raises
    ------
    ValueError
        If the pieces cannot be equal.

    Examples
    --------
    >>> [piece.compute().tolist() for piece in sc.split(sc.arange(4), [1, 3])]
    [[0], [1, 2], [3]]
    """
    x, cuts = array_of(ary), _cuts(indices_or_sections)
    k = build.check_axis(axis, x.ndim)
    if isinstance(cuts, int) and cuts > 0 and x.shape[k] % cuts:
        raise ShapeError(
            f"axis {k} has {x.shape[k]} elements, which cannot be cut into {cuts} "
            "equal pieces: array_split takes unequal ones"
        )
    return array_split(x, cuts, k)


def _split(name: str, ary: Any, cuts: Any, ndim: int, axis: int) -> list[Array]:
    x = array_of(ary)
    if x.ndim < ndim:
        raise ShapeError(f"{name} takes an array of {ndim} axes or more, not of {x.ndim}")
    return split(x, cuts, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Cut an array along its second axis, a vector along its first.

    Parameters
    ----------
    ary : array
        An array of one axis or more.
    indices_or_sections : int, or sequence of int
        How many pieces, or where they are cut.

    Returns
    -------
    list of Array
        The pieces: views.

    Raises
    ------
    ValueError
        If there is no axis, or the pieces cannot be equal.

    Examples
    --------
    >>> [piece.shape for piece in sc.hsplit(sc.ones((2, 4)), 2)]
    [(2, 2), (2, 2)]
    """
    x = array_of(ary)
    return _split("hsplit", x, indices_or_sections, 1, 1 if x.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Cut an array along its first axis.

    Parameters
    ----------
    ary : array
        An array of two axes or more.
    indices_or_sections : int, or sequence of int
        How many pieces, or where they are cut.

    Returns
    -------
    list of Array
        The pieces: views.

    Raises
    ------
    ValueError
        If there are fewer axes, or the pieces cannot be equal.

    Examples
    --------
    >>> [piece.shape for piece in sc.vsplit(sc.ones((4, 2)), 2)]
    [(2, 2), (2, 2)]
    """
    return _split("vsplit", ary, indices_or_sections, 2, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Array]:
    """Cut an array along its third axis.

    Parameters
    ----------
    ary : array
        An array of three axes or more.
    indices_or_sections : int, or sequence of int
        How many pieces, or where they are cut.

    Returns
    -------
    list of Array
        The pieces: views.

    Raises
    ------
    ValueError
        If there are fewer axes, or the pieces cannot be equal.

    Examples
    --------
    >>> [piece.shape for piece in sc.dsplit(sc.ones((1, 2, 4)), 2)]
    [(1, 2, 2), (1, 2, 2)]
    """
    return _split("dsplit", ary, indices_or_sections, 3, 2)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Take an array apart along an axis, which goes.

    Parameters
    ----------
    x : array
        An array of one axis or more.
    axis : int
        Along which axis.

    Returns
    -------
    tuple of Array
        One array for each index: views.

    Raises
    ------
    ValueError
        If there is no axis.

    Examples
    --------
    >>> [row.compute().tolist() for row in sc.unstack(sc.asarray([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    array = array_of(x)
    if not array.ndim:
        raise ShapeError("unstack takes an array of one axis or more, not a 0-d one")
    before = (slice(None),) * build.check_axis(axis, array.ndim)
    return tuple(array[(*before, k)] for k in range(array.shape[len(before)]))
