"""Where Python and NumPy ask an array for its values: float(x), f"{x:.2f}", np.asarray(x) ..."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import ParameterError, ParameterTypeError, UnsupportedError
from ...expr.nodes import Expr, c_strides
from ...expr.sources.at_hand import element
from ...interop.memory_flags import MemoryFlags
from .repr import values


class Values:
    """An array that is computed by what needs a number or a NumPy array."""

    __slots__ = ()
    _expr: Expr
    _shown: tuple[Expr, str]  # values that it was computed to, and what it shows while it is these

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        """The values."""
        raise NotImplementedError

    def __getitem__(self, item: Any) -> Any:
        raise NotImplementedError

    def reshape(self, *shape: Any) -> Any:
        """The same elements in another shape."""
        raise NotImplementedError

    def _item(self) -> Any:
        shape = self._expr.shape
        if not shape:
            number = element(self._expr)
            return self.compute() if number is None else number
        if any(n != 1 for n in shape):
            raise ParameterTypeError(
                f"only arrays of one element can become a scalar; this one has shape {shape}"
            )
        return np.asarray(self.compute()).reshape(())[()]

    def item(self, *args: Any) -> Any:
        """Compute one element, as a Python scalar.

        Parameters
        ----------
        *args : int, or a tuple of ints, or none
            Its place in C order, or an index for each axis; none for the only element.

        Returns
        -------
        bool, int or float
            The element.

        Raises
        ------
        TypeError
            Without a place, where there is not one element.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.arange(6).reshape(2, 3).item(1, 2)
        5
        """
        place = args[0] if len(args) == 1 and isinstance(args[0], tuple) else args
        if not place:
            return self._item().item()
        if len(place) not in (1, len(self._expr.shape)):
            raise ParameterError(
                f"item takes an index for each axis of shape {self._expr.shape}, not {place}"
            )
        try:
            chosen = [operator.index(one) for one in place]
        except TypeError as err:
            raise ParameterTypeError(f"item takes integers as places, not {place!r}") from err
        return (self if len(chosen) > 1 else self.reshape(-1))[tuple(chosen)]._item().item()

    def tolist(self) -> Any:
        """Compute the values as nested lists of Python scalars.

        Returns
        -------
        list, or a scalar
            A scalar where there are no axes.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.arange(4).reshape(2, 2).tolist()
        [[0, 1], [2, 3]]
        """
        return self.compute().tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """Compute the values, as bytes.

        Parameters
        ----------
        order : {"C", "F", "A"}
            Whether the last axis is the fastest, or the first.

        Returns
        -------
        bytes
            As NumPy's array of the values has them.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([65, 66], dtype="int8").tobytes()
        b'AB'
        """
        return np.asarray(self.compute()).tobytes(order)  # type: ignore[arg-type]

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        """Compute the values, and write them into a file.

        Parameters
        ----------
        fid : file, str or Path
            An open file, or the name of one.
        sep : str
            What stands between texts of elements; their bytes are written without it.
        format : str
            How an element becomes a text.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.arange(3).tofile("numbers.txt", sep=" ")
        >>> np.fromfile("numbers.txt", dtype=int, sep=" ")
        array([0, 1, 2])
        """
        np.asarray(self.compute()).tofile(fid, sep, format)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from an element to the next along each axis, where its values lie in C order."""
        itemsize = np.dtype(self._expr.dtype).itemsize
        return tuple(step * itemsize for step in c_strides(self._expr.shape))

    @property
    def flags(self) -> MemoryFlags:
        """NumPy's flags of the values when they are computed: in C order, and whose they are.

        They cannot be set.
        """
        return MemoryFlags(self._expr.shape)

    def view(self, dtype: Any = None) -> Any:
        """Compute the values, and see their bytes as numbers of another dtype.

        Parameters
        ----------
        dtype : dtype, optional
            Of the numbers.

        Returns
        -------
        numpy.ndarray
            Memory of NumPy's, no lazy array.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.ones(1).view("int64")
        array([4607182418800017408])
        """
        values = np.asarray(self.compute())
        return values.view() if dtype is None else values.view(dtype)

    def _scalar(self) -> Any:
        """The only element; NumPy, whose versions differ, judges one that has axes."""
        number = self._item()
        return np.full(self._expr.shape, number) if self._expr.shape else number

    def __float__(self) -> float:
        return float(self._scalar())

    def __int__(self) -> int:
        return int(self._scalar())

    def __trunc__(self) -> int:
        return int(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __bool__(self) -> bool:
        if any(n != 1 for n in self._expr.shape):
            raise ParameterError(
                f"an array of shape {self._expr.shape} is neither true nor false: ask x.any() or "
                "x.all()"
            )
        return bool(self._item())

    def __index__(self) -> int:
        return operator.index(self._scalar())

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __round__(self, ndigits: int | None = None) -> Any:
        if any(n != 1 for n in self._expr.shape):
            raise UnsupportedError(
                f"round() is for one number, and this array has shape {self._expr.shape}; "
                "use speedcube.round, which rounds every element"
            )
        return round(self.item(), ndigits)

    def __str__(self) -> str:
        return values(self) if self._expr.shape else str(self._item())

    def __format__(self, spec: str) -> str:
        if self._expr.shape and not spec:
            return str(self)
        if self._expr.shape:
            raise UnsupportedError(
                f"the format {spec!r} is for one number, and this array has shape "
                f"{self._expr.shape}; format x.item(), a 0-d array such as x.sum(), or elements "
                "of x.compute()"
            )
        return format(self._item(), spec)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if copy is False:
            raise ParameterError(
                "copy=False is not possible: the values of this array are computed into new "
                "memory; leave copy out, or use np.asarray(x)"
            )
        return np.asarray(self.compute(), dtype=dtype)

    @property
    def _typ(self) -> str:
        """What pandas knows arrays of its own by: it takes a mask only from NumPy or from such.

        Others are labels to it, and `iloc` takes True and False for the places 1 and 0. This word
        is that of pandas' wrapper around NumPy's arrays, of which it asks `to_numpy` alone.
        """
        return "npy_extension" if self._expr.dtype == "bool" else ""

    def to_numpy(self) -> Any:
        """The values as a NumPy array, as pandas and others ask for them.

        Returns
        -------
        numpy.ndarray
            What ``np.asarray(x)`` is.

        Examples
        --------
        >>> import speedcube as sc
        >>> (sc.arange(3) > 0).to_numpy()
        array([False,  True,  True])
        """
        return np.asarray(self)
