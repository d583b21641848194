"""Small files and texts of numbers, which NumPy reads at once: what it reads becomes our arrays.

A function here is a text; `reads` makes it NumPy's function of the same name. What no kernel takes,
texts and records, stays NumPy's. What does not fit into memory is for `speedcube.open`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import numpy as np

from ... import dtypes
from ..sources import asarray

_KNOWN: Final = frozenset(map(np.dtype, (*dtypes.ALL, *dtypes.COMPLEX)))


def _taken(value: Any) -> Any:
    """``value`` with NumPy's arrays of numbers as ours."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_taken, value))
    known = isinstance(value, np.ndarray) and value.dtype in _KNOWN
    return asarray(value) if known else value


def _reads(stub: Callable[..., Any]) -> Callable[..., Any]:
    theirs = getattr(np, stub.__name__)

    @wraps(stub)
    def function(*args: Any, **kwargs: Any) -> Any:
        return _taken(theirs(*args, **kwargs))

    function.__signature__ = inspect.signature(theirs)  # type: ignore[attr-defined]
    return function


@_reads
def loadtxt() -> Any:
    """Numbers from a text file: a line of it is a row.

    Parameters
    ----------
    fname, dtype, comments, delimiter, converters, skiprows, usecols, unpack, ndmin,
    encoding, max_rows, quotechar, like
        As in ``numpy.loadtxt``.

    Returns
    -------
    Array
        `dtype`, float64; records stay NumPy's.

    Raises
    ------
    ValueError
        For a line with another number of words, or a word that is no number.
    OSError
        Without the file.

    Examples
    --------
    >>> sc.loadtxt(["1 2", "3 4"]).sum(axis=0).compute()
    array([4., 6.])
    """


@_reads
def genfromtxt() -> Any:
    """Numbers from a text file in which some are missing.

    Parameters
    ----------
    fname, dtype, comments, delimiter, skip_header, skip_footer, converters, missing_values,
    filling_values, usecols, names, excludelist, deletechars, replace_space, autostrip,
    case_sensitive, defaultfmt, unpack, usemask, loose, invalid_raise, max_rows, encoding,
    ndmin, like
        As in ``numpy.genfromtxt``.

    Returns
    -------
    Array
        `dtype`, float64, NaN where nothing stands; records and texts stay NumPy's.

    Raises
    ------
    ValueError
        For a line with another number of words.
    OSError
        Without the file.

    Examples
    --------
    >>> sc.genfromtxt(["1,2", "3,"], delimiter=",").compute()
    array([[ 1.,  2.],
           [ 3., nan]])
    """


@_reads
def fromregex() -> Any:
    r"""Numbers from a text file, where an expression finds them.

    Parameters
    ----------
    file, regexp, dtype, encoding
        As in ``numpy.fromregex``.

    Returns
    -------
    Array
        Records, which stay NumPy's.

    Raises
    ------
    TypeError
        For a `dtype` without fields.
    OSError
        Without the file.

    Examples
    --------
    >>> import io
    >>> text = io.StringIO("a 1\nb 2\n")
    >>> sc.fromregex(text, r"\w (\d)", [("n", "i8")])["n"].tolist()
    [1, 2]
    """


@_reads
def fromfile() -> Any:
    """The numbers of a file, as they lie there.

    Parameters
    ----------
    file, dtype, count, sep, offset, like
        As in ``numpy.fromfile``.

    Returns
    -------
    Array
        `dtype`, of one axis.

    Raises
    ------
    ValueError
        For objects.
    OSError
        Without the file.

    Examples
    --------
    >>> np.arange(3.0).tofile("numbers.bin")
    >>> sc.fromfile("numbers.bin").compute()
    array([0., 1., 2.])
    """


@_reads
def frombuffer() -> Any:
    r"""What lies in a buffer, as numbers: they are read when they are computed.

    Parameters
    ----------
    buffer, dtype, count, offset, like
        As in ``numpy.frombuffer``.

    Returns
    -------
    Array
        `dtype`, of one axis.

    Raises
    ------
    ValueError
        If the buffer is no whole number of elements.

    Examples
    --------
    >>> sc.frombuffer(b"\x01\x02", dtype="uint8").compute()
    array([1, 2], dtype=uint8)
    """


@_reads
def load() -> Any:
    """What `save` and `savez` have written: an array, or several by name.

    Parameters
    ----------
    file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size
        As in ``numpy.load``.

    Returns
    -------
    Array
        For ``.npz`` NumPy's mapping of names to arrays.

    Raises
    ------
    ValueError
        For objects, which are pickled: nothing of a file is run.
    OSError
        Without the file.

    Examples
    --------
    >>> np.save("line.npy", np.arange(3))
    >>> sc.load("line.npy").sum().compute()
    np.int64(3)
    """
