"""`Array`'s methods that ask the engine: for values, for the plan, for laws, for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...engine import compute as engine
from ...engine.clusters.patience import waiting
from ...engine.explain import Explanation
from ...engine.explain import explain as explanation
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
    """The values: a NumPy array, a NumPy scalar for 0-d; ``to="cupy"`` leaves them on the GPU.

    What stays there may still be made, in the order of CuPy's current stream.

    ``on`` names the rung (``"core"``, ``"cores:2"``, ``"gpus"``, a Dask Client ...);
    ``scheduler`` is Dask's word for it. Without either: the innermost `speedcube.on`, an
    active Client, Dask's configured scheduler, or the rung predicted to be fastest.

    ``num_workers`` is Dask's word for the threads of the rung ``cores``; other rungs go
    without. ``worker_timeout`` is how many seconds a computation on a Dask cluster waits for a
    worker that gives no sign of life before others do its part (60; Dask's setting
    ``speedcube.worker-timeout``). ``optimize_graph`` is taken because Dask's collections take
    it, and changes nothing: the graph is made as it should be. `UnsupportedError` for any other
    keyword.
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

    Where, and what the keywords mean: as in `compute`.
    """
    check_keywords("persist", unknown, f"on, scheduler, {_OTHERS}")
    to = engine.ResultMemory.OF_RUNG
    with waiting(worker_timeout):
        where = _where(self, on, scheduler, num_workers)
        values = engine.compute(self._expr, *where, self._gpu, to, self._plans)
    return self._rebuilt(*leaf_of(values))


def plan(
    self: Lazy,
    on: Any = None,
    *,
    scheduler: Any = None,
    num_workers: int | None = None,
    together: Sequence[Lazy] = (),
) -> Plan:
    """What `compute` would do, before it does anything: rung, stages, tasks, tiles, bytes.

    ``together``: others that `speedcube.compute` is given with this one.
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

    ``.covered`` says whether every step has the same bits on every rung; ``.steps`` are the
    rows that ``repr`` shows. What is not covered: a Dask array, which Dask computes.
    """
    return explanation(self._expr)


def source(self: Lazy, target: str = "cpu") -> str:
    """The generated kernel: LLVM IR (``"cpu"``), CUDA C (``"cuda"``) or the IR (``"ir"``)."""
    return engine.source_of(self._expr, target)


def _where(array: Lazy, on: Any, scheduler: Any, num_workers: Any) -> tuple[Any, Any]:
    if num_workers is None:
        return on, scheduler
    rung = engine.plan_for(array._expr, on, scheduler, array._gpu, array._plans)[1]
    return with_threads(rung, num_workers), None
