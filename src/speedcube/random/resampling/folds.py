"""`cross_validation`: which observations a model is trained on, and which it is tested with."""

from __future__ import annotations

from typing import Any

from ...api import elementwise as sc
from ...api.array import Array
from ...errors import ParameterError
from ..draws import sources
from ..generator import default_rng
from ..parameters import has_axes, whole_number
from ..permutations import LARGEST, array_of, permuted_place
from .samples import places, whole


def cross_validation(
    data: Any, n_splits: Any = 5, *, shuffle: bool = True, rng: Any = None
) -> list[tuple[Array, Array]]:
    """The places of a training set and of a test set, ``n_splits`` times.

    Each observation is in one test set; the first ``n % n_splits`` of these have one more, as
    scikit-learn's ``KFold`` has it. Indices are computed from their place and never stored.

    Parameters
    ----------
    data : int or array_like
        How many observations there are, or an array that has them along its first axis.
    n_splits : int, optional
        How many test sets: from 2 to the number of observations.
    shuffle : bool, optional
        Whether the observations are put in a random order first.
    rng : int or Generator, optional
        A seed, or a generator: two call numbers if `shuffle`.

    Returns
    -------
    list of tuple of Array
        Lazy indices, int64: of the training set and of the test set.

    Raises
    ------
    ParameterError
        For fewer than two splits and more than there are observations.

    Examples
    --------
    >>> import speedcube as sc
    >>> [test.tolist() for _, test in sc.random.cross_validation(5, 2, shuffle=False)]
    [[0, 1, 2], [3, 4]]
    """
    n = array_of("data", data).shape[0] if has_axes(data) else whole_number("data", data)
    splits = whole("n_splits", n_splits, 1)
    if not 2 <= splits <= n <= LARGEST:
        raise ParameterError(
            f"n_splits must lie between 2 and the number of observations, {n}, not {splits}; at "
            "most 2**60 observations can be split"
        )
    key: list[Array] = []
    if shuffle:
        key = sources(default_rng(rng), ["bits64", "bits64"], (1,), "uint64")

    def ordered(place: Array) -> Array:
        return permuted_place(place, n, key) if key else place

    found, start = [], 0
    for k in range(splits):
        size = n // splits + (k < n % splits)
        rest = places((n - size,), 0)
        train = rest + sc.where(rest < start, 0, size)
        found.append((ordered(train), ordered(places((size,), 0) + start)))
        start += size
    return found
