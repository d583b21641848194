"""Several arrays computed at once: what they share is made once, their data are read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..engine import compute as engine
from ..engine.clusters.patience import waiting
from ..engine.foreign.persisting import persisted
from ..engine.known.kept import Kept, keeping
from ..engine.rungs import with_threads
from ..errors import ParameterError
from ..late import dask
from .array import Array
from .methods.numpy_protocol import check_keywords
from .stored import leaf_of

_KEYWORDS = "on, scheduler, to, num_workers, optimize_graph, worker_timeout"


def compute(
    *arrays: Any,
    on: Any = None,
    scheduler: Any = None,
    to: str = "numpy",
    num_workers: int | None = None,
    worker_timeout: float | str | None = None,
    optimize_graph: bool = True,
    **unknown: Any,
) -> tuple[Any, ...]:
    """Compute several arrays together.

    What several of them need is made once, and results over the same elements share one reading of
    the data: a sum, a maximum and a deviation take little longer than the slowest of them.

    Parameters
    ----------
    *arrays : arrays, or lists, tuples, dictionaries and sets of them
        What is no array comes back as it is. Dask's collections are computed by Dask.
    on, scheduler, to, num_workers, worker_timeout, optimize_graph, unknown : optional
        As in `Array.compute`.

    Returns
    -------
    tuple
        The values of each.

    Raises
    ------
    RungError
        If this machine lacks the rung.

    Examples
    --------
    >>> x = sc.arange(10)
    >>> sc.compute(x.sum(), x.max())
    (np.int64(45), np.int64(9))
    """
    check_keywords("compute", unknown, _KEYWORDS)

    def values(found: Sequence[Array]) -> list[Any]:
        with waiting(worker_timeout):
            where = _where(found, on, scheduler, num_workers)
            roots = [array._expr for array in found]
            results = engine.compute_all(roots, *where, _prefers_gpu(found), to)
        return [array._checked(result) for array, result in zip(found, results, strict=True)]

    return _each(arrays, values, lambda others: dask.compute(*others, scheduler=scheduler))


def persist(
    *arrays: Any,
    on: Any = None,
    scheduler: Any = None,
    num_workers: int | None = None,
    worker_timeout: float | str | None = None,
    optimize_graph: bool = True,
    **unknown: Any,
) -> tuple[Any, ...]:
    """Compute several arrays together, and hold their values in memory, a cluster's on a cluster.

    Parameters
    ----------
    *arrays : arrays, or lists, tuples, dictionaries and sets of them
        As in `compute`.
    on, scheduler, num_workers, worker_timeout, optimize_graph, unknown : optional
        As in `Array.persist`.

    Returns
    -------
    tuple
        Arrays with the values in memory.

    Raises
    ------
    RungError
        If this machine lacks the rung.

    Examples
    --------
    >>> (held,) = sc.persist(sc.arange(3) * 2)
    >>> held.compute()
    array([0, 2, 4])
    """
    check_keywords("persist", unknown, _KEYWORDS.replace(" to,", ""))

    def values(found: Sequence[Array]) -> list[Any]:
        with waiting(worker_timeout):
            where = _where(found, on, scheduler, num_workers)
            roots = [array._expr for array in found]
            held, rung = persisted(roots, *where, _prefers_gpu(found))
            if held is not None:
                arrays = zip(found, held, strict=True)
                return [_checked_there(array, array._rebuilt(one)) for array, one in arrays]
            to = engine.ResultMemory.OF_RUNG
            results = engine.compute_all(roots, rung, None, _prefers_gpu(found), to)
        pairs = zip(found, results, strict=True)
        return [array._rebuilt(*leaf_of(array._checked(result), True)) for array, result in pairs]

    return _each(arrays, values, lambda others: dask.persist(*others, scheduler=scheduler))


def _checked_there(array: Array, held: Array) -> Array:
    """``held``, the values of ``array`` on a cluster; they are looked at where it refuses some."""
    if type(array) is not Array:
        array._checked(held.compute())
    return held


def _each(
    arguments: Sequence[Any],
    ours: Callable[[Sequence[Array]], list[Any]],
    others: Callable[[Sequence[Any]], Sequence[Any]],
) -> tuple[Any, ...]:
    """``arguments`` with the arrays in them replaced by what ``ours`` and ``others`` give."""
    if all(isinstance(argument, Array) for argument in arguments):
        return tuple(ours(arguments))
    found, repack = dask.base.unpack_collections(*arguments)
    mine = [k for k, one in enumerate(found) if isinstance(one, Array)]
    rest = [k for k in range(len(found)) if k not in set(mine)]
    results: list[Any] = [None] * len(found)
    for places, compute_them in ((mine, ours), (rest, others)):
        values = compute_them([found[k] for k in places]) if places else []
        for k, value in zip(places, values, strict=True):
            results[k] = value
    return tuple(repack(results))


def _prefers_gpu(arrays: Sequence[Array]) -> bool:
    return any(array._gpu for array in arrays)


def _where(
    arrays: Sequence[Array], on: Any, scheduler: Any, workers: int | None
) -> tuple[Any, Any]:
    if workers is None:
        return on, scheduler
    roots = [array._expr for array in arrays]
    rung = engine.plan_for(roots, on, scheduler, _prefers_gpu(arrays))[1]
    return with_threads(rung, workers), None


@contextmanager
def cache(limit: int | str) -> Iterator[Kept]:
    """Keep values within the block, and use them again.

    Every result, and every reduction and running sum on the way to one, is kept in host memory; an
    expression that has been computed, or a part of one, is not computed again. The values used
    longest ago go first. What was computed from NumPy's memory stays as it was when that is
    written to: write to it before the block or after it. Assignments to speedcube's arrays count.

    Parameters
    ----------
    limit : int or str
        How many bytes: ``"2GB"``.

    Returns
    -------
    context manager
        For ``with``.

    Raises
    ------
    ValueError
        If it is no positive number of bytes.

    Examples
    --------
    >>> with sc.cache("100MB"):
    ...     float(sc.ones(10).sum())
    10.0
    """
    try:
        size = dask.utils.parse_bytes(limit)
    except (AttributeError, ValueError, TypeError) as err:
        raise ParameterError(
            f"cache takes a number of bytes, such as '2GB', not {limit!r}"
        ) from err
    if size <= 0:
        raise ParameterError(f"cache takes a positive number of bytes, not {limit!r}")
    with keeping(size) as kept:
        yield kept
