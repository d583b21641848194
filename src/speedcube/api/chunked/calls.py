"""Methods that hand an array to the function of their name: Dask's besides NumPy's."""

from __future__ import annotations

from typing import Any

from ..methods.places import FUNCTIONS


class Called:
    """An array that functions of blocks take, and those that select."""

    __slots__ = ()

    def map_blocks(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """A function of each block: `speedcube.map_blocks`.

        Parameters
        ----------
        func : callable
            Takes a block of this array and of each of `args`, and gives a block.
        *args, **kwargs
            Those of `speedcube.map_blocks`.

        Returns
        -------
        Array
            Lazy.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.arange(6, chunks=3).map_blocks(lambda block: block[::-1]).compute()
        array([2, 1, 0, 5, 4, 3])
        """
        return FUNCTIONS["map_blocks"](func, self, *args, **kwargs)

    def map_overlap(
        self, func: Any, depth: Any, boundary: Any = None, trim: bool = True, **kwargs: Any
    ) -> Any:
        """A function of each block with a border of its neighbours': `speedcube.map_overlap`.

        Parameters
        ----------
        func : callable
            Takes a block, and gives one of its shape.
        depth, boundary, trim, **kwargs
            Those of `speedcube.map_overlap`.

        Returns
        -------
        Array
            Lazy.

        Examples
        --------
        >>> import speedcube as sc
        >>> x = sc.arange(6, chunks=3)
        >>> x.map_overlap(lambda v: v + np.roll(v, 1), depth=1, boundary=0).compute()
        array([0, 1, 3, 5, 7, 9])
        """
        options = {"depth": depth, "boundary": boundary, "trim": trim, **kwargs}
        return FUNCTIONS["map_overlap"](func, self, **options)

    def shuffle(self, indexer: Any, axis: int, chunks: Any = "auto") -> Any:
        """Elements along an axis put in groups: `speedcube.shuffle`.

        Parameters
        ----------
        indexer : list of lists of int
            The positions of each group.
        axis : int
            Along which axis.
        chunks : "auto"
            How groups become chunks.

        Returns
        -------
        Array
            Exact: elements, moved.

        Examples
        --------
        >>> import speedcube as sc
        >>> (sc.arange(4) * 10).shuffle([[3, 0], [1, 2]], 0).compute()
        array([30,  0, 10, 20])
        """
        return FUNCTIONS["shuffle"](self, indexer, axis, chunks)

    def topk(self, k: int, axis: int = -1, split_every: Any = None) -> Any:
        """The greatest elements along an axis: `speedcube.topk`.

        Parameters
        ----------
        k : int
            How many; of a negative number the least.
        axis : int
            Along which axis.
        split_every : optional
            Dask's; it changes nothing here.

        Returns
        -------
        Array
            Sorted, the greatest first; the least first where `k` is negative.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([3, 1, 2]).topk(2).compute()
        array([3, 2])
        """
        return FUNCTIONS["topk"](self, k, axis, split_every)

    def argtopk(self, k: int, axis: int = -1, split_every: Any = None) -> Any:
        """Where the greatest elements along an axis are: `speedcube.argtopk`.

        Parameters
        ----------
        k : int
            How many; of a negative number the least.
        axis : int
            Along which axis.
        split_every : optional
            Dask's; it changes nothing here.

        Returns
        -------
        Array
            int64.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([3, 1, 2]).argtopk(2).compute()
        array([0, 2])
        """
        return FUNCTIONS["argtopk"](self, k, axis, split_every)

    def moment(
        self,
        order: int,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        ddof: int = 0,
        split_every: Any = None,
        out: Any = None,
    ) -> Any:
        """A central moment: `speedcube.moment`.

        Parameters
        ----------
        order : int
            Which one.
        axis : int or sequence of int, optional
            Along which axes; all by default.
        dtype : dtype, optional
            Of the result.
        keepdims : bool
            Whether reduced axes stay, with size one.
        ddof : int
            What is taken from the number of elements.
        split_every : optional
            Dask's; it changes nothing here.
        out : Array, optional
            Takes the result.

        Returns
        -------
        Array
            The mean of the deviations to the power `order`.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.asarray([1.0, 2.0, 6.0]).moment(3).compute()
        np.float64(6.0)
        """
        options = {"axis": axis, "dtype": dtype, "keepdims": keepdims, "ddof": ddof}
        return FUNCTIONS["moment"](self, order, **options, out=out)
