"""NumPy's words for how arrays lie in memory. Ours lie nowhere until they are computed."""

from __future__ import annotations

from types import GenericAlias
from typing import Any

import numpy as np

from ..array import Array
from ..creation import empty
from ..sources import asarray


class _Arrays(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, (Array, np.ndarray))

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, (Array, np.ndarray))


class ndarray(metaclass=_Arrays):
    """What programs call an array: for ``isinstance``, annotations, and ``ndarray(shape)``.

    Instances are `speedcube.Array` and NumPy's arrays, which every function here takes.
    """

    def __new__(cls, shape: Any, dtype: Any = float) -> Any:
        """`speedcube.empty`: an array of this shape."""
        return empty(shape, dtype)

    __class_getitem__: Any = classmethod(GenericAlias)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Array:
    """`a` as an array; results lie in C order, whatever is asked for.

    Parameters
    ----------
    a : array_like
        Numbers.
    dtype : dtype, optional
        Of the result.
    like : Any
        Accepted and not used.

    Returns
    -------
    Array
        With one axis at least, as NumPy's.

    Raises
    ------
    DTypeError
        For texts and objects; it is a TypeError.

    Examples
    --------
    >>> sc.asfortranarray([[1, 2], [3, 4]]).compute()
    array([[1, 2],
           [3, 4]])
    """
    x = asarray(a, dtype)
    return x if x.ndim else x.reshape(1)


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Array:
    """`a` as an array of `dtype`; what it is required of its memory is not looked at.

    Parameters
    ----------
    a : array_like
        Numbers.
    dtype : dtype, optional
        Of the result.
    requirements : str or list of str, optional
        Accepted and not used: results are aligned, writeable, their own, and in C order.
    like : Any
        Accepted and not used.

    Returns
    -------
    Array
        The numbers.

    Raises
    ------
    DTypeError
        For texts and objects; it is a TypeError.

    Examples
    --------
    >>> sc.require([1, 2], "float64", ["C", "A"]).compute()
    array([1., 2.])
    """
    return asarray(a, dtype)


def isfortran(a: Any) -> bool:
    """Whether the results of `a` lie in Fortran's order and not in C's: never.

    Parameters
    ----------
    a : array
        Ours or NumPy's.

    Returns
    -------
    bool
        False; of NumPy's arrays what NumPy says.

    Raises
    ------
    AttributeError
        For what is no array.

    Examples
    --------
    >>> sc.isfortran(sc.ones((2, 3)).T)
    False
    """
    return not isinstance(a, Array) and bool(np.isfortran(a))


def nditer(
    op: Any,
    flags: Any = None,
    op_flags: Any = None,
    op_dtypes: Any = None,
    order: Any = "K",
    casting: Any = "safe",
    op_axes: Any = None,
    itershape: Any = None,
    buffersize: int = 0,
) -> Any:
    """NumPy's walk through the values of arrays, which are computed first: a loop in Python.

    Parameters
    ----------
    op : array_like, or sequence of array_like
        What is walked through; None is an array that NumPy makes. Ours can only be read: what a
        walk writes goes into an array that NumPy makes, or into one of NumPy's.
    flags, op_flags, op_dtypes, order, casting, op_axes, itershape, buffersize
        As in ``numpy.nditer``.

    Returns
    -------
    numpy.nditer
        The walk.

    Raises
    ------
    ValueError
        If one of ours is to be written to.

    Examples
    --------
    >>> [float(one) for one in sc.nditer(sc.asarray([1.0, 2.0]) * 3)]
    [3.0, 6.0]
    """
    several = isinstance(op, (list, tuple))
    given = [_to_be_read(one) for one in op] if several else _to_be_read(op)
    rest = (op_flags, op_dtypes, order, casting, op_axes, itershape, buffersize)
    return np.nditer(given, flags, *rest)


def _to_be_read(value: Any) -> Any:
    """The values of one of our arrays, which nobody may write to."""
    if not isinstance(value, Array):
        return value
    values = np.array(value.compute())
    values.flags.writeable = False
    return values
