"""`Array`'s methods that ask the engine: for values, for the plan, for laws, for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...engine import compute as engine
from ...engine.clusters.patience import waiting
from ...engine.explain import Explanation
from ...engine.explain import explain as explanation
from ...engine.foreign.persisting import persisted
from ...engine.known.text import source_of
from ...engine.rungs import with_threads
from ...errors import ParameterError
from ...plan.plan import Plan
from ..stored import leaf_of
from .lazy import A, Lazy
from .numpy_protocol import check_keywords

_OTHERS: Final = "num_workers, optimize_graph, worker_timeout"


def compute(
    self: Lazy,
    on: Any = None,
    *,
    scheduler: Any = None,
    to: str = "numpy",
    num_workers: int | None = None,
    worker_timeout: float | str | None = None,
    optimize_graph: bool = True,
    **unknown: Any,
) -> Any:
    """Compute the values.

    Without `on` and `scheduler`: on the innermost `speedcube.on`, an active Client, Dask's
    configured scheduler, or the rung predicted to be fastest.

    Parameters
    ----------
    on : str, Client or rung, optional
        Which rung: ``"core"``, ``"cores:2"``, ``"gpus"``, a Dask Client ...
    scheduler : optional
        Dask's word for `on`.
    to : {"numpy", "cupy"}
        Where they are to lie: ``"cupy"`` leaves them on the GPU, and they may still be made there,
        in the order of CuPy's current stream.
    num_workers : int, optional
        Dask's word for the threads of the rung ``cores``; other rungs go without.
    worker_timeout : float or str, optional
        Seconds that a computation on a cluster waits for a worker that gives no sign of life (60;
        Dask's setting ``speedcube.worker-timeout``); then others do its part.
    optimize_graph : bool
        Dask's; it changes nothing: the graph is made as it should be.
    **unknown : None
        Refused.

    Returns
    -------
    numpy.ndarray, a NumPy scalar or cupy.ndarray
        A scalar where there are no axes.

    Raises
    ------
    UnsupportedError
        For any other keyword.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.arange(3).compute(on="core")
    array([0, 1, 2])
    """
    if unknown:
        check_keywords(
            "compute", unknown, "on, scheduler, to, num_workers, optimize_graph, worker_timeout"
        )
    if worker_timeout is None and num_workers is None:  # as nearly always
        return engine.compute(self._expr, on, scheduler, self._gpu, to, self._plans)
    with waiting(worker_timeout):
        where = _where(self, on, scheduler, num_workers)
        return engine.compute(self._expr, *where, self._gpu, to, self._plans)


def persist(
    self: A,
    on: Any = None,
    *,
    scheduler: Any = None,
    num_workers: int | None = None,
    worker_timeout: float | str | None = None,
    optimize_graph: bool = True,
    **unknown: Any,
) -> A:
    """The same array with its values in memory (on the GPU, on a GPU rung).

    On a cluster they stay with its workers, and what is made of them is computed there.

    Parameters
    ----------
    on : str, Client or rung, optional
        Which rung: ``"core"``, ``"cores:2"``, ``"gpus"``, a Dask Client ...
    scheduler : optional
        Dask's word for `on`.
    num_workers : int, optional
        Dask's word for the threads of the rung ``cores``; other rungs go without.
    worker_timeout : float or str, optional
        Seconds that a computation on a cluster waits for a worker that gives no sign of life (60;
        Dask's setting ``speedcube.worker-timeout``); then others do its part.
    optimize_graph : bool
        Dask's; it changes nothing: the graph is made as it should be.
    **unknown : None
        Refused.

    Returns
    -------
    Array
        Lazy still, of values that are known.

    Raises
    ------
    UnsupportedError
        For any other keyword.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.arange(3).persist().sum().compute()
    np.int64(3)
    """
    check_keywords("persist", unknown, f"on, scheduler, {_OTHERS}")
    with waiting(worker_timeout):
        where = _where(self, on, scheduler, num_workers)
        held, rung = persisted([self._expr], *where, self._gpu)
        if held is not None:
            return self._rebuilt(held[0])
        return in_memory(self, rung)


def in_memory(self: A, on: Any = None) -> A:
    """The same array with its values in this process's memory, or on its GPU."""
    to = engine.ResultMemory.OF_RUNG
    values = engine.compute(self._expr, on, None, self._gpu, to, self._plans)
    return self._rebuilt(*leaf_of(values, True))


def plan(
    self: Lazy,
    on: Any = None,
    *,
    scheduler: Any = None,
    num_workers: int | None = None,
    together: Sequence[Lazy] = (),
) -> Plan:
    """What `compute` would do, before it does anything: rung, stages, tasks, tiles, bytes.

    Parameters
    ----------
    on : str, Client or rung, optional
        Which rung: ``"core"``, ``"cores:2"``, ``"gpus"``, a Dask Client ...
    scheduler : optional
        Dask's word for `on`.
    num_workers : int, optional
        Dask's word for the threads of the rung ``cores``; other rungs go without.
    together : sequence of Array
        Others that `speedcube.compute` is given with this one.

    Returns
    -------
    Plan
        Its ``repr`` is a table.

    Raises
    ------
    ParameterError
        For others that are no arrays of ours.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.arange(3).plan(on="core").rung
    'core'
    """
    where = _where(self, on, scheduler, num_workers)
    if not together:
        return engine.plan_for(self._expr, *where, self._gpu, self._plans)[0]
    arrays = [self, *together]
    for one in together:
        if not hasattr(one, "_expr"):
            raise ParameterError(f"together= takes speedcube's arrays, not {type(one).__name__}")
    roots = [array._expr for array in arrays]
    return engine.plan_for(roots, *where, any(array._gpu for array in arrays))[0]


def explain(self: Lazy) -> Explanation:
    """Which law covers each step of the computation, and how; nothing is computed.

    What is not covered: a Dask array, which Dask computes.

    Returns
    -------
    Explanation
        ``.covered`` says whether every step has the same bits on every rung; ``.steps`` are the
        rows that ``repr`` shows.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.arange(3).sum().explain().covered
    True
    """
    return explanation(self._expr)


def source(self: Lazy, target: str = "cpu") -> str:
    """The generated kernel.

    Parameters
    ----------
    target : {"cpu", "cuda", "ir"}
        LLVM IR, CUDA C, or the IR.

    Returns
    -------
    str
        The text.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.arange(3).sum().source("cuda").count("__global__") > 0
    True
    """
    return source_of(self._expr, target)


def _where(array: Lazy, on: Any, scheduler: Any, num_workers: Any) -> tuple[Any, Any]:
    if num_workers is None:
        return on, scheduler
    rung = engine.plan_for(array._expr, on, scheduler, array._gpu, array._plans)[1]
    return with_threads(rung, num_workers), None
