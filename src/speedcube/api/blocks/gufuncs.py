"""Functions with a signature, ``(n),(n)->()``: called with the axes that it names, whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .through import by_dask


@by_dask()
def apply_gufunc(
    func: Callable[..., Any],
    signature: str,
    *args: Any,
    axes: Any = None,
    axis: int | None = None,
    keepdims: bool = False,
    output_dtypes: Any = None,
    output_sizes: Any = None,
    vectorize: bool | None = None,
    allow_rechunk: bool = False,
    meta: Any = None,
    **kwargs: Any,
) -> Any:
    """A function of the axes that a signature names, over blocks of all others: lazy.

    Parameters
    ----------
    func : callable
        Takes blocks, with the named axes last and whole.
    signature : str
        As ``"(i,j),(j)->(i)"``.
    *args : arrays
        One for each part of the signature.
    axes : list of tuples, optional
        Which axes are named, where they are not the last ones.
    axis : int, optional
        The same, for one axis of each.
    keepdims : bool
        Whether named axes stay, with size one, where results have none.
    output_dtypes : dtype or sequence of them, optional
        What `func` gives.
    output_sizes : dict, optional
        The sizes of axes that are in results only.
    vectorize : bool, optional
        Whether `func` takes the named axes alone; it is called for each element of the others then.
    allow_rechunk : bool
        Whether named axes of several chunks are put together; else they are refused.
    meta : array or tuple of them, optional
        Empty arrays like what `func` gives.
    **kwargs
        What else `func` takes.

    Returns
    -------
    Array or tuple of Array
        Lazy, one for each result of the signature.

    Raises
    ------
    ValueError
        Where arrays do not fit the signature, or a named axis has several chunks.

    Examples
    --------
    >>> import speedcube as sc
    >>> x = sc.asarray([[1.0, 2.0], [5.0, 9.0]])
    >>> sc.apply_gufunc(lambda v: v.max(axis=-1) * 2, "(i)->()", x).compute()
    array([ 4., 18.])
    """
    raise NotImplementedError


class gufunc:
    """A function with a signature, to be called with arrays: `apply_gufunc`.

    Parameters
    ----------
    pyfunc : callable
        Takes blocks.
    signature : str
        As ``"(i)->()"``.
    vectorize, axes, axis, keepdims, output_sizes, output_dtypes, allow_rechunk, meta : optional
        Those of `apply_gufunc`.

    Examples
    --------
    >>> import speedcube as sc
    >>> spread = sc.gufunc(lambda v: np.ptp(v, axis=-1), signature="(i)->()", output_dtypes=float)
    >>> spread(sc.asarray([[1.0, 2.0], [5.0, 9.0]])).compute()
    array([1., 4.])
    """

    def __init__(
        self,
        pyfunc: Callable[..., Any],
        *,
        signature: str | None = None,
        vectorize: bool = False,
        axes: Any = None,
        axis: int | None = None,
        keepdims: bool = False,
        output_sizes: Any = None,
        output_dtypes: Any = None,
        allow_rechunk: bool = False,
        meta: Any = None,
    ) -> None:
        self.pyfunc = pyfunc
        self.signature = signature
        self.options = {
            "vectorize": vectorize,
            "axes": axes,
            "axis": axis,
            "keepdims": keepdims,
            "output_sizes": output_sizes,
            "output_dtypes": output_dtypes,
            "allow_rechunk": allow_rechunk,
            "meta": meta,
        }

    def __call__(self, *args: Any, allow_rechunk: bool = False, **kwargs: Any) -> Any:
        """The function of arrays."""
        options = dict(self.options)
        options["allow_rechunk"] = allow_rechunk or options["allow_rechunk"]
        return apply_gufunc(self.pyfunc, self.signature, *args, **options, **kwargs)  # type: ignore


def as_gufunc(signature: str | None = None, **kwargs: Any) -> Callable[..., gufunc]:
    """A decorator that makes a function a `gufunc`.

    Parameters
    ----------
    signature : str
        As ``"(i)->()"``.
    **kwargs
        What else `gufunc` takes.

    Returns
    -------
    callable
        The decorator.

    Examples
    --------
    >>> import speedcube as sc
    >>> @sc.as_gufunc("(i)->()", output_dtypes=float)
    ... def spread(v):
    ...     return np.ptp(v, axis=-1)
    >>> spread(sc.asarray([[1.0, 2.0], [5.0, 9.0]])).compute()
    array([1., 4.])
    """
    return lambda pyfunc: gufunc(pyfunc, signature=signature, **kwargs)
