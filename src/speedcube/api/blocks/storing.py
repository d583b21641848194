"""Chunks that go elsewhere: to files, and what is assigned to by slices."""

from __future__ import annotations

from typing import Any

from .through import by_dask


@by_dask()
def to_npy_stack(dirname: Any, x: Any, axis: int = 0) -> None:
    """Write chunks along an axis as ``.npy`` files in a directory.

    Parameters
    ----------
    dirname : str
        The directory.
    x : Array
        What is written.
    axis : int
        Along which axis.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.to_npy_stack("numbers", sc.arange(4, chunks=2))
    >>> np.load("numbers/1.npy")
    array([2, 3])
    """
    raise NotImplementedError


@by_dask()
def store(
    sources: Any,
    targets: Any,
    lock: Any = True,
    regions: Any = None,
    compute: bool = True,
    return_stored: bool = False,
    load_stored: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Assign chunks to targets as Dask does: what `speedcube.store` leaves to it."""
    raise NotImplementedError


@by_dask()
def to_hdf5(filename: Any, *args: Any, chunks: Any = True, **kwargs: Any) -> None:
    """Write arrays into a file of HDF5; it needs h5py.

    Parameters
    ----------
    filename : str
        The file.
    *args : str and Array, or a dictionary of them
        Names and arrays.
    chunks : tuple or bool
        Of the file.
    **kwargs
        What else h5py takes.

    Raises
    ------
    ImportError
        Without h5py.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.to_hdf5("numbers.h5", "/x", sc.arange(4))  # doctest: +SKIP
    >>> sc.to_hdf5.__name__
    'to_hdf5'
    """
    raise NotImplementedError


@by_dask()
def to_tiledb(
    darray: Any,
    uri: Any,
    compute: bool = True,
    return_stored: bool = False,
    storage_options: Any = None,
    key: Any = None,
    **kwargs: Any,
) -> Any:
    """Write an array as one of TileDB.

    Parameters
    ----------
    darray : Array
        What is written.
    uri : str or tiledb.Array
        Where.
    compute, return_stored : bool
        As in `store`.
    storage_options : dict, optional
        For the place where it is.
    key : str, optional
        Of an encrypted array.
    **kwargs
        What else TileDB takes.

    Returns
    -------
    None, Delayed, or Array
        As in `store`.

    Raises
    ------
    ImportError
        Without tiledb.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.to_tiledb(sc.arange(4), "numbers.tiledb")  # doctest: +SKIP
    >>> sc.to_tiledb.__name__
    'to_tiledb'
    """
    raise NotImplementedError
