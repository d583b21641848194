"""`Array`'s methods that put in order, repeat and multiply: NumPy's functions of the same names."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import AxisTypeError
from .methods.places import FUNCTIONS


class Namesakes:
    """Methods of an array that hand it to the function of their name."""

    __slots__ = ()

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        """Every element several times: `speedcube.repeat` of this array.

        Parameters
        ----------
        repeats : int or array_like of ints
            How many times each.
        axis : int, optional
            Along which axis; None: of all elements in C order.

        Returns
        -------
        Array
            The elements, each beside its copies.

        Raises
        ------
        ParameterError
            For negative repeats; it is a ValueError.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([1, 2]).repeat(2).compute()
        array([1, 1, 2, 2])
        """
        return np.repeat(self, repeats, axis)  # type: ignore[call-overload]

    def trace(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
    ) -> Any:
        """The sums along the diagonals of matrices: `speedcube.trace` of this array.

        Parameters
        ----------
        offset : int
            Which diagonal; above the main one where it is positive.
        axis1, axis2 : int
            The axes of the matrices.
        dtype : dtype, optional
            Of the sums.
        out : Array, optional
            Takes the result.

        Returns
        -------
        Array
            Exact sums, rounded once.

        Raises
        ------
        AxisError
            For fewer axes than two; it is a ValueError.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.eye(3).trace().compute()
        np.float64(3.0)
        """
        return np.trace(self, offset, axis1, axis2, dtype, out)  # type: ignore[call-overload]

    def dot(self, other: Any, /, out: Any = None) -> Any:
        """The dot product of this vector and another: `speedcube.dot`.

        Parameters
        ----------
        other : array_like
            As many elements.
        out : Array, optional
            Takes the result.

        Returns
        -------
        Array
            An exact sum, rounded once.

        Raises
        ------
        ShapeError
            For vectors of other lengths; it is a ValueError.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([1, 2]).dot([3, 4]).compute()
        np.int64(11)
        """
        return np.dot(self, other, out)  # type: ignore[call-overload]

    def sort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> None:
        """Be sorted from now on: `speedcube.sort` of this array.

        Parameters
        ----------
        axis : int
            Along which axis.
        kind : str, optional
            NumPy's name of an algorithm; it changes nothing here.
        order : None
            NumPy's, for fields; refused.
        stable : bool, optional
            NumPy's; sorts are stable always.

        Raises
        ------
        AxisError
            For an axis that it has not.
        TypeError
            For none: what is sorted in place keeps its shape.

        Examples
        --------
        >>> import speedcube as sc
        >>> x = sc.asarray([3, 1, 2])
        >>> x.sort()
        >>> x.compute()
        array([1, 2, 3])
        """
        if axis is None:
            raise AxisTypeError("x.sort takes an axis; speedcube.sort(x, axis=None) gives a line")
        self[...] = FUNCTIONS["sort"](self, axis, kind, order, stable=stable)

    def argsort(
        self, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: Any = None
    ) -> Any:
        """Where sorted elements come from: `speedcube.argsort` of this array.

        Parameters
        ----------
        axis : int, optional
            Along which axis; None: of all elements in C order.
        kind : str, optional
            NumPy's name of an algorithm; it changes nothing here.
        order : None
            NumPy's, for fields; refused.
        stable : bool, optional
            NumPy's; sorts are stable always.

        Returns
        -------
        Array
            int64.

        Raises
        ------
        AxisError
            For an axis that it has not.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([30, 10, 20]).argsort().compute()
        array([1, 2, 0])
        """
        return FUNCTIONS["argsort"](self, axis, kind, order, stable=stable)

    def partition(
        self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None
    ) -> None:
        """Be partitioned from now on: `speedcube.partition` of this array.

        Parameters
        ----------
        kth : int or sequence of ints
            Places that get the elements they have when sorted.
        axis : int, optional
            Along which axis; None: of all elements in C order.
        kind : str, optional
            NumPy's name of an algorithm; it changes nothing here.
        order : None
            NumPy's, for fields; refused.

        Raises
        ------
        ParameterError
            For a place that the axis has not; it is a ValueError.

        Examples
        --------
        >>> import speedcube as sc
        >>> x = sc.asarray([3, 1, 2])
        >>> x.partition(0)
        >>> x[0].compute()
        np.int64(1)
        """
        self[...] = FUNCTIONS["partition"](self, kth, axis, kind, order)

    def argpartition(
        self, kth: Any, axis: int | None = -1, kind: str = "introselect", order: Any = None
    ) -> Any:
        """Where its elements come from: `speedcube.argpartition` of this array.

        Parameters
        ----------
        kth : int or sequence of ints
            Places that get the elements they have when sorted.
        axis : int, optional
            Along which axis; None: of all elements in C order.
        kind : str, optional
            NumPy's name of an algorithm; it changes nothing here.
        order : None
            NumPy's, for fields; refused.

        Returns
        -------
        Array
            int64.

        Raises
        ------
        ParameterError
            For a place that the axis has not; it is a ValueError.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([30, 10, 20]).argpartition(0)[0].compute()
        np.int64(1)
        """
        return FUNCTIONS["argpartition"](self, kth, axis, kind, order)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Where values belong in this sorted array: `speedcube.searchsorted`.

        Parameters
        ----------
        v : array_like
            The values.
        side : {"left", "right"}
            Before or after elements equal to them.
        sorter : array_like of ints, optional
            What sorts this array: its argsort.

        Returns
        -------
        Array
            int64, of the shape of `v`.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([10, 20, 30]).searchsorted([15, 30]).compute()
        array([1, 2])
        """
        return FUNCTIONS["searchsorted"](self, v, side, sorter)

    def __setitem__(self, item: Any, value: Any) -> None:
        raise NotImplementedError
