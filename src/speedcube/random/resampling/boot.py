"""`bootstrap`: a statistic's distribution over samples that are drawn again with replacement."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import cached_property
from statistics import NormalDist
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...api.array import Array
from ...api.sources import asarray
from ...dataclass import dataclass
from ...errors import ParameterError
from ..generator import default_rng
from ..ranges import integers
from .samples import (
    ALTERNATIVES,
    Statistic,
    at,
    chosen,
    known_fields,
    level_of,
    samples_of,
    statistic_of,
    together,
    whole,
    without_each,
)

Values = NDArray[Any]
_METHODS: Final = ("percentile", "basic", "bca")
_NORMAL: Final = NormalDist()


class ConfidenceInterval(NamedTuple):
    """The ends of an interval."""

    low: Any
    high: Any


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult:
    """What `bootstrap` found. Resamples are drawn when the first of its fields is read.

    Attributes
    ----------
    confidence_interval : ConfidenceInterval
        ``low`` and ``high``: numbers, or arrays for samples of several lines.
    bootstrap_distribution : numpy.ndarray
        The statistic of each resample, along the last axis.
    standard_error : float or numpy.ndarray
        The deviation of that distribution, of one degree of freedom less.
    lazy : Array or None
        What is drawn of the distribution, not computed; None where nothing is.
    """

    lazy: Array | None
    _before: Values | None
    _interval: Callable[[Values], ConfidenceInterval] = field(repr=False)

    @cached_property
    def bootstrap_distribution(self) -> Values:
        found = [] if self._before is None else [self._before]
        if self.lazy is not None:
            found.append(self.lazy.compute())
        return np.concatenate(found, axis=-1) if len(found) > 1 else found[0]

    @cached_property
    def confidence_interval(self) -> ConfidenceInterval:
        return self._interval(self.bootstrap_distribution)

    @cached_property
    def standard_error(self) -> Any:
        return asarray(self.bootstrap_distribution).std(axis=-1, ddof=1).compute()[()]

    def plan(self) -> Any:
        """How the distribution is computed, and in how much memory."""
        if self.lazy is None:
            raise ParameterError("there is nothing to compute: n_resamples is 0")
        return self.lazy.plan()

    def __repr__(self) -> str:
        return known_fields(self)


def bootstrap(
    data: Any,
    statistic: Callable[..., Any],
    n_resamples: Any = 9999,
    *,
    batch: Any = None,
    vectorized: bool | None = None,
    paired: bool = False,
    axis: int = 0,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    method: str = "BCa",
    bootstrap_result: Any = None,
    rng: Any = None,
) -> BootstrapResult:
    """A statistic's distribution and confidence interval from samples drawn with replacement.

    As `scipy.stats.bootstrap`. Which observation is drawn is computed from the number of the
    resample and the place in it, so neither resamples nor indices are stored.

    Parameters
    ----------
    data : array_like or sequence of array_like
        One sample, or a tuple of several.
    statistic : callable
        Takes each sample, and ``axis`` where it is vectorised: on lazy arrays, as ``np.mean`` and
        ``sc.median`` do. One without ``axis`` is called for each resample, on NumPy arrays.
    n_resamples : int, optional
        How many samples are drawn.
    batch : int, optional
        How many are in memory at a time for a statistic without ``axis``; else it changes nothing.
    vectorized : bool, optional
        Whether `statistic` takes ``axis``; by default its signature says.
    paired : bool, optional
        Whether observations of several samples belong together.
    axis : int, optional
        Along which observations lie.
    confidence_level : float, optional
        Of the interval.
    alternative : {'two-sided', 'less', 'greater'}, optional
        Which ends it has.
    method : {'BCa', 'percentile', 'basic'}, optional
        How its ends are found. 'BCa' computes the statistic of all observations but one, for each.
    bootstrap_result : BootstrapResult, optional
        Whose distribution is added to.
    rng : int or Generator, optional
        A seed, or a generator: a call number for each sample, one if they are paired.

    Returns
    -------
    BootstrapResult
        With SciPy's fields.

    Raises
    ------
    ParameterError
        For a sample of one observation, pairs of other lengths, and unknown options.

    Examples
    --------
    >>> import numpy as np
    >>> import speedcube as sc
    >>> x = np.arange(100.0)
    >>> found = sc.random.bootstrap(x, np.mean, 2000, method="percentile", rng=7)
    >>> low, high = found.confidence_interval
    >>> bool(low < 49.5 < high), found.bootstrap_distribution.shape
    (True, (2000,))
    """
    function = statistic_of(statistic, vectorized, batch)
    samples = samples_of(data, axis)
    if paired not in (True, False):
        raise ParameterError(f"paired must be True or False, not {paired!r}")
    if paired and len({sample.shape[-1] for sample in samples}) > 1:
        raise ParameterError("when paired is True, all samples must have the same length on `axis`")
    level = level_of(confidence_level)
    side = chosen("alternative", alternative, ALTERNATIVES)
    how = chosen("method", method, _METHODS)
    count = whole("n_resamples", n_resamples, 0)
    before = _distribution_of(bootstrap_result)
    if not count and (before is None or not before.size):
        raise ParameterError("n_resamples must be positive if bootstrap_result is empty")
    drawn = None
    if count:
        draws = default_rng(rng)
        sizes = [sample.shape[-1] for sample in samples]
        index = [integers(draws, n, size=(count, n)) for n in sizes[: 1 if paired else None]]
        index *= len(samples) if paired else 1
        drawn = function.of([at(s, places) for s, places in zip(samples, index, strict=True)])
    finish = _Interval(samples, function, paired, level, side, how)
    return BootstrapResult(drawn, before, finish)


def _distribution_of(result: Any) -> Values | None:
    if result is None:
        return None
    if not hasattr(result, "bootstrap_distribution"):
        raise ParameterError("bootstrap_result must have the attribute bootstrap_distribution")
    return np.asarray(result.bootstrap_distribution)


@dataclass(frozen=True, eq=False)
class _Interval:
    """From a distribution to an interval, closely after Efron and Tibshirani (1993)."""

    samples: Sequence[Array]
    function: Statistic
    paired: bool
    level: float
    side: str
    method: str

    def __call__(self, values: Values) -> ConfidenceInterval:
        alpha = (1 - self.level) / 2 if self.side == "two-sided" else 1 - self.level
        if self.method == "bca":
            ends = self._adjusted(alpha, values)
        else:
            ends = np.broadcast_to([alpha, 1 - alpha], (*values.shape[:-1], 2))
        low, high = np.moveaxis(_quantiles(values, ends), -1, 0)
        if np.isnan(low).any() or np.isnan(high).any():
            warnings.warn(
                "The interval cannot be calculated: it is NaN. The distribution is degenerate, "
                "holds NaN, or the statistic is a minimum.",
                RuntimeWarning,
                stacklevel=3,
            )
        if self.method == "basic":
            middle = self.function.of(self.samples).compute()
            low, high = 2 * middle - high, 2 * middle - low
        if self.side == "less":
            low = np.full_like(low, -math.inf)
        elif self.side == "greater":
            high = np.full_like(high, math.inf)
        return ConfidenceInterval(low[()], high[()])

    def _adjusted(self, alpha: float, values: Values) -> Values:
        """Which quantiles of ``values`` the ends are: bias-corrected, and accelerated."""
        middle = self.function.of(self.samples).compute()[..., None]
        below = np.count_nonzero(values < middle, axis=-1)
        share = (below + np.count_nonzero(values <= middle, axis=-1)) / (2 * values.shape[-1])
        bias = _each(_inverse, share)
        above, under = 0.0, 0.0
        for left in self._left_out():
            n = left.shape[-1]
            spread = (n - 1) * (left.mean(axis=-1, keepdims=True) - left)
            above = above + (spread**3).sum(axis=-1).compute() / float(n) ** 3
            under = under + (spread**2).sum(axis=-1).compute() / float(n) ** 2
        with np.errstate(all="ignore"):
            bent = np.asarray(1 / 6 * above / np.power(under, 1.5))
            ends = []
            for z in (_inverse(alpha), -_inverse(alpha)):
                shifted = bias + z
                ends.append(_each(_NORMAL.cdf, bias + shifted / (1 - bent * shifted)))
        return np.stack(ends, axis=-1)

    def _left_out(self) -> list[Array]:
        """For each sample the statistic without each of its observations; of pairs, at once."""
        wide = [sample.reshape(*sample.shape[:-1], 1, -1) for sample in self.samples]
        if self.paired:
            given = [[without_each(sample) for sample in self.samples]]
        else:
            given = [
                [without_each(sample) if j == k else wide[j] for j in range(len(wide))]
                for k, sample in enumerate(self.samples)
            ]
        return [asarray(self.function.of(together(one)).compute()) for one in given]


def _quantiles(values: Values, at_each: Values) -> Values:
    """Of each line, the quantiles that belong to it; of none where those are NaN."""
    flat, ends = values.reshape(-1, values.shape[-1]), at_each.reshape(-1, 2)
    found = np.full(ends.shape, np.nan)
    for line, probabilities, out in zip(flat, ends, found, strict=True):
        known = ~np.isnan(probabilities)
        out[known] = np.quantile(line, probabilities[known])
    return found.reshape(at_each.shape)


def _inverse(p: float) -> float:
    return _NORMAL.inv_cdf(p) if 0 < p < 1 else math.copysign(math.inf, p - 0.5)


def _each(function: Callable[[float], float], values: Any) -> Values:
    array = np.asarray(values, np.float64)
    flat = [math.nan if math.isnan(v) else function(v) for v in array.reshape(-1).tolist()]
    return np.array(flat).reshape(array.shape)
