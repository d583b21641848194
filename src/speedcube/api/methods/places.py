"""`Array`'s methods that are NumPy's functions of places: ``x.take(i)`` is ``np.take(x, i)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...errors import ParameterError

# The functions by name: `indexed` puts them in, which knows `Array`.
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {}


class Places:
    """Methods that read or assign at indices and where something is true."""

    __slots__ = ()

    def take(
        self, indices: Any, axis: int | None = None, out: Any = None, mode: str = "raise"
    ) -> Any:
        """Elements at indices along an axis: `speedcube.take` of this array.

        Parameters
        ----------
        indices : array_like of ints
            Which; negative ones count from the end.
        axis : int, optional
            Along which axis; None: of all elements in C order.
        out : Array, optional
            Takes the result.
        mode : {"raise", "wrap", "clip"}
            What becomes of indices out of range.

        Returns
        -------
        Array
            `axis` replaced by the axes of `indices`.

        Raises
        ------
        AxisError
            For an index out of range; it is an IndexError.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([10, 20, 30]).take([2, 0]).compute()
        array([30, 10])
        """
        return FUNCTIONS["take"](self, indices, axis, out, mode)

    def nonzero(self) -> Any:
        """Where elements are not zero: `speedcube.nonzero` of this array.

        Returns
        -------
        tuple of Array
            int64, one for each axis.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([[0, 5], [6, 0]]).nonzero()[1].compute()
        array([1, 0])
        """
        return FUNCTIONS["nonzero"](self)

    def compress(self, condition: Any, axis: int | None = None, out: Any = None) -> Any:
        """Slices where a condition holds: `speedcube.compress` of this array.

        Parameters
        ----------
        condition : array_like of bool
            One axis.
        axis : int, optional
            Along which axis; None: of all elements in C order.
        out : Array, optional
            Takes the result.

        Returns
        -------
        Array
            The slices, in their order.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([1, 2, 3]).compress([True, False, True]).compute()
        array([1, 3])
        """
        return FUNCTIONS["compress"](condition, self, axis, out)

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """Elements of the arrays that this one numbers: `speedcube.choose`.

        Parameters
        ----------
        choices : sequence of array_like
            Which to choose from.
        out : Array, optional
            Takes the result.
        mode : {"raise", "wrap", "clip"}
            What becomes of numbers out of range.

        Returns
        -------
        Array
            Of the shape of all together.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([1, 0]).choose([[1, 2], [10, 20]]).compute()
        array([10,  2])
        """
        return FUNCTIONS["choose"](self, choices, out, mode)

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Assign to places in C order: `speedcube.put` into this array.

        Parameters
        ----------
        indices : array_like of ints
            The places.
        values : array_like
            Repeated where there are fewer.
        mode : {"raise", "wrap", "clip"}
            What becomes of places out of range.

        Examples
        --------
        >>> import speedcube as sc
        >>> x = sc.zeros(3)
        >>> x.put([0, 2], [1.0, 2.0])
        >>> x.compute()
        array([1., 0., 2.])
        """
        FUNCTIONS["put"](self, indices, values, mode)

    def fill(self, value: Any) -> None:
        """Give every element one value from now on.

        Parameters
        ----------
        value : number
            The value, cast as NumPy casts.

        Raises
        ------
        ValueError
            For several values.

        Examples
        --------
        >>> import speedcube as sc
        >>> x = sc.zeros(2)
        >>> x.fill(7)
        >>> x.compute()
        array([7., 7.])
        """
        if isinstance(value, (list, tuple)) or getattr(value, "ndim", False):
            raise ParameterError("fill takes one value; x[...] = values takes several")
        self[...] = value

    def __setitem__(self, item: Any, value: Any) -> None:
        raise NotImplementedError
