"""`jackknife`: a statistic of all observations but one, for each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...api.array import Array
from ...api.sources import asarray
from ...dataclass import dataclass
from ...errors import ParameterError
from .boot import ConfidenceInterval
from .samples import known_fields, level_of, samples_of, statistic_of, without_each


@dataclass(frozen=True, eq=False, repr=False)
class JackknifeResult:
    """What `jackknife` found; computed when a field is read.

    Attributes
    ----------
    jackknife_distribution : numpy.ndarray
        The statistic without each observation, along the last axis.
    estimate : float or numpy.ndarray
        The statistic less its bias.
    bias : float or numpy.ndarray
        ``(n - 1) * (mean of the distribution - statistic)``.
    standard_error : float or numpy.ndarray
        ``sqrt((n - 1) * variance of the distribution)``.
    confidence_interval : ConfidenceInterval
        Of a normal distribution of that deviation about the estimate.
    lazy : Array
        The distribution, not computed.
    """

    _observed: Array
    lazy: Array
    _level: float

    @cached_property
    def jackknife_distribution(self) -> NDArray[Any]:
        return np.asarray(self.lazy.compute())

    @cached_property
    def bias(self) -> Any:
        values = self.jackknife_distribution
        mean = asarray(values).mean(axis=-1).compute()
        return ((values.shape[-1] - 1) * (mean - self._observed.compute()))[()]

    @cached_property
    def estimate(self) -> Any:
        return self._observed.compute()[()] - self.bias

    @cached_property
    def standard_error(self) -> Any:
        values = self.jackknife_distribution
        variance = asarray(values).var(axis=-1).compute()
        return np.sqrt((values.shape[-1] - 1) * variance)[()]

    @cached_property
    def confidence_interval(self) -> ConfidenceInterval:
        z = NormalDist().inv_cdf(0.5 + self._level / 2)
        reach = z * self.standard_error
        return ConfidenceInterval(self.estimate - reach, self.estimate + reach)

    def plan(self) -> Any:
        """How the distribution is computed, and in how much memory."""
        return self.lazy.plan()

    def __repr__(self) -> str:
        return known_fields(self)


def jackknife(
    data: Any,
    statistic: Callable[..., Any],
    *,
    batch: Any = None,
    vectorized: bool | None = None,
    axis: int = 0,
    confidence_level: float = 0.95,
) -> JackknifeResult:
    """A statistic's bias and deviation from its values without each of the observations.

    Nothing is drawn. The lines of ``n - 1`` observations are views of the sample, never stored.

    Parameters
    ----------
    data : array_like
        One sample.
    statistic : callable
        As for `bootstrap`.
    batch : int, optional
        How many lines are in memory at a time for a statistic without ``axis``.
    vectorized : bool, optional
        Whether `statistic` takes ``axis``; by default its signature says.
    axis : int, optional
        Along which observations lie.
    confidence_level : float, optional
        Of the interval, below 1.

    Returns
    -------
    JackknifeResult
        Its fields have the shape of the statistic.

    Raises
    ------
    ParameterError
        For fewer than two observations, and for several samples.

    Examples
    --------
    >>> import numpy as np
    >>> import speedcube as sc
    >>> found = sc.random.jackknife([1.0, 2.0, 6.0], np.mean)
    >>> found.jackknife_distribution.tolist(), float(found.estimate)
    ([4.0, 3.5, 1.5], 3.0)
    """
    function = statistic_of(statistic, vectorized, batch)
    samples = samples_of(data, axis)
    if len(samples) > 1:
        raise ParameterError(f"jackknife takes one sample, not {len(samples)}")
    level = level_of(confidence_level)
    if level == 1:
        raise ParameterError("confidence_level must be below 1: the interval would be infinite")
    left_out = function.of([without_each(samples[0])])
    return JackknifeResult(function.of(samples), left_out, level)
