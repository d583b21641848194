"""What only `dask.array.linalg` has: its own algorithms, over blocks of ``x.chunks``."""

from __future__ import annotations

from typing import Any

from ..api.array import Array
from ..api.blocks.through import by_dask


@by_dask("dask.array.linalg")
def lu(a: Any) -> tuple[Array, Array, Array]:
    """Factor a matrix: ``a = p @ l @ u``, by Dask's algorithm of blocks, which needs SciPy.

    Parameters
    ----------
    a : Array
        A square matrix, whose chunks are square.

    Returns
    -------
    tuple of Array
        ``p``, a permutation of rows within blocks, and the triangles ``l`` and ``u``.

    Raises
    ------
    ValueError
        For another shape, or for chunks that are not square.

    Examples
    --------
    >>> import speedcube as sc
    >>> p, l, u = sc.linalg.lu(sc.asarray([[2.0, 1.0], [4.0, 3.0]]))
    >>> u.compute()
    array([[ 4. ,  3. ],
           [ 0. , -0.5]])
    """
    raise NotImplementedError


def _in_one_chunk(a: Any, b: Any, lower: bool = False) -> Array | None:
    """What `solve_triangular` gives of chunks that do not match: those of `cholesky` are one."""
    if not (isinstance(a, Array) and isinstance(b, Array) and a.ndim == 2 and b.ndim > 0):
        return None
    if a.shape[1] != b.shape[0] or a.chunks[0] == a.chunks[1] == b.chunks[0]:
        return None
    return solve_triangular(a.rechunk(a.shape), b.rechunk({0: b.shape[0]}), lower)


@by_dask("dask.array.linalg", _in_one_chunk)
def solve_triangular(a: Any, b: Any, lower: bool = False) -> Array:
    """Solve ``a @ x = b`` of a triangle, by Dask's algorithm of blocks, which needs SciPy.

    Parameters
    ----------
    a : Array
        A square matrix.
    b : Array
        A vector or a matrix. Where its chunks along its first axis are not those of `a`,
        all are put into one.
    lower : bool
        Which triangle of `a` is read.

    Returns
    -------
    Array
        ``x``, of the shape of `b`.

    Raises
    ------
    ValueError
        For other shapes.

    Examples
    --------
    >>> import speedcube as sc
    >>> a = sc.asarray([[2.0, 0.0], [1.0, 1.0]])
    >>> sc.linalg.solve_triangular(a, sc.asarray([2.0, 3.0]), lower=True).compute()
    array([1., 2.])
    """
    raise NotImplementedError


@by_dask("dask.array.linalg")
def tsqr(data: Any, compute_svd: bool = False) -> tuple[Array, ...]:
    """Factor a tall matrix whose chunks have all columns, by Dask's algorithm; see `qr`.

    Parameters
    ----------
    data : Array
        A matrix with one chunk along its columns.
    compute_svd : bool
        Whether its singular values and vectors are wanted instead.

    Returns
    -------
    tuple of Array
        ``q`` and ``r``; or ``u``, ``s`` and ``vh``.

    Raises
    ------
    ValueError
        If the columns are cut.

    Examples
    --------
    >>> import speedcube as sc
    >>> q, r = sc.linalg.tsqr(sc.ones((4, 2), chunks=(2, 2)))
    >>> (q @ r).compute().round(6).tolist()
    [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    raise NotImplementedError


@by_dask("dask.array.linalg")
def sfqr(data: Any) -> tuple[Array, Array]:
    """Factor a short and wide matrix whose chunks have all rows, by Dask's algorithm; see `qr`.

    Parameters
    ----------
    data : Array
        A matrix with one chunk along its rows.

    Returns
    -------
    tuple of Array
        ``q`` and ``r``.

    Raises
    ------
    ValueError
        If the rows are cut.

    Examples
    --------
    >>> import speedcube as sc
    >>> q, r = sc.linalg.sfqr(sc.ones((2, 4), chunks=(2, 2)))
    >>> (q @ r).compute().round(6).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    """
    raise NotImplementedError
