"""Tests of distributions, those of ``dask.array.stats``: Dask's own, over blocks."""

from __future__ import annotations

from typing import Any

from ..api.blocks.through import by_dask
from .samples import of_samples


@of_samples(8)
@by_dask("dask.array.stats")
def skewtest(a: Any, axis: int | None = 0, nan_policy: str = "propagate") -> Any:
    """Whether a sample's skewness is that of a normal distribution.

    Parameters
    ----------
    a : array
        The sample, of 8 numbers or more.
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
    >>> r = sc.stats.skewtest(sc.asarray([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]))
    >>> float(r.compute().statistic.round(6))
    1.010805
    """
    raise NotImplementedError


@of_samples(5)
@by_dask("dask.array.stats")
def kurtosistest(a: Any, axis: int | None = 0, nan_policy: str = "propagate") -> Any:
    """Whether a sample's kurtosis is that of a normal distribution.

    Parameters
    ----------
    a : array
        The sample, of 20 numbers or more.
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
    >>> r = sc.stats.kurtosistest(sc.arange(20.0))
    >>> float(r.compute().statistic.round(6))
    -1.70581
    """
    raise NotImplementedError


@of_samples(8)
@by_dask("dask.array.stats")
def normaltest(a: Any, axis: int | None = 0, nan_policy: str = "propagate") -> Any:
    """Whether a sample is of a normal distribution, by its skewness and kurtosis.

    Parameters
    ----------
    a : array
        The sample, of 20 numbers or more.
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
    >>> r = sc.stats.normaltest(sc.arange(20.0))
    >>> float(r.compute().statistic.round(6))
    3.992116
    """
    raise NotImplementedError


@by_dask("dask.array.stats")
def chisquare(f_obs: Any, f_exp: Any = None, ddof: int = 0, axis: int | None = 0) -> Any:
    """Whether counts are those that are expected: Pearson's test.

    Parameters
    ----------
    f_obs : array
        Counts.
    f_exp : array, optional
        What is expected; else all counts equal.
    ddof : int
        By how much the degrees of freedom are fewer.
    axis : int or None
        The axis along which they lie; None takes all elements.

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
    >>> r = sc.stats.chisquare(sc.asarray([16.0, 18.0, 16.0, 14.0]))
    >>> float(r.compute().statistic)
    0.5
    """
    raise NotImplementedError


@by_dask("dask.array.stats")
def power_divergence(
    f_obs: Any, f_exp: Any = None, ddof: int = 0, axis: int | None = 0, lambda_: Any = None
) -> Any:
    """Whether counts are those that are expected, by a statistic of Cressie and Read.

    Parameters
    ----------
    f_obs : array
        Counts.
    f_exp : array, optional
        What is expected; else all counts equal.
    ddof : int
        By how much the degrees of freedom are fewer.
    axis : int or None
        The axis along which they lie; None takes all elements.
    lambda_ : float or str, optional
        The power, or its name: ``"pearson"``, ``"log-likelihood"`` and others.

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
    >>> r = sc.stats.power_divergence(sc.asarray([16.0, 18.0, 16.0, 14.0]), lambda_="pearson")
    >>> float(r.compute().statistic)
    0.5
    """
    raise NotImplementedError
