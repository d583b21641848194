"""A sparse matrix in compressed rows, times a vector."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...errors import DTypeError, ParameterError, ShapeError
from ..array import Array, array_of
from ..indexing.places import checked
from ..namespace.ranges import arange
from ..order.lookup import searchsorted
from ..take import take
from .bins import scattered

_HELD: Final = 1 << 28  # elements whose rows are kept in memory; of more they are searched for


def csr_matvec(data: Any, indices: Any, indptr: Any, x: Any) -> Array:
    """The product of a sparse matrix and a vector: of each row an exact sum, rounded once.

    The matrix is given by the arrays that `scipy.sparse.csr_array` has: row k has the elements
    ``data[indptr[k]:indptr[k + 1]]`` in the columns ``indices[indptr[k]:indptr[k + 1]]``, in any
    order; those of one column are added. Each product is rounded, too.

    Parameters
    ----------
    data : array_like
        One axis.
    indices : array_like of int
        As many columns; they are checked before anything is read.
    indptr : array_like of int
        Where each row begins, and the end of the last; it is read when this is called.
    x : array_like
        The vector.

    Returns
    -------
    Array
        Lazy: a number for each row, of the dtype that the product has.

    Raises
    ------
    AxisError
        For a column that `x` has not: an IndexError.
    ParameterError
        For row ends that fall, or are not those of `data`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.csr_matvec([1.0, 2.0, 3.0], [0, 2, 1], [0, 2, 3], [10.0, 20.0, 30.0]).tolist()
    [70.0, 60.0]
    """
    values, columns, vector = array_of(data), array_of(indices), array_of(x)
    rows = np.asarray(array_of(indptr).compute())
    if not (values.ndim == columns.ndim == rows.ndim == vector.ndim == 1):
        raise ShapeError("csr_matvec takes data, indices, indptr and x of one axis each")
    if values.shape != columns.shape:
        raise ShapeError(f"data has {values.size} elements and indices {columns.size}")
    if not columns.size and not isinstance(indices, Array):
        columns = columns.astype("int64")  # a list of nothing
    if rows.dtype.kind not in "iu":
        raise DTypeError(f"indptr must be integers, not {rows.dtype}")
    rows = rows.astype(np.int64)
    if not rows.size or rows[0] != 0 or rows[-1] != values.size or (np.diff(rows) < 0).any():
        raise ParameterError(
            f"indptr must rise from 0 to the number of elements, {values.size}, without falling"
        )
    if columns.size and vector.size == 0:
        raise ShapeError(f"x has no elements, and the matrix has {columns.size}")
    factor = take(vector, checked(columns, vector.shape[0], 0)) if columns.size else vector[:0]
    products = values * factor
    products = products.astype("int64") if products.dtype == bool else products
    kind = str(products.dtype)
    width = _width(rows)
    if width and (dtypes.is_float(kind) or dtypes.is_integer(kind)):
        return _of_even_rows(products.reshape(-1, width), kind)
    return scattered("add", _rows(rows), products, len(rows) - 1, kind)


def _width(ends: NDArray[np.int64]) -> int:
    """How many elements each row has, if all have as many; else 0."""
    widths = np.diff(ends)
    return int(widths[0]) if len(widths) and (widths == widths[0]).all() else 0


def _of_even_rows(products: Array, dtype: str) -> Array:
    """The sums of rows that lie side by side, with the bits of sums of weights by row."""
    if dtypes.is_float(dtype):
        # Sums of weights are rounded to float64 first, and a zero among them has no sign.
        total: Array = products.astype("float64").sum(axis=1) + 0.0
        return total.astype(dtype)
    wide = "uint64" if dtype.startswith("u") else "int64"
    whole: Array = products.astype(wide).sum(axis=1)
    return whole.astype(dtype)


def _rows(ends: NDArray[np.int64]) -> Array:
    """The row of each element."""
    count = int(ends[-1])
    if count > _HELD:
        found: Array = searchsorted(ends, arange(count, dtype="int64"), side="right") - 1
        return found
    return array_of(np.repeat(np.arange(len(ends) - 1, dtype=np.int64), np.diff(ends)))
