"""`permutation_test`: is a statistic of samples what it is when observations change places?"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...api.array import Array
from ...dataclass import dataclass
from ...errors import ParameterError
from ..generator import default_rng
from .orders import KINDS
from .samples import ALTERNATIVES, chosen, known_fields, samples_of, statistic_of, whole


@dataclass(frozen=True, eq=False, repr=False)
class PermutationTestResult:
    """What `permutation_test` found; computed when a field is read.

    Attributes
    ----------
    statistic : float or numpy.ndarray
        Of the samples as they are.
    pvalue : float or numpy.ndarray
        How often a permutation's is as extreme.
    null_distribution : numpy.ndarray
        The statistic of each permutation, along the first axis.
    lazy : Array
        That distribution, not computed.
    """

    _observed: Array
    lazy: Array
    _exact: bool
    _alternative: str

    @cached_property
    def statistic(self) -> Any:
        return self._observed.compute()[()]

    @cached_property
    def null_distribution(self) -> NDArray[Any]:
        return np.asarray(self.lazy.compute())

    @cached_property
    def pvalue(self) -> Any:
        values, observed = self.null_distribution, np.asarray(self.statistic)
        more = 0 if self._exact else 1
        eps = np.finfo(observed.dtype).eps * 100 if observed.dtype.kind == "f" else 0
        slack = np.abs(eps * observed)
        count = len(values) + more
        less = (np.count_nonzero(values <= observed + slack, axis=0) + more) / count
        greater = (np.count_nonzero(values >= observed - slack, axis=0) + more) / count
        both = np.minimum(less, greater) * 2
        found = {"less": less, "greater": greater, "two-sided": both}[self._alternative]
        return np.clip(found, 0.0, 1.0)[()]

    def plan(self) -> Any:
        """How the distribution is computed, and in how much memory."""
        return self.lazy.plan()

    def __repr__(self) -> str:
        return known_fields(self)


def permutation_test(
    data: Any,
    statistic: Callable[..., Any],
    *,
    permutation_type: str = "independent",
    vectorized: bool | None = None,
    n_resamples: Any = 9999,
    batch: Any = None,
    alternative: str = "two-sided",
    axis: int = 0,
    rng: Any = None,
) -> PermutationTestResult:
    """A statistic beside those of the same observations in other places.

    As `scipy.stats.permutation_test`. Permutations are computed from their number and the place in
    them. Where there are no more than `n_resamples`, each is taken once, in SciPy's order.

    Parameters
    ----------
    data : sequence of array_like
        The samples.
    statistic : callable
        As for `bootstrap`.
    permutation_type : {'independent', 'samples', 'pairings'}, optional
        What changes places: observations between samples; between samples, each in its row (the
        sign of a single sample's); or within each sample.
    vectorized : bool, optional
        Whether `statistic` takes ``axis``; by default its signature says.
    n_resamples : int or inf, optional
        How many permutations at most.
    batch : int, optional
        How many are in memory at a time for a statistic without ``axis``; else it changes nothing.
    alternative : {'two-sided', 'less', 'greater'}, optional
        What counts as extreme.
    axis : int, optional
        Along which observations lie.
    rng : int or Generator, optional
        A seed, or a generator: two call numbers for each array of permutations, one for coins.

    Returns
    -------
    PermutationTestResult
        With SciPy's fields.

    Raises
    ------
    ParameterError
        For a sample of one observation, pairs of other lengths, and unknown options.
    MemoryLimitError
        Where all permutations are asked for, and their table is larger than 1 GiB.

    Examples
    --------
    >>> import numpy as np
    >>> import speedcube as sc
    >>> def difference(x, y, axis):
    ...     return np.mean(x, axis=axis) - np.mean(y, axis=axis)
    >>> found = sc.random.permutation_test(([1.0, 2.0, 3.0], [4.0, 5.0, 7.0]), difference)
    >>> float(found.pvalue), len(found.null_distribution)
    (0.1, 20)
    """
    kind = chosen("permutation_type", permutation_type, tuple(KINDS))
    function = statistic_of(statistic, vectorized, batch)
    samples = samples_of(data, axis, 2 if kind == "independent" else 1)
    lengths = {sample.shape[-1] for sample in samples}
    if kind != "independent" and len(lengths) > 1:
        raise ParameterError(
            f"samples must have the same length along axis for {kind!r}, not {sorted(lengths)}"
        )
    infinite = isinstance(n_resamples, float) and n_resamples == math.inf
    count = math.inf if infinite else whole("n_resamples", n_resamples, 1)
    side = chosen("alternative", alternative, ALTERNATIVES)
    way = KINDS[kind]
    every = way.all_of(samples)
    if every <= count:
        permuted = way.listed(samples, every)
    else:
        permuted = way.drawn(samples, int(count), default_rng(rng))
    return PermutationTestResult(function.of(samples), function.of(permuted), every <= count, side)
