"""From an array to Delayed values, data frames and files, chunk by chunk."""

from __future__ import annotations

from typing import Any

from ..methods.places import FUNCTIONS


class Leaving:
    """An array whose chunks go elsewhere."""

    __slots__ = ()

    def to_dask_array(self) -> Any:
        """The array as one of Dask's."""
        raise NotImplementedError

    def to_delayed(self, optimize_graph: bool = True) -> Any:
        """The chunks as Dask's Delayed values.

        Parameters
        ----------
        optimize_graph : bool
            Whether Dask's graph is optimized before.

        Returns
        -------
        numpy.ndarray of Delayed
            One for each chunk, in the shape of their numbers.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.arange(6, chunks=3).to_delayed()[1].compute()
        array([3, 4, 5])
        """
        return self.to_dask_array().to_delayed(optimize_graph)

    def to_dask_dataframe(self, columns: Any = None, index: Any = None, meta: Any = None) -> Any:
        """Rows as a data frame of Dask's, with chunks of rows as its partitions.

        Parameters
        ----------
        columns : list of str, or str, optional
            Names of columns.
        index : dask.dataframe.Index, optional
            Of the rows.
        meta : optional
            An empty data frame like it.

        Returns
        -------
        dask.dataframe.DataFrame or Series
            Lazy.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.ones((4, 2)).to_dask_dataframe(["a", "b"])  # doctest: +SKIP
        >>> sc.Array.to_dask_dataframe.__name__
        'to_dask_dataframe'
        """
        return self.to_dask_array().to_dask_dataframe(columns, index, meta)

    def to_hdf5(self, filename: Any, datapath: str, **kwargs: Any) -> None:
        """Write the array into a file of HDF5; it needs h5py.

        Parameters
        ----------
        filename : str
            The file.
        datapath : str
            Its name in the file.
        **kwargs
            What else h5py takes.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.arange(4).to_hdf5("numbers.h5", "/x")  # doctest: +SKIP
        >>> sc.Array.to_hdf5.__name__
        'to_hdf5'
        """
        FUNCTIONS["to_hdf5"](filename, datapath, self, **kwargs)

    def to_tiledb(self, uri: Any, *args: Any, **kwargs: Any) -> Any:
        """Write the array as one of TileDB: `speedcube.to_tiledb`.

        Parameters
        ----------
        uri : str or tiledb.Array
            Where.
        *args, **kwargs
            Those of `speedcube.to_tiledb`.

        Returns
        -------
        None, Delayed, or Array
            As in `speedcube.store`.

        Examples
        --------
        >>> import speedcube as sc
        >>> sc.arange(4).to_tiledb("numbers.tiledb")  # doctest: +SKIP
        >>> sc.Array.to_tiledb.__name__
        'to_tiledb'
        """
        return FUNCTIONS["to_tiledb"](self, uri, *args, **kwargs)

    def to_zarr(self, *args: Any, **kwargs: Any) -> Any:
        """Write the array as one of Zarr: `speedcube.to_zarr`.

        Parameters
        ----------
        *args, **kwargs
            Those of `speedcube.to_zarr`.

        Returns
        -------
        None, Delayed, or Array
            As in `speedcube.store`.

        Examples
        --------
        >>> import speedcube as sc
        >>> _ = sc.arange(4).to_zarr("numbers.zarr")
        >>> sc.from_zarr("numbers.zarr").compute()
        array([0, 1, 2, 3])
        """
        return FUNCTIONS["to_zarr"](self, *args, **kwargs)

    def store(self, target: Any, **kwargs: Any) -> Any:
        """Assign chunks to a target by slices: `speedcube.store`.

        Parameters
        ----------
        target : what is assigned to
            A file of HDF5, an array of NumPy's.
        **kwargs
            Those of `speedcube.store`.

        Returns
        -------
        None, Delayed, or arrays
            As in `speedcube.store`.

        Examples
        --------
        >>> import speedcube as sc
        >>> target = np.zeros(3)
        >>> _ = sc.arange(3.0).store(target)
        >>> target
        array([0., 1., 2.])
        """
        return FUNCTIONS["store"]([self], [target], **kwargs)
