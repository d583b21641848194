"""Functions that tell of dtypes: NumPy's, and the Array API's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError
from ..array import Array, array_of
from ..devices import checked_device


class finfo:
    """What can be told of a floating-point dtype; the numbers are Python's floats.

    Parameters
    ----------
    dtype : dtype, its name, or an array
        One of the floating-point dtypes, or an array of such a dtype; of a complex dtype it tells
        of the parts.

    Raises
    ------
    ValueError
        If the dtype is none of the floating-point dtypes.

    Examples
    --------
    >>> sc.finfo(sc.float32).eps
    1.1920928955078125e-07
    >>> sc.finfo(sc.ones(3)).bits
    64
    """

    def __init__(self, dtype: Any) -> None:
        kind = _dtype_of(dtype)
        if kind.kind not in "fc":
            raise ParameterError(f"finfo tells of floating-point dtypes, not of {kind}; see iinfo")
        self._numpy: Any = np.finfo(kind)
        self.dtype = np.dtype(self._numpy.dtype)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._numpy, name)
        return value.item() if isinstance(value, np.generic) else value

    def __repr__(self) -> str:
        return repr(self._numpy)


class iinfo:
    """What can be told of an integer dtype.

    Parameters
    ----------
    type : dtype, its name, or an array
        One of the integer dtypes, or an array of such a dtype.

    Raises
    ------
    ValueError
        If the dtype is none of the integer dtypes.

    Examples
    --------
    >>> sc.iinfo(sc.int8).max
    127
    """

    def __init__(self, type: Any) -> None:
        kind = _dtype_of(type)
        if kind.kind not in "iu":
            raise ParameterError(f"iinfo tells of integer dtypes, not of {kind}; see finfo")
        known = np.iinfo(kind)
        self.dtype = np.dtype(known.dtype)
        self.bits, self.min, self.max, self.kind = known.bits, known.min, known.max, known.kind

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Parameters
    ----------
    dtype : dtype
        The dtype that is asked about.
    kind : dtype, str, or a tuple of them
        Another dtype, or one of ``"bool"``, ``"signed integer"``, ``"unsigned integer"``,
        ``"integral"``, ``"real floating"``, ``"complex floating"``, ``"numeric"``.

    Returns
    -------
    bool
        True where the dtype is of one of the kinds.

    Examples
    --------
    >>> sc.isdtype(sc.float32, "real floating")
    True
    >>> sc.isdtype(sc.int64, (sc.float64, "signed integer"))
    True
    """
    return np.isdtype(np.dtype(dtype), kind)


def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether values of one dtype can become another by a rule.

    Parameters
    ----------
    from_ : dtype or array
        What would be converted.
    to : dtype
        What it would become.
    casting : {"no", "equiv", "safe", "same_kind", "unsafe"}
        The rule.

    Returns
    -------
    bool
        True where the rule allows it.

    Examples
    --------
    >>> sc.can_cast(sc.int32, sc.float64)
    True
    >>> sc.can_cast(sc.ones(3), sc.float32)
    False
    """
    return np.can_cast(from_.dtype if isinstance(from_, Array) else from_, to, casting)


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """Return the dtype that an operation on the arguments has.

    Parameters
    ----------
    *arrays_and_dtypes : arrays, dtypes, numbers
        What would be combined. Python's numbers take the dtype of the others.

    Returns
    -------
    dtype
        The common dtype, by NumPy's rules.

    Raises
    ------
    TypeError
        If the dtypes have none in common.

    Examples
    --------
    >>> sc.result_type(sc.ones(3, sc.float32), 2.5)
    dtype('float32')
    """
    known = (one.dtype if isinstance(one, Array) else one for one in arrays_and_dtypes)
    return np.result_type(*known)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """Convert an array to another dtype.

    Parameters
    ----------
    x : array
        The values.
    dtype : dtype
        What they become. Floats are cut towards zero where it is an integer dtype.
    copy : bool
        False gives the array itself where it has the dtype already.
    device : str, optional
        Where the result lies: ``"cpu"``, ``"cuda:0"`` ...

    Returns
    -------
    Array
        The converted values, in the shape of ``x``.

    Raises
    ------
    TypeError
        If there are no kernels for the dtype.

    Examples
    --------
    >>> sc.astype(sc.asarray([1.7, -1.7]), sc.int8).compute()
    array([ 1, -1], dtype=int8)
    """
    checked_device("astype", device)
    array = array_of(x).astype(dtype, copy=copy)
    return array if device is None else array.to_device(device)


def common_type(*arrays: Any) -> Any:
    """Return a floating-point dtype that holds the values of all arrays.

    Parameters
    ----------
    *arrays : arrays
        Arrays of integers and floats.

    Returns
    -------
    type
        NumPy's class of the dtype; ``float64`` where there are integers.

    Examples
    --------
    >>> sc.common_type(sc.ones(2, sc.float16), sc.ones(2, sc.float32)).__name__
    'float32'
    """
    return np.common_type(*(np.empty(0, array_of(one).dtype) for one in arrays))


def min_scalar_type(a: Any, /) -> np.dtype[Any]:
    """Return the smallest dtype that holds a number, or the dtype of an array.

    Parameters
    ----------
    a : number or array
        What is to be held.

    Returns
    -------
    dtype
        The smallest; of an array with axes, its own.

    Examples
    --------
    >>> sc.min_scalar_type(300)
    dtype('uint16')
    """
    if isinstance(a, Array) and a.ndim:
        return a.dtype
    smallest: np.dtype[Any] = np.min_scalar_type(a.compute() if isinstance(a, Array) else a)
    return smallest


def _dtype_of(value: Any) -> np.dtype[Any]:
    """The dtype that ``value`` is, names, or has."""
    if isinstance(value, (Array, np.ndarray, np.generic)):
        value = value.dtype
    try:
        known: np.dtype[Any] = np.dtype(value)
    except TypeError as err:
        raise DTypeError(f"unknown dtype {value!r}; there are {', '.join(dtypes.ALL)}") from err
    return known
