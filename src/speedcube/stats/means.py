"""Tests of means, those of ``dask.array.stats``: Dask's own, over blocks of ``x.chunks``."""

from __future__ import annotations

from typing import Any

from ..api.blocks.through import by_dask
from .samples import of_samples


@of_samples()
@by_dask("dask.array.stats")
def ttest_ind(a: Any, b: Any, axis: int | None = 0, equal_var: bool = True) -> Any:
    """Whether two independent samples have the same mean: Student's test, or Welch's.

    Parameters
    ----------
    a, b : array
        The samples.
    axis : int or None
        The axis along which they lie; None: all of each.
    equal_var : bool
        False for Welch's test, which does not take the spreads for equal.

    Returns
    -------
    dask.delayed.Delayed
        The statistic and its probability, of SciPy's type.

    Raises
    ------
    ImportError
        Without SciPy.

    Examples
    --------
    >>> r = sc.stats.ttest_ind(sc.asarray([1.0, 2.0, 3.0]), sc.asarray([2.0, 3.0, 5.0]))
    >>> float(r.compute().statistic.round(6))
    -1.264911
    """
    raise NotImplementedError


@of_samples()
@by_dask("dask.array.stats")
def ttest_1samp(a: Any, popmean: Any, axis: int | None = 0, nan_policy: str = "propagate") -> Any:
    """Whether a sample has a given mean.

    Parameters
    ----------
    a : array
        The sample.
    popmean : float
        The mean that is expected.
    axis : int or None
        The axis along which it lies; None: all of it.
    nan_policy : str
        ``"propagate"``.

    Returns
    -------
    dask.delayed.Delayed
        The statistic and its probability, of SciPy's type.

    Raises
    ------
    ImportError
        Without SciPy.
    NotImplementedError
        For another `nan_policy`.

    Examples
    --------
    >>> r = sc.stats.ttest_1samp(sc.asarray([1.0, 2.0, 3.0]), 1.0)
    >>> float(r.compute().statistic.round(6))
    1.732051
    """
    raise NotImplementedError


@of_samples()
@by_dask("dask.array.stats")
def ttest_rel(a: Any, b: Any, axis: int | None = 0, nan_policy: str = "propagate") -> Any:
    """Whether two samples of the same things have the same mean.

    Parameters
    ----------
    a, b : array
        The samples.
    axis : int or None
        The axis along which they lie; None: all of each.
    nan_policy : str
        ``"propagate"``.

    Returns
    -------
    dask.delayed.Delayed
        The statistic and its probability, of SciPy's type.

    Raises
    ------
    ImportError
        Without SciPy.
    NotImplementedError
        For another `nan_policy`.

    Examples
    --------
    >>> r = sc.stats.ttest_rel(sc.asarray([1.0, 2.0, 3.0]), sc.asarray([2.0, 3.0, 5.0]))
    >>> float(r.compute().statistic.round(6))
    -4.0
    """
    raise NotImplementedError


@by_dask("dask.array.stats")
def f_oneway(*args: Any) -> Any:
    """Whether several samples have the same mean: analysis of variance.

    Parameters
    ----------
    *args : array
        The samples.

    Returns
    -------
    dask.delayed.Delayed
        The statistic and its probability, of SciPy's type.

    Raises
    ------
    ImportError
        Without SciPy.

    Examples
    --------
    >>> r = sc.stats.f_oneway(sc.asarray([1.0, 2.0, 3.0]), sc.asarray([2.0, 3.0, 5.0]))
    >>> float(r.compute().statistic.round(6))
    1.6
    """
    raise NotImplementedError
